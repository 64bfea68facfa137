"""Nodes as pods of a cluster of real nodes, which the kit serves: containers, attach and standard input are real.

A pod of a real node has no capability, so the nodes' agent may own no cgroup tree in it: it says so, and nothing is
left. What a node does once it has its tree is tested on Docker (test_bounds.py: in its own bounds); here an agent that
plays a node speaks the protocol in the pod.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.errors import KitError, NotFound
from kitlib.apiserver.http.server import GenericAPIServer
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.container.client import ContainerControlPlaneClient
from kitlib.cluster.control_plane.container.relay import ControlPlaneGone
from kitlib.node.kubernetes import manifest
from tests.engine.helpers import SLOW, deployment, outside

NAMESPACE = "rooms"
PLAYED = """
import json, os, sys
if "control-plane" in sys.argv:  # that needs no rights, so it is the kit's own
    os.execv(sys.executable, CONTROL)
facts = {"version": 2, "limits": ["played"], "kernel": "6.1", "systemd": "", "controllers": ["cpu", "memory"],
         "lowest_score": -1000, "cpus": [0, 1], "seconds": 0.1, "began": 0.0}
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"id": asked["id"], "ok": {"start": facts, "sync": 1.0, "alive": 1.0}.get(asked["do"])}
    for pod in asked.get("pods", ()):
        about = [pod["metadata"][key] for key in ("namespace", "name", "uid")]
        print(json.dumps({"report": "status", "pod": about, "status": {"phase": "Running"}}), flush=True)
    print(json.dumps(answer), flush=True)
"""
OWN = manifest.COMMAND
COMMAND = ("/usr/bin/python3", "-I", "-S", "-c", PLAYED.replace("CONTROL", repr([*OWN, "control-plane"])))
DEPLOYMENT = deployment(3, {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "300m"}}}]})


@pytest.fixture(scope="module")
def host(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str]]:
    """A cluster of one real node, its API served, and a kubeconfig."""
    path = tmp_path_factory.mktemp("host") / "kubeconfig"
    with Cluster.docker(1, cpus=2, memory="2Gi", control_plane="process") as cluster:
        cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        with GenericAPIServer(cluster, kubeconfig_path=path) as service:
            yield service, str(path)


def pods(service: GenericAPIServer) -> list[str]:
    with service.lock:
        service.cluster.settle()
        return [pod.name for pod in service.cluster.pods(NAMESPACE)]


def gone(service: GenericAPIServer) -> bool:
    """Whether the last pod goes; the API is left to those who delete in between."""
    deadline = time.monotonic() + 60 * SLOW
    while pods(service) and time.monotonic() < deadline:
        time.sleep(0.1)
    return pods(service) == []


def start(path: str, nodes: int = 1, **more: Any) -> Any:
    settings = {"namespace": NAMESPACE, "image": "nodes:1", "cpus": 1, "memory": "256Mi", **more}
    return Cluster.kubernetes(nodes, kubeconfig=path, **settings)


def phases(cluster: Any) -> list[str]:
    return sorted(pod.status.phase for pod in cluster.pods(selector={"app": "web"}))


def test_the_agent_says_in_a_pod_without_rights_what_it_lacks(host: tuple[GenericAPIServer, str]) -> None:
    service, path = host
    with pytest.raises(KitError, match=r"node node-1.*(may not own a cgroup tree|own cgroups|cgroup file system)"):
        start(path)
    assert pods(service) == []


def test_nodes_start_stream_and_end_in_real_pods(
    host: tuple[GenericAPIServer, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service, path = host
    monkeypatch.setattr(manifest, "COMMAND", COMMAND)
    with start(path, 2) as cluster:
        assert len(pods(service)) == 2
        container = {"name": "c", "image": "x"}
        made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
        cluster.apply(made)
        cluster.wait(lambda c: c.pod("p").status.phase == "Running", 60)
        assert cluster.node("node-2").uptime() == 1.0
    assert pods(service) == []


def test_a_container_ends_with_the_first_stream_that_was_attached_to_it(
    host: tuple[GenericAPIServer, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service, path = host
    monkeypatch.setattr(manifest, "COMMAND", COMMAND)
    cluster = start(path)
    try:
        (name,) = pods(service)
        cluster.node().link.close()
        with service.lock:
            assert service.cluster.wait(lambda c: c.pod(name, NAMESPACE).status.phase == "Succeeded", 60)
    finally:
        cluster.close()
    assert pods(service) == []


@pytest.mark.parametrize(("where", "made"), [("process", 1), ("container", 2)])
def test_a_killed_notebook_leaves_no_pod(
    host: tuple[GenericAPIServer, str], tmp_path: Path, where: str, made: int
) -> None:
    service, path = host
    script = tmp_path / "notebook.py"
    script.write_text(
        "import sys\nfrom kitlib.cluster import Cluster\nfrom kitlib.node.kubernetes import manifest\n"
        f"manifest.COMMAND = {COMMAND!r}\n"
        f"c = Cluster.kubernetes(1, kubeconfig=sys.argv[1], namespace={NAMESPACE!r}, image='nodes:1', memory='256Mi',\n"
        f"                       control_plane={where!r})\n"
        "print('up', flush=True)\nsys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, str(script), path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=outside()
    ) as notebook:
        assert notebook.stdout is not None and notebook.stdout.readline() == b"up\n"
        assert len(pods(service)) == made
        os.kill(notebook.pid, signal.SIGKILL)
    assert gone(service)


def test_a_control_plane_in_a_pod_schedules_and_controls_and_goes_with_the_cluster(
    host: tuple[GenericAPIServer, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service, path = host
    monkeypatch.setattr(manifest, "COMMAND", COMMAND)
    with start(path, 2, control_plane="container") as cluster:
        assert isinstance(cluster, ContainerControlPlaneClient) and cluster.notes == []
        assert sorted(re.sub("-[^-]+$", "", name) for name in pods(service)) == [
            *("kitlib-control-plane", "kitlib-node-1", "kitlib-node-2"),
        ]
        cluster.apply(DEPLOYMENT)
        cluster.wait(lambda c: phases(c) == ["Running"] * 3, 60)
        assert {pod.spec.node_name for pod in cluster.pods()} == {"node-1", "node-2"}
        cluster.scale("Deployment", "web", 7)
        cluster.wait(lambda c: phases(c) == ["Pending"] + ["Running"] * 6, 60)
        (late,) = [pod for pod in cluster.pods() if pod.status.phase == "Pending"]
        assert "2 Insufficient cpu" in cluster.decision(late.name).message
        with pytest.raises(NotFound):
            cluster.get("Pod", "nobody")
        (own,) = [one for one in _pods_of(service) if "control-plane" in one.name]
        assert own.status.phase == "Running" and own.spec.automount_service_account_token is False
    assert pods(service) == []


def test_a_control_planes_pod_that_is_deleted_is_a_clear_error_and_nothing_is_left(
    host: tuple[GenericAPIServer, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service, path = host
    monkeypatch.setattr(manifest, "COMMAND", COMMAND)
    with start(path, control_plane="container") as cluster:
        (name,) = [name for name in pods(service) if "control-plane" in name]
        with service.lock:
            service.cluster.delete("Pod", name, namespace=NAMESPACE, grace=0)
            service.cluster.settle()
        with pytest.raises(ControlPlaneGone, match="the control plane has ended"):
            cluster.wait(lambda c: False, 60)
        assert cluster.node().uptime() == 1.0  # the node is there all the same
    assert pods(service) == []


def _pods_of(service: GenericAPIServer) -> list[Any]:
    with service.lock:
        return list(service.cluster.pods(NAMESPACE))
