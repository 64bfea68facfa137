"""A node that sets its own bounds, as in a pod of Kubernetes, in a container that an engine started without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kitlib.cluster.control_plane.docker import DockerCluster
from kitlib.node.real import container, engine
from tests.engine.helpers import pod

PIDS = 300
Start = Callable[..., DockerCluster]


@pytest.fixture
def as_in_a_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes get the words and the capability that their pods have; the engine bounds neither CPUs nor processes."""
    launch, configured = container._launch, container._host_config

    def launched(client: Any, image: str, name: str, host: Any, link: Any, **more: Any) -> Any:
        words = [*more.pop("command", []), "--cpus=1", f"--memory={512 << 20}", f"--pids={PIDS}"]
        return launch(client, image, name, host, link, command=words, **more)

    def host_config(*about: Any) -> Any:
        made = configured(*about)
        made["CapAdd"] = [*(made.get("CapAdd") or []), "NET_ADMIN"]
        made["NetworkMode"] = "none"
        made.pop("PidsLimit", None)
        made.pop("CpusetCpus", None)
        return made

    monkeypatch.setattr(container, "_launch", launched)
    monkeypatch.setattr(container, "_host_config", host_config)


def test_a_pods_node_bounds_itself_and_works_like_any_other(as_in_a_pod: None, start: Start) -> None:
    cluster = start(1, cpus=1, memory="512Mi", control_plane="process")
    node = cluster.node()
    assert not [text for text in node.fidelity if "pod's network" in text]
    if node.facts["version"] == 1:
        assert any("cgroup v1 here: nothing keeps the node within its CPUs" in text for text in node.fidelity)
    else:
        lacks = [text for text in node.fidelity if "nothing keeps the node" in text]
        assert node.read("/", "pids.max").strip() == str(PIDS)
        assert node.read("/", "memory.max").strip() == str(512 << 20)
        if "cpuset" in node.facts["controllers"]:
            assert node.read("/", "cpuset.cpus.effective").strip() == str(node.facts["cpus"][0]) and lacks == []
        else:
            assert lacks == ["no cpuset controller here: nothing keeps the node within its CPUs"]
    cluster.apply(pod(name="p", requests={"cpu": "100m", "memory": "32Mi"}, limits={"memory": "64Mi"}))
    cluster.wait(lambda c: c.pod("p").status.phase == "Running")
    assert node.differences() == []
    assert {one.pod for one in node.processes() if one.first} >= {"p"}


def test_a_privileged_pods_node_does_not_take_its_machines_cgroups(
    as_in_a_pod: None, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured = container._host_config

    def of_the_host(*about: Any) -> Any:
        return {**configured(*about), "CgroupnsMode": "host"}

    monkeypatch.setattr(container, "_host_config", of_the_host)
    # on v1 an engine shows such a node the host's hierarchies, and only one that restricts nothing grants it at all
    privilege = "full" if engine_cgroup_version() == 2 else "least"
    node = start(1, cpus=1, memory="512Mi", control_plane="process", privilege=privilege).node()
    assert node.cgroupfs.children("/") == ["/kubepods"]


def engine_cgroup_version() -> int:
    client = engine.connect()
    try:
        return int(client.info().get("CgroupVersion") or 1)
    finally:
        client.close()
