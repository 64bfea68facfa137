"""The real kubectl and helm on a served cluster: the commands that people type, and what they print."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from kitlib.api.release import Release
from kitlib.apiserver.http.credentials import write_kubeconfig
from tests.apiserver.http.clients import binaries

pytestmark = pytest.mark.kubectl

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: c, image: "x:1", resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {cpu: 500m, memory: 128Mi}}}
"""
SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: PORT}]}
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata: {a: VALUE}\n"


class Client:
    """kubectl and helm with the kubeconfig of one served cluster."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder, self._programs = folder, programs
        self.environment = {
            "HOME": str(folder),
            "PATH": f"{programs}:{os.environ['PATH']}",
            "KUBECONFIG": str(folder / "config"),
        }

    def file(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text)
        return str(self.folder / name)

    def run(self, *words: str, program: str = "kubectl", stdin: str = "", **environment: str) -> Any:
        command = [str(self._programs / program), *words]
        return subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=90,
            env={**self.environment, **environment},
            cwd=self.folder,
        )

    def __call__(self, *words: str, **settings: str) -> str:
        result = self.run(*words, **settings)
        assert result.returncode == 0, f"kubectl {' '.join(words)}: {result.stdout}{result.stderr}"
        return str(result.stdout)

    def refused(self, *words: str, **settings: str) -> str:
        result = self.run(*words, **settings)
        assert result.returncode != 0, f"kubectl {' '.join(words)}: {result.stdout}"
        return str(result.stderr)


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "import sys; from kitlib.cli import main; sys.exit(main())", "up"]
    command += ["--kubeconfig", str(folder / "config"), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("ready "):
            return process
    raise AssertionError("".join(lines))


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    programs = binaries()
    assert programs is not None, "the package with kubectl and helm is not installed"
    folder = tmp_path_factory.mktemp("kubectl")
    process = start(folder, "--nodes", "3", "--viewer")
    try:
        yield Client(folder, programs)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert not (folder / "config").exists()


@pytest.fixture(scope="module")
def web(kubectl: Client) -> Client:
    """A namespace `tr` with the Deployment `web`."""
    kubectl("create", "namespace", "tr")
    kubectl("create", "-n", "tr", "--save-config", "-f", kubectl.file("dep.yaml", DEPLOYMENT.replace("REPLICAS", "2")))
    kubectl("rollout", "status", "deploy/web", "-n", "tr", "--timeout=30s")
    return kubectl


def test_versions_and_resources(kubectl: Client) -> None:
    assert f"Server Version: v{Release.latest()}" in kubectl("version")
    assert re.search(r"^deployments +deploy +apps/v1 +true +Deployment$", kubectl("api-resources"), re.M)
    assert "apps/v1\n" in kubectl("api-versions")
    assert kubectl("get", "--raw", "/readyz") == "ok"
    assert "apiserver_request_total{" in kubectl("get", "--raw", "/metrics")
    assert "node_cpu_usage_seconds_total" in kubectl("get", "--raw", "/api/v1/nodes/node-1/proxy/metrics/resource")
    assert "doesn't have a resource type" in kubectl.refused("get", "nosuchkind")


def test_get_shows_the_servers_columns(web: Client) -> None:
    rows = web("get", "pods", "-n", "tr").splitlines()
    assert rows[0].split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert [row.split()[1:4] for row in rows[1:]] == [["1/1", "Running", "0"]] * 2
    assert "NOMINATED NODE" in web("get", "pods", "-n", "tr", "-o", "wide")
    assert "deployment.apps/web" in web("get", "all", "-n", "tr")
    assert web("get", "nodes", "-o", "jsonpath={.items[*].metadata.name}").split() == ["node-1", "node-2", "node-3"]
    assert len(web("get", "pods", "-n", "tr", "-l", "app=web", "-o", "name").split()) == 2
    assert web("get", "pods", "-A", "--field-selector", "status.phase=Failed", "-o", "name") == ""


def test_describe_puts_objects_and_events_together(web: Client) -> None:
    name = web("get", "pods", "-n", "tr", "-l", "app=web", "-o", "name").split()[0]
    text = web("describe", "-n", "tr", name)
    assert re.search(r"^QoS Class: +Burstable$", text, re.M)
    assert "Successfully assigned tr/web-" in text
    assert "Allocated resources:" in web("describe", "node", "node-1")
    assert re.search(r"Replicas: +2 desired", web("describe", "deploy", "web", "-n", "tr"))


def test_apply_on_the_client_and_on_the_server(web: Client) -> None:
    service = web.file("svc.yaml", SERVICE.replace("PORT", "80"))
    assert web("apply", "-n", "tr", "-f", service) == "service/web created\n"
    service = web.file("svc.yaml", SERVICE.replace("PORT", "81"))
    assert web("apply", "-n", "tr", "-f", service) == "service/web configured\n"
    assert web("apply", "-n", "tr", "-f", service) == "service/web unchanged\n"
    first = web.file("cm.yaml", CONFIG.replace("NAME", "cm").replace("VALUE", '"1"'))
    assert web("apply", "--server-side", "-n", "tr", "-f", first) == "configmap/cm serverside-applied\n"
    other = web.file("cm2.yaml", CONFIG.replace("NAME", "cm").replace("VALUE", '"2"'))
    words = ("apply", "--server-side", "--field-manager=other", "-n", "tr", "-f", other)
    assert 'conflict with "kubectl": .data.a' in web.refused(*words)
    assert web(*words, "--force-conflicts") == "configmap/cm serverside-applied\n"
    changed = web.file("dep3.yaml", DEPLOYMENT.replace("REPLICAS", "3"))
    assert "configured (server dry run)" in web("apply", "--dry-run=server", "-n", "tr", "-f", changed)
    assert "+  replicas: 3" in web.run("diff", "-n", "tr", "-f", changed).stdout
    assert "2" in web("get", "deploy", "web", "-n", "tr", "-o", "jsonpath={.spec.replicas}")


def test_scale_rollout_patch_edit_label(web: Client) -> None:
    web("scale", "deploy", "web", "--replicas=3", "-n", "tr")
    assert "successfully rolled out" in web("rollout", "status", "deploy", "web", "-n", "tr", "--timeout=30s")
    web("set", "image", "deploy/web", "c=registry.example/app:9", "-n", "tr")
    web("rollout", "status", "deploy", "web", "-n", "tr", "--timeout=30s")
    assert web("rollout", "history", "deploy", "web", "-n", "tr").count("<none>") == 2
    for patch, kind in (
        ('{"spec":{"replicas":2}}', "strategic"),
        ('{"spec":{"replicas":3}}', "merge"),
        ('[{"op":"replace","path":"/spec/replicas","value":2}]', "json"),
    ):
        assert "patched" in web("patch", "deploy", "web", "-n", "tr", "--type", kind, "-p", patch)
    patch = '{"spec":{"replicas":4}}'
    assert "patched" in web("patch", "deploy", "web", "-n", "tr", "--subresource=scale", "--type=merge", "-p", patch)
    web("edit", "deploy", "web", "-n", "tr", EDITOR="sed -i 's/^  replicas: 4/  replicas: 2/'")
    assert web("get", "deploy", "web", "-n", "tr", "-o", "jsonpath={.spec.replicas}") == "2"
    web("label", "deploy", "web", "x=y", "-n", "tr")
    web("annotate", "deploy", "web", "x=y", "-n", "tr")
    web("wait", "--for=jsonpath={.metadata.labels.x}=y", "deploy/web", "-n", "tr", "--timeout=10s")
    web("rollout", "restart", "deploy", "web", "-n", "tr")
    web("rollout", "status", "deploy", "web", "-n", "tr", "--timeout=30s")


def test_nodes_are_tainted_cordoned_and_drained(web: Client) -> None:
    web("taint", "node", "node-1", "k=v:NoSchedule")
    assert web("get", "node", "node-1", "-o", "jsonpath={.spec.taints[0].key}") == "k"
    web("taint", "node", "node-1", "k-")
    web("cordon", "node-1")
    assert "SchedulingDisabled" in web("get", "node", "node-1")
    web("uncordon", "node-1")
    words = ("--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=30s")
    assert "node/node-1 drained" in web("drain", "node-1", *words)
    assert web("get", "pods", "-A", "--field-selector", "spec.nodeName=node-1", "-o", "name") == ""
    web("uncordon", "node-1")


def test_a_budget_blocks_a_drain(web: Client) -> None:
    budget = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b}\n"
    budget += "spec: {minAvailable: 100%, selector: {matchLabels: {app: web}}}\n"
    web("apply", "-n", "tr", "-f", web.file("pdb.yaml", budget))
    node = web("get", "pods", "-n", "tr", "-l", "app=web", "-o", "jsonpath={.items[0].spec.nodeName}")
    text = web.refused("drain", node, "--ignore-daemonsets", "--force", "--timeout=7s")
    assert "Cannot evict pod as it would violate the pod's disruption budget." in text
    web("delete", "pdb", "b", "-n", "tr")
    web("uncordon", node)


def test_top_exec_and_explain(web: Client) -> None:
    assert web("top", "node").splitlines()[1].startswith("node-1")
    assert web("top", "pod", "-n", "tr").splitlines()[1].startswith("web-")
    assert web("exec", "-n", "tr", "deploy/web", "--", "cat", "/sys/fs/cgroup/cpu.max") == "50000 100000\n"
    failed = web.run("exec", "-n", "tr", "deploy/web", "--", "sh", "-c", "exit 3")
    assert failed.returncode == 3
    assert web.run("exec", "-i", "-n", "tr", "deploy/web", "--", "sh", stdin="hostname\nexit\n").stdout.startswith(
        "web-"
    )
    assert web("logs", "deploy/web", "-n", "tr") == ""
    assert "FIELD: tolerations <[]Toleration>" in web("explain", "pods.spec.tolerations")
    assert "maxUnavailable" in web("explain", "deploy.spec", "--recursive")


def test_the_rest_of_what_people_type(web: Client) -> None:
    web("rollout", "pause", "deploy/web", "-n", "tr")
    web("rollout", "resume", "deploy/web", "-n", "tr")
    web("set", "image", "deploy/web", "c=y:2", "-n", "tr")
    web("rollout", "undo", "deploy/web", "-n", "tr")
    web("rollout", "status", "deploy/web", "-n", "tr", "--timeout=60s")
    assert web("get", "deploy", "web", "-n", "tr", "-o", "jsonpath={..image}") != "y:2"
    web("wait", "--for=condition=Available", "deploy/web", "-n", "tr", "--timeout=60s")
    web("wait", "--for=delete", "pod/none", "-n", "tr", "--timeout=3s")
    web("autoscale", "deploy", "web", "--min=1", "--max=3", "-n", "tr")
    assert web("get", "hpa", "web", "-n", "tr", "-o", "jsonpath={.spec.maxReplicas}") == "3"
    web("delete", "hpa", "web", "-n", "tr")
    assert len(web("create", "token", "default", "-n", "tr")) > 30
    assert "Kubernetes control plane" in web("cluster-info")
    assert "kitlib" in web("config", "view")
    pod = web("get", "pods", "-n", "tr", "-l", "app=web", "-o", "jsonpath={.items[0].metadata.name}")
    words = ("debug", "-n", "tr", pod, "--image=busybox", "--target=c")
    assert f"{pod}\n" in web(*words, "-c", "one", "-i", "--", "sh", stdin="hostname\nexit\n")
    web(*words, "-c", "two", "--attach=false", "--", "sleep", "3600")
    assert web("exec", "-n", "tr", pod, "-c", "two", "--", "cat", "/sys/fs/cgroup/cpu.weight") == "1\n"
    assert "may not be removed" in web.refused(
        *("patch", "pod", pod, "-n", "tr", "--subresource=ephemeralcontainers", "--type=merge"),
        *("-p", '{"spec":{"ephemeralContainers":[]}}'),
    )
    assert web("logs", "-n", "tr", pod, "-c", "two") == ""
    web("debug", "-n", "tr", pod, "--copy-to=copy", "--image=busybox", "--attach=false")
    web("wait", "--for=condition=Ready", "pod/copy", "-n", "tr", "--timeout=60s")
    web("delete", "pod", "copy", "-n", "tr", "--now")
    assert "Creating debugging pod" in web("debug", "node/node-2", "--image=busybox", "--attach=false")
    web("delete", "pods", "--all", "-n", "default", "--now")
    assert web.run("attach", "-i", "-n", "tr", pod, stdin="hostname\nexit\n").stdout.startswith("web-")
    missing = web.file("cmdef.yaml", CONFIG.replace("NAME", "cmdef").replace("VALUE", '"1"'))
    assert "not found" in web.refused("replace", "-n", "tr", "-f", missing)
    assert web("apply", "--prune=false", "-n", "tr", "-f", missing) == "configmap/cmdef created\n"
    assert web("replace", "-n", "tr", "-f", missing) == "configmap/cmdef replaced\n"
    assert "kind: Deployment" in web("get", "deploy", "web", "-n", "tr", "-o", "yaml")
    assert '"kind": "List"' in web("get", "pods", "-n", "tr", "-l", "app=web", "-o", "json")
    watch = subprocess.Popen(
        [str(web._programs / "kubectl"), "get", "pods", "-n", "tr", "-w"],
        stdout=subprocess.PIPE,
        text=True,
        env=web.environment,
    )
    assert watch.stdout is not None
    try:
        assert watch.stdout.readline().startswith("NAME")
        web("run", "watched", "--image=x", "-n", "tr")
        assert any(line.startswith("watched ") for line in iter(watch.stdout.readline, ""))
    finally:
        watch.kill()
        watch.wait()


def test_configuration_reaches_containers(web: Client) -> None:
    text = (
        CONFIG.replace("NAME", "app").replace("VALUE", "speed")
        + """---
apiVersion: v1
kind: Pod
metadata: {name: reads}
spec:
  containers:
  - {name: c, image: x, envFrom: [{configMapRef: {name: app}}], volumeMounts: [{name: v, mountPath: /etc/app}]}
  volumes: [{name: v, configMap: {name: app}}]
"""
    )
    web("apply", "-n", "tr", "-f", web.file("reads.yaml", text))
    web("wait", "--for=condition=Ready", "pod/reads", "-n", "tr", "--timeout=60s")
    assert web("exec", "-n", "tr", "reads", "--", "cat", "/etc/app/a") == "speed"
    assert web("exec", "-n", "tr", "reads", "--", "printenv", "a") == "speed\n"


def test_a_viewer_may_read_and_not_write(web: Client) -> None:
    as_viewer = ("--context", "kitlib-viewer", "-n", "tr")
    assert "web" in web(*as_viewer, "get", "deploy")
    assert web.run(*as_viewer, "auth", "can-i", "delete", "pods").stdout == "no\n"
    assert web(*as_viewer, "auth", "can-i", "list", "pods") == "yes\n"
    assert 'User "viewer" cannot delete resource "deployments"' in web.refused(*as_viewer, "delete", "deploy", "web")
    assert 'cannot list resource "secrets"' in web.refused(*as_viewer, "get", "secrets")
    assert "cannot" in web.refused(*as_viewer, "exec", "deploy/web", "--", "true")
    assert web.run("auth", "can-i", "list", "pods", "-n", "tr", "--as", "bob").stdout == "no\n"
    assert "cannot" in web.refused("exec", "-n", "tr", "deploy/web", "--as", "bob", "--", "true")
    web("create", "rolebinding", "bob", "--clusterrole=view", "--user=bob", "-n", "tr")
    assert web("auth", "can-i", "list", "pods", "-n", "tr", "--as", "bob") == "yes\n"
    assert "bob" in web("auth", "whoami", "--as", "bob", "--as-group", "dev")
    assert 'cannot impersonate resource "users"' in web.refused(*as_viewer, "get", "pods", "--as", "bob")


def test_authorization_and_events(web: Client) -> None:
    assert web("auth", "can-i", "create", "pods", "-n", "tr") == "yes\n"
    assert "*.*" in web("auth", "can-i", "--list", "-n", "tr")
    assert "kubernetes-admin" in web("auth", "whoami")
    assert "ScalingReplicaSet" in web("events", "-n", "tr")
    assert "ScalingReplicaSet" in web("get", "events", "-n", "tr")


def test_generators_send_protobuf_and_are_understood(web: Client) -> None:
    web("create", "configmap", "gen", "--from-literal=a=1", "-n", "tr")
    assert web("get", "cm", "gen", "-n", "tr", "-o", "jsonpath={.data.a}") == "1"
    web("create", "secret", "generic", "gen", "--from-literal=a=b", "-n", "tr")
    assert web("get", "secret", "gen", "-n", "tr", "-o", "jsonpath={.data.a}") == "Yg=="
    web("create", "deployment", "gen", "--image=x:1", "--replicas=2", "-n", "tr")
    web("rollout", "status", "deploy/gen", "-n", "tr", "--timeout=30s")
    web("set", "image", "deploy/gen", "x=x:2", "-n", "tr")
    web("rollout", "undo", "deploy/gen", "-n", "tr")
    assert len(web("get", "rs", "-l", "app=gen", "-n", "tr", "-o", "name").split()) == 2  # the first is taken again
    web("run", "tmp", "--image=x:1", "-n", "tr")
    web("expose", "deploy", "gen", "--port=80", "-n", "tr")
    web("create", "quota", "q", "--hard=pods=50", "-n", "tr")
    assert web("get", "quota", "q", "-n", "tr", "-o", "jsonpath={.spec.hard.pods}") == "50"


def test_what_is_wrong_is_said_in_the_servers_words(web: Client) -> None:
    typo = web.file(
        "typo.yaml", DEPLOYMENT.replace("REPLICAS", "2").replace("name: web", "name: typo").replace("image:", "imaeg:")
    )
    assert 'unknown field "spec.template.spec.containers[0].imaeg"' in web.refused("apply", "-n", "tr", "-f", typo)
    empty = web.file("empty.yaml", CONFIG.replace("NAME", "Bad_Name").replace("VALUE", '"1"'))
    assert 'The ConfigMap "Bad_Name" is invalid: metadata.name: Invalid value' in web.refused(
        "apply", "-n", "tr", "-f", empty
    )
    assert 'pods "nope" not found' in web.refused("get", "pod", "nope", "-n", "tr")


def test_an_older_kubectl_works_too(web: Client) -> None:
    program = os.environ.get("KITLIB_OLDER_KUBECTL")
    assert program, "KITLIB_OLDER_KUBECTL names no kubectl: .ci/kubectl unpacks Debian's"

    def older(*words: str) -> str:
        result = subprocess.run(
            [program, *words], capture_output=True, text=True, timeout=90, env=web.environment, cwd=web.folder
        )
        assert result.returncode == 0, f"kubectl {' '.join(words)}: {result.stdout}{result.stderr}"
        return result.stdout

    assert "GitVersion" in older("version")
    text = DEPLOYMENT.replace("REPLICAS", "2").replace("name: web", "name: older").replace("app: web", "app: older")
    assert older("apply", "-n", "tr", "-f", web.file("older.yaml", text)) == "deployment.apps/older created\n"
    older("rollout", "status", "deploy/older", "-n", "tr", "--timeout=60s")
    assert len(older("get", "pods", "-n", "tr", "-l", "app=older").splitlines()) == 3
    assert older("exec", "-n", "tr", "deploy/older", "--", "hostname").startswith("older-")  # over SPDY
    assert "Replicas:               2 desired" in older("describe", "deploy", "older", "-n", "tr")
    older("scale", "deploy", "older", "--replicas=1", "-n", "tr")
    older("delete", "deploy", "older", "-n", "tr")


def test_deletion_waits_until_the_objects_are_gone(web: Client) -> None:
    assert "deleted" in web("delete", "-n", "tr", "-f", web.file("svc.yaml", SERVICE.replace("PORT", "81")))
    web("delete", "pods", "-l", "app=web", "-n", "tr", "--now")
    web("delete", "ns", "tr", "--timeout=60s")
    assert 'namespaces "tr" not found' in web.refused("get", "ns", "tr")


def test_a_cluster_that_was_killed_leaves_no_port_and_its_context_goes_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own"
    mine = {"name": "mine", "context": {"cluster": "mine", "user": "me"}}
    write_kubeconfig(own, {"apiVersion": "v1", "kind": "Config", "contexts": [mine], "current-context": "mine"})
    monkeypatch.setenv("KUBECONFIG", str(own))
    killed = start(tmp_path, "--nodes", "1", "--merge")
    address = urlsplit(yaml.safe_load(own.read_text())["clusters"][0]["cluster"]["server"])
    killed.kill()
    killed.wait()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address.hostname, address.port), 5)
    assert "kitlib" in own.read_text()
    again = start(tmp_path, "--nodes", "1")
    try:
        assert [one["name"] for one in yaml.safe_load(own.read_text())["contexts"]] == ["mine"]
    finally:
        again.send_signal(signal.SIGTERM)
        assert again.wait(20) == 0
