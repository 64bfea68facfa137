"""The real kubectl on real nodes: rollouts, scaling, edits, drains, debugging; pods hold their tokens."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

import pytest

from kitlib.apiserver.http import serve
from kitlib.cluster import Cluster
from tests.apiserver.http.clients import binaries
from tests.apiserver.http.test_kubectl import Client
from tests.engine.kubectl_walk import walk
from tests.engine.test_kubectl_streams import Terminal

pytestmark = pytest.mark.docker
WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - {name: c, image: busybox, command: [sleep, "100000"], resources: {limits: {cpu: 100m, memory: 32Mi}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}
"""
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"
WAIT = "--timeout=120s"


KINDS: dict[str, dict[str, Any]] = {
    "systemd": {"control_plane": "process", "kubelet": ["--cgroup-driver=systemd"]},
    "container": {"control_plane": "container"},
}
if os.environ.get("KITLIB_NIGHTLY"):
    KINDS["process"] = {"control_plane": "process"}


@pytest.fixture(scope="module", params=KINDS.values(), ids=KINDS.keys())
def kubectl(engine: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Client]:
    programs = binaries()
    assert programs is not None, "the package with kubectl and helm is not installed"
    folder = tmp_path_factory.mktemp("kubectl")
    settings: Any = {"cpus": 2, "memory": "512Mi", **request.param}
    with Cluster.docker(2, **settings) as cluster, serve(cluster, kubeconfig_path=folder / "config"):
        client = Client(folder, programs)
        client("apply", "-f", client.file("web.yaml", WEB))
        client("rollout", "status", "deploy/web", WAIT)
        yield client


def test_a_pod_is_looked_into_entered_copied_and_forwarded(kubectl: Client) -> None:
    walk(kubectl)


def replicas(kubectl: Client) -> int:
    return int(kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}"))


def test_a_rollout_is_watched_undone_and_restarted(kubectl: Client) -> None:
    kubectl("set", "env", "deploy/web", "A=1")
    assert "successfully rolled out" in kubectl("rollout", "status", "deploy/web", WAIT)
    assert kubectl("exec", "deploy/web", "--", "printenv", "A") == "1\n"
    kubectl("rollout", "undo", "deploy/web")
    kubectl("rollout", "status", "deploy/web", WAIT)
    assert kubectl.run("exec", "deploy/web", "--", "printenv", "A").returncode == 1
    before = kubectl("get", "rs", "-l", "app=web", "-o", "name").split()
    kubectl("rollout", "restart", "deploy/web")
    kubectl("rollout", "status", "deploy/web", WAIT)
    assert len(kubectl("get", "rs", "-l", "app=web", "-o", "name").split()) == len(before) + 1


def test_edit_scale_and_wait(kubectl: Client) -> None:
    kubectl("edit", "deploy", "web", EDITOR="sed -i 's/^  replicas: 2/  replicas: 3/'")
    kubectl("wait", "--for=jsonpath={.status.readyReplicas}=3", "deploy/web", WAIT)
    kubectl("scale", "deploy", "web", "--replicas=2")
    kubectl("wait", "--for=jsonpath={.status.replicas}=2", "deploy/web", WAIT)
    kubectl("wait", "--for=condition=Available", "deploy/web", WAIT)


def test_a_field_of_another_manager_is_taken_only_by_force(kubectl: Client) -> None:
    manifest = kubectl.file("three.yaml", WEB.split("---")[0].replace("replicas: 2", "replicas: 3"))
    words = ("apply", "--server-side", "--field-manager=other", "-f", manifest)
    assert "conflict" in kubectl.refused(*words)
    assert replicas(kubectl) == 2
    assert "+  replicas: 3" in kubectl.run("diff", "-f", manifest).stdout
    kubectl(*words, "--force-conflicts")
    kubectl("wait", "--for=jsonpath={.status.readyReplicas}=3", "deploy/web", WAIT)
    kubectl("scale", "deploy", "web", "--replicas=2")
    kubectl("wait", "--for=jsonpath={.status.replicas}=2", "deploy/web", WAIT)


def test_a_drain_waits_for_the_budget_and_then_moves_every_pod(kubectl: Client) -> None:
    node = kubectl("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[0].spec.nodeName}")
    words = ("drain", node, "--ignore-daemonsets", "--delete-emptydir-data")
    refused = kubectl.refused(*words, "--timeout=7s")
    assert "Cannot evict pod as it would violate the pod's disruption budget." in refused
    kubectl("scale", "deploy", "web", "--replicas=3")
    kubectl("rollout", "status", "deploy/web", WAIT)
    assert f"node/{node} drained" in kubectl(*words, WAIT)
    kubectl("rollout", "status", "deploy/web", WAIT)
    placed = kubectl("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].spec.nodeName}").split()
    assert len(placed) == 3 and node not in placed
    kubectl("uncordon", node)


def test_a_container_is_debugged_in_its_pods_cgroup_and_among_its_processes(kubectl: Client) -> None:
    pod = kubectl("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[0].metadata.name}")
    terminal = Terminal(kubectl, "debug", "-it", pod, "--image=busybox", "--target=c", "-c", "look", "--", "sh")
    terminal.until("try pressing enter")  # the shell's first prompt was written before kubectl came
    terminal.type("\r")
    terminal.until(r"\$ ")
    terminal.type("cat /proc/1/cmdline | tr '\\0' x; cat /sys/fs/cgroup/cpu*/cpu.shares /sys/fs/cgroup/cpu.weight\r")
    terminal.until("sleepx100000x")
    terminal.type("exit 5\r")
    assert terminal.end() == 0
    kubectl("wait", "--for=jsonpath={.status.ephemeralContainerStatuses[0].state.terminated.exitCode}=5", f"pod/{pod}")
    kubectl("debug", pod, "--image=busybox", "-c", "stays", "--attach=false", "--", "sh", "-c", "echo here; sleep 1000")
    running = "--for=jsonpath={.status.ephemeralContainerStatuses[1].state.running}"
    kubectl("wait", running, f"pod/{pod}", WAIT)
    kubectl("wait", "--for=condition=Ready", f"pod/{pod}", WAIT)
    own, other = (kubectl("exec", pod, "-c", name, "--", "cat", "/proc/self/cgroup") for name in ("stays", "c"))
    assert own != other or "/" in own
    assert kubectl("logs", pod, "-c", "stays") == "here\n"
    assert kubectl("exec", pod, "-c", "stays", "--", "hostname") == f"{pod}\n"
    kubectl("delete", "pod", pod, "--now")


def test_a_node_and_a_copy_are_debugged_by_pods(kubectl: Client) -> None:
    pod = kubectl("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[0].metadata.name}")
    kubectl("debug", pod, "--copy-to=copy", "--image=busybox", "--attach=false", "--", "sleep", "1000")
    kubectl("wait", "--for=condition=Ready", "pod/copy", WAIT)
    made = kubectl("debug", "node/node-1", "--image=busybox", "--attach=false", "--", "sleep", "1000")
    found = re.search(r"Creating debugging pod (\S+)", made)
    assert found is not None
    kubectl("wait", "--for=condition=Ready", f"pod/{found[1]}", WAIT)
    kubectl("delete", "pod", "copy", found[1], "--now")


def test_a_pods_token_opens_the_api_with_its_accounts_rights(kubectl: Client) -> None:
    def mounted(file: str) -> str:
        return kubectl("exec", "deploy/web", "--", "cat", f"{TOKEN}/{file}")

    assert mounted("namespace") == "default"
    assert mounted("ca.crt").startswith("-----BEGIN CERTIFICATE-----")
    who = kubectl("--token", mounted("token"), "auth", "whoami", "-o", "json")
    assert json.loads(who)["status"]["userInfo"]["username"] == "system:serviceaccount:default:default"
    assert "cannot list resource" in kubectl.refused("--token", mounted("token"), "get", "pods")


def test_top_and_explain(kubectl: Client) -> None:
    assert kubectl("top", "node").count("node-") == 2
    assert "web-" in kubectl("top", "pod", "-l", "app=web")
    assert "FIELD: ephemeralContainers" in kubectl("explain", "pod.spec.ephemeralContainers")
