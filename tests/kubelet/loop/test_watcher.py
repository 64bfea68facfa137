"""What a kubelet observes of its machine: allocatable memory, use of running pods, and reports in time."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster

MI = 2**20


def pod(name: str, workload: str, **resources: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": resources}
    meta = {"name": name, "annotations": {"kitlib.dev/workload.c": workload}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}}


def cluster_of(version: int, *flags: str) -> Any:
    return Cluster.simulated([{"cpus": 2, "memory": "1Gi", "kubelet": list(flags)}], cgroup_version=version)


@pytest.mark.parametrize("version", [1, 2])
def test_allocatable_memory_is_that_of_the_cgroup_of_all_pods(version: int) -> None:
    cluster = cluster_of(version, "--kube-reserved=memory=124Mi")
    cluster.apply(pod("p", "memory=100Mi"))
    cluster.advance(5)
    found = cluster.node().kubelet.watcher.observations()["allocatableMemory.available"]
    assert found.capacity == 900 * MI
    assert 700 * MI < found.available <= 800 * MI


@pytest.mark.parametrize("version", [1, 2])
def test_without_a_limit_of_all_pods_allocatable_memory_is_not_observed(version: int) -> None:
    cluster = cluster_of(version)
    cluster.advance(1)
    name = "memory.limit_in_bytes" if version == 1 else "memory.max"
    cluster.node().write("/kubepods", name, "-1" if version == 1 else "max")
    assert "allocatableMemory.available" not in cluster.node().kubelet.watcher.observations()
