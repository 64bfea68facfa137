"""Nodes as pods of a cluster of real nodes, which the kit serves: containers, attach and standard input are real.

A pod of a real node has no capability, so the nodes' agent may own no cgroup tree in it: it says so, and nothing is
left. What a node does once it has its tree is tested on Docker (test_bounds.py: in its own bounds); here an agent that
plays a node speaks the protocol in the pod.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.apiserver.server import APIService
from kitlib.cluster import Cluster
from kitlib.node.kubernetes import manifest
from tests.engine.helpers import SLOW, outside

NAMESPACE = "rooms"
PLAYED = """
import json, sys
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
COMMAND = ("/usr/bin/python3", "-I", "-S", "-c", PLAYED)


@pytest.fixture(scope="module")
def host(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str]]:
    """A cluster of one real node, its API served, and a kubeconfig."""
    path = tmp_path_factory.mktemp("host") / "kubeconfig"
    with Cluster.docker(1, cpus=2, memory="2Gi", control_plane="process") as cluster:
        cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        with APIService(cluster, kubeconfig_path=path) as service:
            yield service, str(path)


def pods(service: APIService) -> list[str]:
    with service.lock:
        service.cluster.settle()
        return [pod.name for pod in service.cluster.pods(NAMESPACE)]


def gone(service: APIService) -> bool:
    """Whether the last pod goes; the API is left to those who delete in between."""
    deadline = time.monotonic() + 60 * SLOW
    while pods(service) and time.monotonic() < deadline:
        time.sleep(0.1)
    return pods(service) == []


def start(path: str, nodes: int = 1) -> Any:
    return Cluster.kubernetes(nodes, kubeconfig=path, namespace=NAMESPACE, image="nodes:1", cpus=1, memory="256Mi")


def test_the_agent_says_in_a_pod_without_rights_what_it_lacks(host: tuple[APIService, str]) -> None:
    service, path = host
    with pytest.raises(KitError, match=r"node node-1.*(may not own a cgroup tree|own cgroups|cgroup file system)"):
        start(path)
    assert pods(service) == []


def test_nodes_start_stream_and_end_in_real_pods(host: tuple[APIService, str], monkeypatch: pytest.MonkeyPatch) -> None:
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
    host: tuple[APIService, str], monkeypatch: pytest.MonkeyPatch
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


def test_a_killed_notebook_leaves_no_pod(host: tuple[APIService, str], tmp_path: Path) -> None:
    service, path = host
    script = tmp_path / "notebook.py"
    script.write_text(
        "import sys\nfrom kitlib.cluster import Cluster\nfrom kitlib.node.kubernetes import manifest\n"
        f"manifest.COMMAND = {COMMAND!r}\n"
        f"c = Cluster.kubernetes(1, kubeconfig=sys.argv[1], namespace={NAMESPACE!r}, image='nodes:1', memory='256Mi')\n"
        "print('up', flush=True)\nsys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, str(script), path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=outside()
    ) as notebook:
        assert notebook.stdout is not None and notebook.stdout.readline() == b"up\n"
        assert len(pods(service)) == 1
        os.kill(notebook.pid, signal.SIGKILL)
    assert gone(service)
