"""NodeResourcesFit: what fits exactly, what is one too many, sidecars that older kubelets do not know."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Node, Pod
from kitlib.api.release import Release
from kitlib.scheduler.framework.events import NODE, POD
from kitlib.scheduler.framework.plugin import Context
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kitlib.scheduler.profile import Profile
from kitlib.scheduler.scheduler import Scheduler
from kitlib.study.scenario import node_of, pod_of

A_NODE = {"name": "a", "allocatable": {"cpu": "2", "memory": "1Gi", "pods": "2", "example.com/gpu": "1"}}


def reasons(requests: dict[str, str], standing: int = 0, release: str = "1.36", **spec: Any) -> list[str]:
    pods = [pod_of({"name": f"s{i}", "node": "a", "cpu": "500m"}) for i in range(standing)]
    pod: Pod = pod_of({"name": "p", "requests": requests, "spec": spec})
    return list(Scheduler([node_of(A_NODE)], pods, release=release).explain(pod).reasons_of("a"))


@pytest.mark.parametrize(
    ("requests", "standing", "expected"),
    [
        ({"cpu": "2"}, 0, []),
        ({"cpu": "2001m"}, 0, ["Insufficient cpu"]),
        ({"cpu": "1500m"}, 1, []),
        ({"cpu": "1501m"}, 1, ["Insufficient cpu"]),
        ({"cpu": "1500m", "memory": "1025Mi"}, 1, ["Insufficient memory"]),
        ({"cpu": "3", "memory": "2Gi"}, 0, ["Insufficient cpu", "Insufficient memory"]),
        ({"cpu": "1m"}, 2, ["Too many pods"]),
        ({"example.com/gpu": "1"}, 0, []),
        ({"example.com/gpu": "2"}, 0, ["Insufficient example.com/gpu"]),
        ({"example.com/other": "1"}, 0, ["Insufficient example.com/other"]),
        ({}, 1, []),
    ],
)
def test_what_a_node_has_room_for(requests: dict[str, str], standing: int, expected: list[str]) -> None:
    """Source: noderesources fitsRequest."""
    assert reasons(requests, standing) == expected


@pytest.mark.parametrize(
    ("release", "policy", "refused"), [("1.28", "Always", True), ("1.28", None, False), ("1.29", "Always", False)]
)
def test_a_release_without_sidecars_takes_no_pod_with_one(release: str, policy: str | None, refused: bool) -> None:
    """Source: Fit.Filter, hasRestartableInitContainer."""
    init = {"name": "i", "image": "x", **({"restartPolicy": policy} if policy else {})}
    assert bool(reasons({"cpu": "1m"}, release=release, initContainers=[init])) is refused


def scores(plugin: str, arguments: dict[str, Any], requests: dict[str, str]) -> list[int]:
    """Return a plugin's score of three nodes: 4 CPUs and 4Gi, half in use; the same with GPUs; without memory."""
    nodes = [
        node_of({"name": "a", "allocatable": {"cpu": "4", "memory": "4Gi", "pods": "9"}}),
        node_of({"name": "b", "allocatable": {"cpu": "4", "memory": "4Gi", "pods": "9", "example.com/gpu": "4"}}),
        node_of({"name": "c", "allocatable": {"cpu": "4", "memory": "0", "pods": "9"}}),
    ]
    standing = [pod_of({"name": name, "node": name, "cpu": "1", "memory": "2Gi"}) for name in "ab"]
    profile = Profile.from_configuration({"pluginConfig": [{"name": plugin, "args": arguments}]})
    context = Scheduler(nodes, standing, release="1.36").context
    found = next(one for one in profile.plugins if one.name == plugin)
    info, rows = PodInfo(pod_of({"name": "p", "requests": requests})), context.snapshot.every_row()
    points: list[int] = found.score(found.pre_score(info, context, rows), info, context, rows).tolist()
    return points


@pytest.mark.parametrize(
    ("strategy", "requests", "expected"),
    [
        # cpu: 2 of 4 = 50; memory: 3 of 4 = 25 left; a node without memory is judged by its CPUs alone
        ({"type": "LeastAllocated"}, {"cpu": "1", "memory": "1Gi"}, [37, 37, 75]),
        ({"type": "MostAllocated"}, {"cpu": "1", "memory": "1Gi"}, [62, 62, 25]),
        # a resource that the node lacks, or that is not asked for, has no weight
        (
            {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}, {"name": "example.com/gpu"}]},
            {"cpu": "1", "example.com/gpu": "1"},
            [50, 37, 25],
        ),
        (
            {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 3}, {"name": "example.com/gpu"}]},
            {"cpu": "1"},
            [50, 50, 25],
        ),
        # a single resource of weight 1: utilisation 50, 50 and 25
        ({"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": 1}]}, {"cpu": "1"}, [50, 50, 75]),
        (
            {
                "type": "RequestedToCapacityRatio",
                "resources": [{"name": "cpu", "weight": 1}],
                "requestedToCapacityRatio": {
                    "shape": [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]
                },
            },
            {"cpu": "1"},
            [50, 50, 75],
        ),
        # utilisation 50 is score 50, 75 is 25: 37.5 is rounded up; the third node has no memory
        (
            {
                "type": "RequestedToCapacityRatio",
                "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
                "requestedToCapacityRatio": {
                    "shape": [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]
                },
            },
            {"cpu": "1", "memory": "1Gi"},
            [38, 38, 75],
        ),
    ],
    ids=["least", "most", "a lacking resource", "a resource not asked for", "least of one", "ratio of one", "ratio"],
)
def test_the_score_by_strategy(strategy: dict[str, Any], requests: dict[str, str], expected: list[int]) -> None:
    """Source: noderesources leastResourceScorer, mostResourceScorer, buildRequestedToCapacityRatioScorerFunction."""
    assert scores("NodeResourcesFit", {"scoringStrategy": strategy}, requests) == expected


def test_the_balanced_score_compares_with_the_node_before() -> None:
    """The first two get closer to balance or further from it; a node with one resource is balanced in any case.

    Used before: cpu 1/4, memory 2/4, deviation 12.5%: 87 points. With 1 CPU: cpu 2/4, memory 2/4: 100 points. The score
    is (100 - 87 + 50) // 2 + 50 = 81. Source: balanced_allocation.go balancedResourceScorer.
    """
    assert scores("NodeResourcesBalancedAllocation", {}, {"cpu": "1"}) == [81, 81, 75]


def hint(resource: str) -> Any:
    """Return the queueing hint of NodeResourcesFit for events of pods or nodes."""
    context = Context(Snapshot(), Release("1.36"))
    return next(hint for event, hint in NodeResourcesFit().events_to_register(context) if event.resource == resource)


def sized(cpu: str, memory: str = "1Gi", name: str = "a") -> Node:
    made: Node = node_of({"name": name, "allocatable": {"cpu": cpu, "memory": memory, "pods": "9"}})
    return made


@pytest.mark.parametrize(
    ("old", "new", "woken"),
    [
        (None, sized("2"), True),
        (None, sized("1"), False),
        (sized("1"), sized("2"), True),
        (sized("2"), sized("2"), False),
        (sized("3"), sized("2"), False),
        (sized("2"), sized("2", "2Gi"), False),
        (sized("1"), sized("1900m"), False),
    ],
    ids=["added", "added, small", "grown", "as before", "shrunk", "grown in what is not asked for", "still small"],
)
def test_a_node_with_more_room_than_before_brings_a_pod_back(old: Node | None, new: Node, woken: bool) -> None:
    """Source: noderesources isSchedulableAfterNodeChange."""
    assert hint(NODE)(pod_of({"name": "p", "requests": {"cpu": "2"}}), old, new) is woken


@pytest.mark.parametrize(
    ("old", "new", "woken"),
    [
        ({"node": "a", "requests": {"cpu": "1"}}, None, True),
        ({"requests": {"cpu": "1"}}, None, False),
        ({"node": "a", "requests": {"cpu": "2"}}, {"node": "a", "requests": {"cpu": "1"}}, True),
        ({"node": "a", "requests": {"cpu": "1"}}, {"node": "a", "requests": {"cpu": "1"}}, False),
        ({"node": "a", "requests": {"cpu": "1"}}, {"node": "a", "requests": {"memory": "1Gi"}}, True),
        ({"node": "a", "requests": {"memory": "2Gi"}}, {"node": "a", "requests": {"memory": "1Gi"}}, False),
        ({"requests": {"cpu": "2"}}, {"requests": {"cpu": "1"}}, False),
    ],
    ids=["gone", "gone, never placed", "needs less", "as before", "needs none", "less of other things", "not placed"],
)
def test_a_pod_that_needs_less_brings_another_back(old: dict[str, Any], new: Any, woken: bool) -> None:
    """Source: noderesources isSchedulableAfterPodEvent."""
    waiting = pod_of({"name": "p", "requests": {"cpu": "2"}})
    after = pod_of({"name": "other", **new}) if new is not None else None
    assert hint(POD)(waiting, pod_of({"name": "other", **old}), after) is woken
