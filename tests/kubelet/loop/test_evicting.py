"""Eviction waits for the pod that it kills, and uses the grace period of its release."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster

IGNORES = "trap '' TERM; stress-ng --vm 1 --vm-bytes 1800M --vm-keep"
SOFT = {
    "evictionSoft": {"memory.available": "1Gi"},
    "evictionSoftGracePeriod": {"memory.available": "10s"},
    "evictionHard": {"memory.available": "100Mi"},
    "evictionMaxPodGracePeriod": 600,
}


def pod(name: str, script: str, request: str, grace: int = 30, load: str = "") -> dict[str, Any]:
    container = {"name": "c", "image": "busybox", "command": ["sh", "-c", script]}
    spec = {
        "terminationGracePeriodSeconds": grace,
        "containers": [{**container, "resources": {"requests": {"memory": request}}}],
    }
    notes = {"kitlib.dev/workload.c": load} if load else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": notes}, "spec": spec}


def told(cluster: Any, reason: str) -> list[str]:
    return [event.involved_object.name for event in cluster.events() if event.reason == reason]


def stubborn_and_grower(grace: int) -> Any:
    """kubernetes/kubernetes#123872: a pod that ignores SIGTERM, and one that grows while the first is killed."""
    cluster = Cluster.simulated([{"name": "n", "memory": "4Gi", "kubelet": SOFT}])
    cluster.apply(pod("stubborn", IGNORES, "10Mi", grace))
    cluster.apply(pod("grower", "sleep inf", "1300Mi", load="60s memory=1400Mi; 200s memory=1900Mi; memory=2100Mi"))
    return cluster


def test_no_other_pod_is_evicted_while_one_takes_its_grace_period() -> None:
    with stubborn_and_grower(300) as cluster:
        cluster.advance(310)  # evicted after some 20 s: until then 1.5 times 300 s are not over
        assert told(cluster, "Evicted") == ["stubborn"]
        assert cluster.node().process("stubborn").pid
        assert cluster.pod("grower").status.phase == "Running"
        cluster.advance(90)
        assert cluster.pod("stubborn").status.reason == "Evicted"
        assert told(cluster, "ExceededGracePeriod") == []


def test_a_pod_that_has_gone_lets_the_next_one_go() -> None:
    with stubborn_and_grower(20) as cluster:
        cluster.advance(100)
        assert cluster.pod("stubborn").status.reason == "Evicted"
        assert cluster.pod("grower").status.phase == "Running"


def seconds_of_eviction(cluster: Any) -> float:
    """Return the time from the eviction's event until the node holds nothing of the pod, within half a second."""
    while not told(cluster, "Evicted"):
        cluster.advance(0.5)
    began = cluster.now()
    while cluster.node().owners():
        cluster.advance(0.5)
    return float((cluster.now() - began).total_seconds())


@pytest.mark.parametrize(
    ("release", "seconds", "exceeded"), [("1.30", 40, True), ("1.31", 2, False), ("1.36", 2, False)]
)
def test_a_hard_threshold_gives_a_second_since_1_31_and_a_container_two(
    release: str, seconds: int, exceeded: bool
) -> None:
    """kubernetes/kubernetes#124063: before, the pod kept its own grace period; the wait for it ended after ten."""
    hard = {"evictionHard": {"memory.available": "3Gi"}}
    with Cluster.simulated([{"name": "n", "memory": "4Gi", "kubelet": hard}], release=release) as cluster:
        cluster.apply(pod("p", IGNORES, "10Mi", 40))
        assert seconds_of_eviction(cluster) == pytest.approx(seconds, abs=0.5)
        assert bool(told(cluster, "ExceededGracePeriod")) is exceeded
        assert cluster.pod("p").status.container_statuses[0].state["terminated"]["exitCode"] == 137


@pytest.mark.parametrize(("release", "seconds"), [("1.31", 60), ("1.32", 8)])
def test_a_soft_threshold_takes_the_smaller_grace_period_since_1_32(release: str, seconds: int) -> None:
    soft = {**SOFT, "evictionMaxPodGracePeriod": 60, "evictionSoft": {"memory.available": "3Gi"}}
    with Cluster.simulated([{"name": "n", "memory": "4Gi", "kubelet": soft}], release=release) as cluster:
        cluster.apply(pod("p", IGNORES, "10Mi", 8))
        assert seconds_of_eviction(cluster) == pytest.approx(seconds, abs=0.5)
