"""Containers of the shared pool are written at the CPU manager's ticks: when the pool shrinks, and when it grows."""

from __future__ import annotations

from typing import Any

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster


def pod(name: str, limits: dict[str, str]) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": {"limits": limits}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


def test_the_shared_pool_grows_again_when_an_exclusive_container_has_gone() -> None:
    cluster = Cluster.simulated(1, cpus=2, kubelet=["--cpu-manager-policy=static", "--reserved-cpus=0"])
    cluster.apply(pod("free", {}))
    cluster.apply(pod("owns", {"cpu": "1", "memory": "64Mi"}))
    assert cluster.node().proc("free")["Cpus_allowed_list"] == "0-1"
    cluster.advance(10)
    assert cluster.node().proc("free")["Cpus_allowed_list"] == "0"
    cluster.delete("Pod", "owns", grace=0)
    cluster.advance(11)
    assert cluster.node().proc("free")["Cpus_allowed_list"] == "0-1"
    assert cluster.node().differences() == []


def allowed(cluster: Any, name: str) -> str:
    return str(cluster.node().proc(name)["Cpus_allowed_list"])


def test_a_new_container_of_the_pool_begins_in_the_pool_as_it_is_by_then() -> None:
    cluster = Cluster.simulated(1, cpus=4, kubelet=["--cpu-manager-policy=static", "--reserved-cpus=0"])
    cluster.apply(pod("old", {}))
    cluster.advance(11)
    cluster.apply([pod("owns", {"cpu": "2", "memory": "64Mi"}), pod("new", {})])
    assert (allowed(cluster, "old"), allowed(cluster, "new"), allowed(cluster, "owns")) == ("0-3", "0,3", "1-2")
    cluster.advance(8)
    assert allowed(cluster, "old") == "0-3"
    cluster.advance(1)
    assert allowed(cluster, "old") == "0,3"


def test_the_ticks_count_from_the_start_of_the_kubelet_and_a_new_one_writes_everything_once() -> None:
    cluster = Cluster.simulated(1, cpus=4, kubelet=["--cpu-manager-policy=static", "--reserved-cpus=0"])
    node = cluster.node()
    cluster.apply(pod("free", {}))
    cluster.advance(13)
    node.restart_kubelet()
    path = next(one.path for one in node.desired().values() if one.container)
    node.write(path, "cpuset.cpus", "0")
    cluster.advance(9)
    assert allowed(cluster, "free") == "0"
    cluster.advance(1)
    assert allowed(cluster, "free") == "0-3"
    node.write(path, "cpuset.cpus", "0")
    cluster.advance(30)
    assert allowed(cluster, "free") == "0", "what was written by hand stays until the state changes"


def test_a_write_that_the_kernel_refuses_is_tried_again_at_the_next_tick(monkeypatch: Any) -> None:
    cluster = Cluster.simulated(1, cpus=4, kubelet=["--cpu-manager-policy=static", "--reserved-cpus=0"])
    node = cluster.node()
    cluster.apply(pod("free", {}))
    cluster.advance(11)
    cluster.apply(pod("owns", {"cpu": "1", "memory": "64Mi"}))

    def refuses(*_: Any) -> None:
        raise KitError("cpuset.cpus: Device or resource busy")

    with monkeypatch.context() as patched:
        patched.setattr(node.runtime, "update", refuses)
        cluster.advance(12)
    assert allowed(cluster, "free") == "0-3"
    failed = [e.action for e in node.kubelet.timeline.of("cpumanager") if e.about == "free/c"]
    assert failed == ["creating container on", "updating container", "failed to update container"]
    cluster.advance(8)
    assert allowed(cluster, "free") == "0,2-3"
