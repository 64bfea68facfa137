"""The scheduler makes room for resizes that the kubelet has deferred (KEP-5836)."""

from __future__ import annotations

from typing import Any

from kitlib.api.release import Release
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster

GATE = "InPlacePodVerticalScalingSchedulerPreemption"
NODES = [{"cpus": 4, "memory": "8Gi"}, {"cpus": 4, "memory": "8Gi"}]


def pod(name: str, cpu: str, priority: int | str, node: str = "node-1", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    spec |= {"containers": [container], "priorityClassName": f"p{priority}", "terminationGracePeriodSeconds": 0}
    spec |= {"nodeSelector": {"kubernetes.io/hostname": node}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def made(*pods: dict[str, Any], on: bool = True) -> SimulatedCluster:
    cluster = Cluster.simulated(NODES, release=Release("1.37", {GATE: on}))
    for value in (0, 10, 100):
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        cluster.apply({**kind, "metadata": {"name": f"p{value}"}, "value": value})
    never = {"metadata": {"name": "pnever"}, "value": 100, "preemptionPolicy": "Never"}
    cluster.apply({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **never})
    for one in pods:
        cluster.apply(one)
    return cluster


def pending(cluster: SimulatedCluster) -> str:
    found = [one.reason for one in cluster.pod("high").status.conditions if one.type == "PodResizePending"]
    return found[0] if found else ""


def waiting(cluster: SimulatedCluster) -> list[str]:
    assert cluster.scheduler is not None
    return [name for names in cluster.scheduler.loop.queue.pending_pods().values() for name in names]


def grown(cluster: SimulatedCluster, cpu: str) -> SimulatedCluster:
    cluster.resize("high", {"c": {"requests": {"cpu": cpu, "memory": "1Gi"}}})
    cluster.advance(5)
    return cluster


def test_the_least_important_pod_of_the_node_makes_room() -> None:
    cluster = made(pod("high", "1", 100), pod("middle", "1", 10), pod("low", "1", 0), pod("far", "1", 0, "node-2"))
    grown(cluster, "2500m")
    assert sorted(one.name for one in cluster.pods()) == ["far", "high", "middle"]
    assert pending(cluster) == ""
    high = cluster.pod("high")
    assert str(high.status.container_statuses[0].allocated_resources["cpu"]) == "2500m"
    assert (high.status.nominated_node_name, high.spec.node_name) == ("", "node-1")
    assert [e.message for e in cluster.events("low") if e.reason == "Preempted"] == [
        f"Preempted by pod {high.metadata.uid} on node node-1"
    ]
    assert not [e for e in cluster.events("high") if e.reason == "FailedScheduling"]
    assert next(c.status for c in high.status.conditions if c.type == "PodScheduled") == "True"


def test_without_the_gate_the_resize_stays_deferred() -> None:
    cluster = grown(made(pod("high", "1", 100), pod("low", "2", 0), on=False), "3")
    assert (pending(cluster), len(cluster.pods())) == ("Deferred", 2)


def test_pods_of_like_priority_and_a_pod_that_never_preempts_are_left_alone() -> None:
    cluster = grown(made(pod("high", "1", 100), pod("low", "2", 100)), "3")
    assert (pending(cluster), len(cluster.pods())) == ("Deferred", 2)
    cluster = grown(made(pod("high", "1", "never"), pod("low", "2", 0)), "3")
    assert (pending(cluster), len(cluster.pods())) == ("Deferred", 2)


def test_a_node_may_forbid_it_and_the_pod_is_tried_again_once_it_allows_it() -> None:
    cluster = made(pod("high", "1", 100), pod("low", "2", 0))
    cluster.patch("Node", "node-1", {"spec": {"podPreemptionPolicy": {"disableResizePreemption": ["admin"]}}})
    grown(cluster, "3")
    assert (pending(cluster), len(cluster.pods())) == ("Deferred", 2)
    decision = cluster.decision("high")
    assert decision is not None and decision.reasons_of("node-1") == ["node had resize preemption disabled"]
    cluster.patch("Node", "node-1", {"spec": {"podPreemptionPolicy": None}})
    cluster.advance(15)
    assert (pending(cluster), [one.name for one in cluster.pods()]) == ("", ["high"])


def test_a_pod_leaves_the_queue_when_its_resize_is_taken_back() -> None:
    cluster = grown(made(pod("high", "1", 100), pod("low", "2", 100)), "3")
    assert waiting(cluster) == ["high"]
    grown(cluster, "1")
    assert pending(cluster) == ""
    assert waiting(cluster) == []


def test_the_nodes_policy_is_dropped_without_the_gate() -> None:
    patch = {"spec": {"podPreemptionPolicy": {"disableResizePreemption": ["admin"]}}}
    for on in (False, True):
        cluster = made(on=on)
        cluster.patch("Node", "node-1", patch)
        assert (cluster.get("Node", "node-1").spec.pod_preemption_policy is not None) is on
