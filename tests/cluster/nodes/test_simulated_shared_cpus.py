"""CPUs that an exclusive container gives back are everybody's again at the CPU manager's next reconciliation."""

from __future__ import annotations

from typing import Any

from kitlib.cluster import Cluster


def pod(name: str, limits: dict[str, str]) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": {"limits": limits}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


def test_the_shared_pool_grows_again_when_an_exclusive_container_has_gone() -> None:
    cluster = Cluster.simulated(1, cpus=2, kubelet=["--cpu-manager-policy=static", "--reserved-cpus=0"])
    cluster.apply(pod("free", {}))
    cluster.apply(pod("owns", {"cpu": "1", "memory": "64Mi"}))
    assert cluster.node().proc("free")["Cpus_allowed_list"] == "0"
    cluster.delete("Pod", "owns", grace=0)
    cluster.advance(11)
    assert cluster.node().proc("free")["Cpus_allowed_list"] == "0-1"
    assert cluster.node().differences() == []
