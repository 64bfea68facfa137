"""The times of the kubelet's periodic work."""

from __future__ import annotations

from typing import Any

from kitlib.cluster import Cluster

BURSTABLE = "/kubepods/burstable"


def pod(name: str) -> dict[str, Any]:
    """Return a Burstable pod."""
    resources = {"requests": {"cpu": "500m", "memory": "64Mi"}}
    containers = [{"name": "c", "image": "x", "resources": resources}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers}}


def test_qos_cgroups_are_written_again_at_whole_minutes() -> None:
    """Source: periodicQOSCgroupUpdateInterval."""
    cluster = Cluster.simulated(1)
    cluster.apply(pod("a"))
    cluster.advance(10)
    node = cluster.node()
    kept = node.read(BURSTABLE, "cpu.weight")
    node.write(BURSTABLE, "cpu.weight", "77")
    cluster.advance(49)
    assert node.read(BURSTABLE, "cpu.weight") == "77"
    cluster.advance(2)
    assert node.read(BURSTABLE, "cpu.weight") == kept


def test_the_cgroup_of_a_pod_that_is_not_known_is_removed_at_the_next_cleanup() -> None:
    """Source: housekeepingPeriod, cleanupOrphanedPodCgroups."""
    cluster = Cluster.simulated(1)
    cluster.advance(10)
    path = f"{BURSTABLE}/pod01234567-89ab-cdef-0123-456789abcdef"
    files = cluster.node().cgroupfs
    files.makedirs(path)
    cluster.advance(3)
    assert not files.exists(path)
