"""NoExecute taints delete pods, at once or when their tolerationSeconds are over."""

from __future__ import annotations

import pytest

from tests.controllers.builders import hollow, names, pod, told


def tolerating(name: str, seconds: int | None) -> dict:
    toleration = {"key": "maint", "operator": "Exists", "effect": "NoExecute"}
    if seconds is not None:
        toleration["tolerationSeconds"] = seconds
    return pod(name, tolerations=[toleration])


def taint(cluster, *keys: str) -> None:
    taints = [{"key": key, "effect": "NoExecute"} for key in keys] or None
    cluster.patch("Node", "node-1", {"spec": {"taints": taints}})


def test_pods_go_when_their_toleration_ends():
    cluster = hollow(1)
    cluster.apply([pod("now"), tolerating("later", 4), tolerating("never", None)])
    taint(cluster, "maint")
    assert names(cluster) == ["later", "never"]
    cluster.advance(3)
    assert names(cluster) == ["later", "never"]
    cluster.advance(2)
    assert names(cluster) == ["never"]
    assert ("TaintManagerEviction", "Marking for deletion Pod default/later") in told(cluster, "Pod")


def test_a_taint_that_goes_in_time_cancels_the_eviction():
    cluster = hollow(1)
    cluster.apply([tolerating("later", 10)])
    taint(cluster, "maint")
    cluster.advance(5)
    taint(cluster)
    cluster.advance(20)
    assert names(cluster) == ["later"]
    assert ("TaintManagerEviction", "Cancelling deletion of Pod default/later") in told(cluster, "Pod")


def test_a_second_taint_that_is_not_tolerated_evicts_at_once():
    cluster = hollow(1)
    cluster.apply([tolerating("later", 100)])
    taint(cluster, "maint")
    taint(cluster, "maint", "broken")
    assert names(cluster) == []


@pytest.mark.parametrize(("status", "key"), [("False", "not-ready"), ("Unknown", "unreachable")])
def test_a_node_that_is_not_ready_loses_its_pods_after_five_minutes(status, key):
    cluster = hollow(2)
    cluster.apply([pod("a", nodeName="node-1")])
    node = cluster.nodes[0]
    for condition in node.status.conditions:
        condition.status = status
    cluster.api.update_status(node)
    cluster.advance(0.2)
    taints = {(taint.key, taint.effect) for taint in cluster.nodes[0].spec.taints}
    assert taints == {(f"node.kubernetes.io/{key}", "NoSchedule"), (f"node.kubernetes.io/{key}", "NoExecute")}
    cluster.advance(299)
    assert names(cluster) == ["a"]
    cluster.advance(2)
    assert names(cluster) == []


def test_a_ready_nodes_not_ready_taint_goes_with_the_next_look_at_its_health():
    cluster = hollow(1)
    patience = [
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 4}
    ]
    cluster.apply([pod("short", tolerations=patience)])
    taint(cluster, "node.kubernetes.io/not-ready")
    cluster.advance(4)
    assert names(cluster) == [], "the eviction comes before the next look, five seconds later"
    cluster.advance(2)
    assert cluster.nodes[0].spec.taints == []
