"""Which pods the descheduler evicts for a spread constraint, by how many stand in each zone."""

import pytest

from kitlib.lab import pod, spread
from kitlib.study.descheduler import spread_evictions
from kitlib.study.scenario import ZONE, node_of, pod_of


def scene(counts, *, max_skew=1, soft=False, cpu=8, **more):
    """One node a zone, so many pods on each."""
    nodes = [node_of({"name": f"n{i}", "zone": f"z{i}", "cpu": cpu}) for i in range(len(counts))]
    rule = spread(ZONE, max_skew=max_skew, soft=soft, labelSelector={"matchLabels": {"app": "web"}})
    pods = []
    for i, count in enumerate(counts):
        for k in range(count):
            fields = {"nodeName": f"n{i}", "topologySpreadConstraints": [rule], **more}
            made = pod(f"p{i}-{k}", cpu="100m", labels={"app": "web"}, **fields)
            pods.append(pod_of(made))
    return nodes, pods


@pytest.mark.parametrize(
    ("counts", "max_skew", "evicted"),
    [
        ([2, 2, 2], 1, {}),
        ([2, 1], 1, {}),
        ([3, 1], 1, {"n0": 1}),
        ([3, 3, 0], 1, {"n0": 1, "n1": 1}),
        ([5, 1, 0], 1, {"n0": 3}),
        ([5, 1, 0], 2, {"n0": 2}),
        ([3, 1], 2, {}),
        ([6, 0], 1, {"n0": 3}),
        ([4, 0], 3, {"n0": 1}),
        ([2, 3, 5, 5, 7, 8], 1, {"n5": 3, "n4": 2}),
    ],
    ids=str,
)
def test_the_fullest_zones_give_as_many_as_they_must(counts, max_skew, evicted):
    found = [one.spec.node_name for one in spread_evictions(*scene(counts, max_skew=max_skew))]
    assert {node: found.count(node) for node in set(found)} == evicted


def test_a_wish_is_looked_at_only_if_it_is_asked_for():
    nodes, pods = scene([3, 1], soft=True)
    assert spread_evictions(nodes, pods) == []
    assert len(spread_evictions(nodes, pods, constraints=("DoNotSchedule", "ScheduleAnyway"))) == 1


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda nodes, pods: setattr(nodes[1].spec, "unschedulable", True), "the other zone takes nobody"),
        (
            lambda nodes, pods: nodes[1].status.allocatable.update(
                cpu=node_of({"name": "x", "cpu": 0}).status.allocatable["cpu"]
            ),
            "no room",
        ),
        (
            lambda nodes, pods: [setattr(p.spec, "node_selector", {"kubernetes.io/hostname": "n0"}) for p in pods],
            "bound",
        ),
    ],
    ids=["cordoned", "full", "a node selector"],
)
def test_a_pod_that_fits_nowhere_else_stays(change, why):
    nodes, pods = scene([4, 0])
    change(nodes, pods)
    assert spread_evictions(nodes, pods) == [], why


def test_the_least_important_go_first_and_those_with_a_selector_last():
    nodes, pods = scene([3, 0])
    pods[0].spec.priority, pods[1].spec.priority = 0, 100
    pods[2].spec.priority, pods[2].spec.node_selector = -1, {"kubernetes.io/os": "linux"}
    for node in nodes:
        node.metadata.labels["kubernetes.io/os"] = "linux"
    assert [one.name for one in spread_evictions(nodes, pods)] == ["p0-0"]


def test_pods_that_are_leaving_or_have_ended_do_not_count():
    nodes, pods = scene([3, 1])
    pods[0].status.phase = "Succeeded"
    assert spread_evictions(nodes, pods) == []
