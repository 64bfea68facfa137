"""Nodes as pods of a cluster that is served over HTTPS: they start, stream and end; what refuses them is named."""

from __future__ import annotations

import base64
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.kubelet.loop.interfaces import ContainerProblem
from kitlib.node.kubernetes import client as clients
from kitlib.node.kubernetes import manifest
from kitlib.node.real.link import NodeGone
from kitlib.node.simulated.runtime import SimulatedRuntime
from tests.cluster.nodes.hosting import FACTS, NAMESPACE, Hosting, hosting, names

MEMORY, OVERHEAD = 1 << 30, 96 << 20


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hosting]:
    with hosting(monkeypatch, tmp_path) as made:
        yield made


def start(host: Hosting, nodes: Any = 1, **options: Any) -> Any:
    given = {"kubeconfig": str(host.kubeconfig), "namespace": NAMESPACE, "image": "nodes:1", "cpus": 2, **options}
    return Cluster.kubernetes(nodes, **{"memory": "1Gi", **given})


def shown(resources: Any) -> dict[str, str]:
    return {name: str(value) for name, value in resources.items()}


def test_nodes_start_take_pods_and_leave_nothing(host: Hosting) -> None:
    with start(host, 3) as cluster:
        wanted = [(f"node-{i}", "2") for i in (1, 2, 3)]
        assert [(node.name, str(node.status.capacity["cpu"])) for node in cluster.nodes] == wanted
        assert len(host.pods()) == 3
        container = {"name": "c", "image": "x"}
        cluster.apply(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
        )
        cluster.wait(lambda c: c.pod("p").status.phase == "Running", 60)
        assert "played" in cluster.node("node-1").fidelity
    assert host.pods() == []
    assert len(host.ended) == 3


def test_a_node_pod_asks_for_the_least(host: Hosting) -> None:
    with start(host, deadline=3600, pod={"nodeSelector": {"kubernetes.io/os": "linux"}}):
        (pod,) = host.pods()
        spec = pod.spec
        (container,) = spec.containers
        assert pod.metadata.labels[manifest.NODE] == "node-1" and pod.metadata.labels[manifest.OWNER]
        assert (spec.automount_service_account_token, spec.restart_policy) == (False, "Never")
        assert spec.active_deadline_seconds == 3600 and spec.node_selector == {"kubernetes.io/os": "linux"}
        assert (container.stdin, container.stdin_once, container.tty) == (True, True, False)
        assert shown(container.resources.limits) == {"cpu": "2", "memory": str(MEMORY + OVERHEAD)}
        assert shown(container.resources.requests) == {"cpu": "100m", "memory": "128Mi"}
        context = container.security_context
        assert context.capabilities.drop == ["ALL"] and "SYS_ADMIN" in context.capabilities.add
        assert not context.privileged and context.read_only_root_filesystem
        assert all(volume.empty_dir is not None for volume in spec.volumes)
        assert not (spec.host_network or spec.host_pid or spec.host_ipc)


@pytest.mark.parametrize("asked", ["argument", "environment"])
def test_a_user_namespace_is_given_or_the_node_does_not_start(
    host: Hosting, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    options: dict[str, Any] = {"pod": {"hostUsers": False}} if asked == "argument" else {}
    if not options:
        monkeypatch.setenv("KITLIB_NODES_USER_NAMESPACE", "required")
    with pytest.raises(KitError, match=r"spec.hostUsers: false had no effect: user 0 of the node is user 0 of"):
        start(host, **options)
    assert host.pods() == []
    monkeypatch.setitem(FACTS, "root_mapped", True)
    with start(host, **options):
        assert [pod.spec.host_users for pod in host.pods()] == [False]


def test_a_wish_about_users_that_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KitError, match="pod: hostUsers: must be false or omitted, got True"):
        manifest.PodOptions(image="nodes:1", deadline=3600, spec={"hostUsers": True})
    monkeypatch.setenv("KITLIB_NODES_USER_NAMESPACE", "yes")
    with pytest.raises(KitError, match="must be 'required' or empty, got 'yes'"):
        Cluster.kubernetes(1)


def test_a_control_plane_may_have_a_pod_of_its_own(host: Hosting) -> None:
    made: list[Any] = []
    host.on_create(made.append)
    with pytest.raises(KitError, match="it is only played"):  # what is looked at is the pod
        start(host, control_plane="container")
    (control,) = [pod for pod in made if pod.metadata.labels[manifest.NODE] == "control-plane"]
    context = control.spec.containers[0].security_context
    assert context.run_as_non_root and context.capabilities.add == [] and context.capabilities.drop == ["ALL"]
    assert control.spec.volumes == [] and host.pods() == []


def test_a_killed_notebook_leaves_no_pod(host: Hosting) -> None:
    code = (
        "import sys; from kitlib.cluster import Cluster\n"
        f"c = Cluster.kubernetes(2, kubeconfig=sys.argv[1], namespace={NAMESPACE!r}, image='nodes:1')\n"
        "print('up', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(host.kubeconfig)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as notebook:
        assert notebook.stdout is not None and notebook.stdout.readline() == b"up\n"
        assert len(host.pods()) == 2
        os.kill(notebook.pid, signal.SIGKILL)
        host.wait(lambda pods: not pods)
    assert len(host.ended) == 2


def test_what_an_earlier_process_left_is_deleted_at_the_next_start(host: Hosting) -> None:
    with start(host):
        (pod,) = host.pods()
        pod.metadata.name, pod.metadata.uid, pod.metadata.resource_version = "kitlib-left", "", ""
        pod.metadata.annotations[manifest.OWNED_BY] = pod.metadata.annotations[manifest.OWNED_BY].rpartition(":")[0]
        pod.metadata.annotations[manifest.OWNED_BY] += ":999999999"
        with host.service.lock:
            host.cluster.create([pod])
        with start(host):
            host.wait(lambda pods: len(pods) == 2 and "kitlib-left" not in names(pods))  # its grace period is over


def test_a_cluster_that_goes_in_the_middle_is_a_lost_node_and_no_hindrance_to_closing(host: Hosting) -> None:
    cluster = start(host)
    node = cluster.node()
    host.service.close()
    with pytest.raises(NodeGone, match="node node-1 has ended"):
        node.link.ask("alive", timeout=30)
    cluster.close()
    assert cluster.closed


def test_a_cluster_that_goes_while_a_pod_starts_is_named(host: Hosting) -> None:
    host.on_create(lambda pod: threading.Thread(target=host.service.close, daemon=True).start())
    where = re.escape(host.service.address)
    with pytest.raises(KitError, match=f"node node-1: {where} does not answer: "):
        start(host, requests={"cpu": "20"}, cpus=20)  # which waits for room that there is not


QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "room", "namespace": NAMESPACE},
    "spec": {"hard": {"limits.cpu": "3"}},
}
LEVEL = "pod-security.kubernetes.io/enforce"
BASELINE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": {LEVEL: "baseline"}}}
LIMITS = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "small", "namespace": NAMESPACE},
    "spec": {"limits": [{"type": "Container", "max": {"memory": "512Mi"}}]},
}


@pytest.mark.parametrize(
    ("rule", "nodes", "says"),
    [
        (QUOTA, 2, r"node node-2: the quota of namespace rooms refuses the pod: .*exceeded quota: room"),
        (LIMITS, 1, r"node node-1: a LimitRange of namespace rooms refuses the pod: .*maximum memory usage"),
        (
            BASELINE,
            2,
            r"node node-1: Pod Security baseline:latest of namespace rooms refuses the pod: .*non-default capabilities "
            r'\(container "node" must not include .*"SYS_ADMIN".*enforce: privileged.*workshop --namespace',
        ),
    ],
    ids=["quota", "limit range", "pod security"],
)
def test_a_rule_of_the_namespace_that_refuses_is_named_and_nothing_is_left(
    host: Hosting, rule: dict[str, Any], nodes: int, says: str
) -> None:
    with host.service.lock:
        host.cluster.apply(rule)
    with pytest.raises(KitError, match=says):
        start(host, nodes)
    assert host.pods() == []


def test_missing_rights_are_all_named_before_anything_is_made(host: Hosting, tmp_path: Path) -> None:
    learner = host.as_user("learner", tmp_path)
    with pytest.raises(KitError, match=r"RBAC: you may not create pods, get pods, .*pods/attach in namespace rooms"):
        start(host, kubeconfig=str(learner))
    assert host.pods() == [] and host.ended == []


def test_a_namespace_that_is_not_there_is_named(host: Hosting) -> None:
    with pytest.raises(KitError, match=r'there is no namespace nowhere: namespaces "nowhere" not found'):
        start(host, namespace="nowhere")


def test_an_image_that_cannot_be_pulled_is_named_and_its_pod_deleted(
    host: Hosting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pull(runtime: SimulatedRuntime, image: str) -> None:
        raise ContainerProblem("ErrImagePull", f'failed to pull and unpack image "{image}": not found')

    monkeypatch.setattr(SimulatedRuntime, "pull", pull)
    with pytest.raises(KitError, match=r"image cannot be pulled \(ImagePullBackOff\): Back-off .*KITLIB_NODE_IMAGE"):
        start(host, image="nodes:missing")
    assert host.pods() == []


def test_a_pod_that_no_machine_takes_is_waited_for_and_then_explained(host: Hosting) -> None:
    with pytest.raises(KitError, match=r"does not run after 1\.5 s: no machine .*Unschedulable.*0/2 nodes are avail"):
        start(host, start_timeout=1.5, requests={"cpu": "20"}, cpus=20)
    assert host.pods() == []


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"privilege": "some"}, "privilege: must be one of least, full"),
        ({"deadline": 5}, "deadline: must be at least 60 seconds"),
        ({"requests": {"cpu": "much"}}, r"requests\.cpu"),
        ({"pod": {"hostNetwork": True}}, "pod: hostNetwork: cannot be set"),
        ({"control_plane": "moon"}, "control_plane: must be one of process, container"),
        ({"kubeconfig": "/nowhere/config"}, "kubeconfig"),
        ({"nodes": -1}, "nodes: must be a non-negative number"),
    ],
)
def test_an_argument_that_cannot_be_is_named(host: Hosting, wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(KitError, match=says):
        start(host, **wrong)
    assert host.pods() == []


def test_nodes_of_a_notebook_in_a_pod_belong_to_its_pod_and_go_with_it(
    host: Hosting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As inside of a cluster: the namespace and the token are the service account's, there is no kubeconfig."""
    learner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "jupyter-ada", "namespace": NAMESPACE},
        "spec": {"containers": [{"name": "notebook", "image": "x"}]},
    }
    with host.service.lock:
        uid = host.cluster.apply(learner)[0].metadata.uid
    config = yaml.safe_load(host.kubeconfig.read_text())
    (cluster,), (user,) = config["clusters"], [one for one in config["users"] if "token" in one["user"]][:1]
    account = tmp_path / "serviceaccount"
    account.mkdir()
    (account / "namespace").write_text(NAMESPACE)
    (account / "token").write_text(user["user"]["token"])
    (account / "ca.crt").write_bytes(base64.b64decode(cluster["cluster"]["certificate-authority-data"]))
    where = urlsplit(cluster["cluster"]["server"])
    for name, value in (("HOST", where.hostname), ("PORT", str(where.port))):
        monkeypatch.setenv(f"KUBERNETES_SERVICE_{name}", str(value))
    monkeypatch.setenv("POD_NAME", "jupyter-ada")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setattr(clients, "SERVICE_ACCOUNT", account)
    from kubernetes.config import incluster_config

    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(account / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(account / "ca.crt"))
    made = Cluster.kubernetes(2, image="nodes:1", memory="1Gi")
    try:
        nodes = [pod for pod in host.pods() if pod.metadata.name != "jupyter-ada"]
        assert len(nodes) == 2
        for pod in nodes:
            (reference,) = pod.metadata.owner_references
            assert (reference.kind, reference.name, reference.uid) == ("Pod", "jupyter-ada", uid)
        with host.service.lock:
            host.cluster.delete("Pod", "jupyter-ada", NAMESPACE, grace=0)
        host.wait(lambda pods: not pods)
    finally:
        made.close()
