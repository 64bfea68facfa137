"""Nodes that stop answering are given up one by one, and not at all where too much is gone."""

from __future__ import annotations

import pytest

from kitlib.cluster import Cluster
from kitlib.controllers.node_lifecycle import mark_ready, mark_unreachable
from kitlib.controllers.node_zones import Limiter, eviction_rate, zone_state
from kitlib.kubelet.loop.node_conditions import pressure_condition
from tests.controllers.builders import hollow, pod, told

UNREACHABLE = "node.kubernetes.io/unreachable"
STATES = {
    "all answer": (10, 0, "Normal"),
    "two are never too many": (1, 2, "Normal"),
    "less than 55% of the zone": (5, 4, "Normal"),
    "55% of the zone and more": (9, 11, "PartialDisruption"),
    "three of four": (1, 3, "PartialDisruption"),
    "none answers": (0, 1, "FullDisruption"),
    "an empty zone": (0, 0, "Normal"),
}


@pytest.mark.parametrize(("ready", "gone", "state"), STATES.values(), ids=STATES.keys())
def test_the_state_of_a_zone(ready: int, gone: int, state: str) -> None:
    assert zone_state(ready, gone) == state


RATES = {
    "a small zone with a partial disruption loses nothing": ("PartialDisruption", 50, 0.0),
    "a large one loses a node in 100 seconds": ("PartialDisruption", 51, 0.01),
    "a healthy one a node in 10 seconds": ("Normal", 5, 0.1),
    "so does one that is gone, while others answer": ("FullDisruption", 5, 0.1),
}


@pytest.mark.parametrize(("state", "nodes", "rate"), RATES.values(), ids=RATES.keys())
def test_the_rate_of_a_zone(state, nodes: int, rate: float) -> None:
    assert eviction_rate(state, nodes) == rate


def test_a_limiter_that_was_empty_stays_empty_at_another_rate() -> None:
    full, empty = Limiter(at=0.0), Limiter(at=0.0)
    assert empty.try_accept(0) and not empty.try_accept(9.9)
    for limiter in (full, empty):
        limiter.swap(0.01, 9.9)
    assert full.try_accept(9.9)
    assert not empty.try_accept(9.9) and empty.wait(9.9) == pytest.approx(100)


def lose(cluster, *numbers: int, status: str = "Unknown") -> None:
    for node in cluster.nodes:
        if int(node.name.removeprefix("node-")) in numbers:
            for condition in node.status.conditions:
                condition.status = status if condition.type == "Ready" else condition.status
            cluster.api.update_status(node)
    cluster.advance(0.2)


def tainted(cluster, effect: str = "NoExecute") -> list[str]:
    return [
        node.name
        for node in cluster.nodes
        if any((taint.key, taint.effect) == (UNREACHABLE, effect) for taint in node.spec.taints)
    ]


def test_one_node_in_ten_seconds_is_given_up():
    cluster = hollow(7)
    lose(cluster, 1, 2, 3)
    assert tainted(cluster, "NoSchedule") == ["node-1", "node-2", "node-3"], "nothing new comes to any of them"
    assert tainted(cluster) == ["node-1"]
    cluster.advance(9)
    assert tainted(cluster) == ["node-1"]
    cluster.advance(1)
    assert tainted(cluster) == ["node-1", "node-2"]
    cluster.advance(10)
    assert tainted(cluster) == ["node-1", "node-2", "node-3"]


def test_a_node_that_answers_again_loses_its_place():
    cluster = hollow(7)
    lose(cluster, 1, 2, 3)
    lose(cluster, 2, status="True")
    cluster.advance(10)
    assert tainted(cluster) == ["node-1", "node-3"]


def test_a_small_zone_with_too_many_lost_nodes_keeps_their_pods():
    cluster = hollow(4)
    lose(cluster, 1, 2, 3)
    cluster.advance(1000)
    assert tainted(cluster) == []
    lose(cluster, 2, 3, status="True")
    cluster.advance(10)
    assert tainted(cluster) == ["node-1"]


def test_where_no_node_answers_none_is_given_up():
    cluster = hollow(2)
    lose(cluster, 1)
    assert tainted(cluster) == ["node-1"]
    lose(cluster, 2)
    assert tainted(cluster) == [], "node-1 gets its pods back"
    cluster.advance(1000)
    assert tainted(cluster) == []
    lose(cluster, 1, status="True")
    cluster.advance(10)
    assert tainted(cluster) == ["node-2"]


def test_pods_of_a_silent_node_are_not_ready_until_it_answers() -> None:
    """The rules of MarkPodsNotReady, and of GeneratePodReadyCondition once the kubelet posts again."""
    cluster = hollow(2)
    gated = pod("gated", nodeName="node-1", readinessGates=[{"conditionType": "example.com/gate"}])
    cluster.apply([pod("a", nodeName="node-1"), gated, pod("b", nodeName="node-2")])

    def ready() -> dict[str, str]:
        return {one.name: next(c.status for c in one.status.conditions if c.type == "Ready") for one in cluster.pods()}

    before = ready()
    assert before["a"] == before["b"] == "True"
    mark_unreachable(cluster.api, "node-1")
    assert ready() == {"a": "False", "gated": "False", "b": "True"}
    told = [one for one in cluster.list("Event") if one.reason == "NodeNotReady" and one.message == "Node is not ready"]
    assert {(one.type, one.involved_object.name) for one in told} >= {("Warning", "a")}
    assert all(one.involved_object.name != "b" for one in told)
    mark_ready(cluster.api, "node-1")
    assert ready() == {"a": "True", "gated": "False", "b": "True"}


def test_a_node_that_comes_or_goes_is_told_of_once() -> None:
    cluster = hollow(1)
    cluster.advance(60)
    registered = ("RegisteredNode", "Node node-1 event: Registered Node node-1 in Controller")
    assert told(cluster, "Node") == [registered]
    cluster.delete("Node", "node-1")
    assert told(cluster, "Node") == [
        registered,
        ("RemovingNode", "Node node-1 event: Removing Node node-1 from Controller"),
    ]


def test_nobody_knows_what_runs_short_on_a_silent_node() -> None:
    cluster = hollow(2)
    node = cluster.get("Node", "node-1")
    pressed = pressure_condition("DiskPressure", True, cluster.now())
    node.status.conditions = [pressed, *node.status.conditions]
    cluster.api.update_status(node)

    def conditions() -> list[tuple[str, str, str]]:
        found = cluster.get("Node", "node-1").status.conditions
        return [(one.type, one.status, one.reason) for one in found]

    posted = cluster.get("Node", "node-1").status.conditions
    mark_unreachable(cluster.api, "node-1")
    assert conditions() == [
        ("DiskPressure", "Unknown", "NodeStatusUnknown"),
        ("Ready", "Unknown", "NodeStatusUnknown"),
        ("MemoryPressure", "Unknown", "NodeStatusNeverUpdated"),
        ("PIDPressure", "Unknown", "NodeStatusNeverUpdated"),
    ]
    mark_ready(cluster.api, "node-1", posted)
    assert conditions() == [
        ("DiskPressure", "True", "KubeletHasDiskPressure"),
        ("Ready", "True", "KubeletReady"),
        ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        ("PIDPressure", "False", "KubeletHasSufficientPID"),
    ]


def test_the_older_labels_follow_the_stable_ones() -> None:
    cluster = hollow(1)

    def older() -> dict[str, str]:
        return {k: v for k, v in cluster.get("Node", "node-1").metadata.labels.items() if k.startswith("beta.")}

    assert older() == {"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64"}
    labels = {"kubernetes.io/arch": "arm64", "beta.kubernetes.io/arch": None, "beta.kubernetes.io/os": "windows"}
    cluster.patch("Node", "node-1", {"metadata": {"labels": labels}})
    assert older() == {"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "arm64"}


def test_a_node_excluded_from_disruption_checks_says_nothing_about_its_zone() -> None:
    cluster = hollow(2)
    cluster.patch("Node", "node-2", {"metadata": {"labels": {"node.kubernetes.io/exclude-disruption": ""}}})
    lose(cluster, 1)
    assert tainted(cluster) == [], "no other node counts: the whole cluster is gone"
    lose(cluster, 2)
    lose(cluster, 1, status="True")
    cluster.advance(10)
    assert tainted(cluster) == ["node-2"]


def test_a_node_of_a_release_that_is_not_known_is_told_once() -> None:
    cluster = Cluster.simulated(1, release="1.36")
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "foreign"}, "spec": {"taints": [taint]}}
    cluster.apply({**node, "status": {"nodeInfo": {"kubeletVersion": "v1.99.0+k3s1"}}})
    for label in ("a", "b"):
        cluster.patch("Node", "foreign", {"metadata": {"labels": {label: "x"}}})
        cluster.advance(5)
    told = [(e.reason, e.message, e.count) for e in cluster.events() if e.reason == "UnknownRelease"]
    assert told == [("UnknownRelease", "Node foreign is of v1.99.0+k3s1: not known here, decided as 1.36", 1)]
