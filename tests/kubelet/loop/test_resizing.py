"""Which resizes are carried out first, and what is reported of them."""

from __future__ import annotations

from typing import Any

from kitlib.cluster import Cluster


def pod(name: str, priority: int | None = None) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "500m"}}}
    spec = {"containers": [container], **({"priorityClassName": "high"} if priority else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


HIGH = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}


def granted(cluster: Any, name: str) -> str:
    return str(cluster.pod(name).status.container_statuses[0].allocated_resources["cpu"])


def test_a_more_important_pod_is_resized_first_once_there_is_room() -> None:
    """Source: allocation manager sortPendingResizes."""
    cluster = Cluster.simulated([{"cpus": 2, "memory": "4Gi"}])
    cluster.apply([HIGH, pod("low"), pod("high", 1000), pod("big")])
    cluster.resize("big", {"c": {"requests": {"cpu": "1"}}})
    for name in ("low", "high"):
        cluster.resize(name, {"c": {"requests": {"cpu": "1"}}})
    assert [granted(cluster, name) for name in ("low", "high", "big")] == ["500m", "500m", "1"]
    cluster.resize("big", {"c": {"requests": {"cpu": "500m"}}})
    cluster.advance(10)
    assert [granted(cluster, name) for name in ("low", "high", "big")] == ["500m", "1", "500m"]


def test_a_completed_resize_is_reported_once_and_of_no_other_pod() -> None:
    cluster = Cluster.simulated([{"cpus": 2, "memory": "4Gi"}])
    cluster.apply([pod("a"), pod("b")])
    cluster.resize("a", {"c": {"requests": {"cpu": "600m"}}})
    cluster.advance(30)
    completed = [e for e in cluster.events() if e.reason == "ResizeCompleted"]
    assert [(e.involved_object.name, e.count) for e in completed] == [("a", 1)]


def test_a_resize_may_fill_the_node_but_not_more() -> None:
    """Source: canAdmitPod; also a pod that becomes smaller on a node that is too full is resized."""
    cluster = Cluster.simulated([{"cpus": 2, "memory": "4Gi"}])
    cluster.apply([pod("a"), pod("b")])
    cluster.resize("a", {"c": {"requests": {"cpu": "1501m"}}})
    cluster.advance(2)
    assert granted(cluster, "a") == "500m"
    cluster.resize("a", {"c": {"requests": {"cpu": "1500m"}}})
    cluster.advance(2)
    assert granted(cluster, "a") == "1500m"
    cluster.resize("b", {"c": {"requests": {"cpu": "501m"}}})
    cluster.advance(2)
    assert granted(cluster, "b") == "500m"
    cluster.resize("b", {"c": {"requests": {"cpu": "400m"}}})
    cluster.advance(2)
    assert granted(cluster, "b") == "400m"
