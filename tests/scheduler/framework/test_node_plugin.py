"""Plugins that are written for one node at a time are asked about every row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kitlib.api.core import Node, Pod
from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.scheduler.framework.filter_outcome import FilterOutcome
from kitlib.scheduler.framework.node_plugin import NodePlugin
from kitlib.scheduler.framework.plugin import Context, FailedCycle
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.framework.status import SUCCESS, Code
from tests.scheduler.builders import node, pod


class Few(NodePlugin):
    """At most one pod on a node; nodes with fewer pods score more; every running pod may leave."""

    name = "Few"

    def filter_node(self, pod: Pod, node: Node, pods: list[Pod]) -> str | None:
        return None if len(pods) < 2 else f"{node.name} has {','.join(one.name for one in pods)} beside {pod.name}"

    def score_node(self, pod: Pod, node: Node, pods: list[Pod]) -> int:
        return 100 - 50 * len(pods)

    def victims_on_node(self, pod: Pod, node: Node, pods: list[Pod]) -> list[Pod] | None:
        return pods or None


def context() -> Context:
    """Three nodes with no pod, one pod and two pods."""
    table = Snapshot([node(name) for name in "abc"])
    for name, where, priority in (("p1", "b", 0), ("p2", "c", 5), ("p3", "c", 1)):
        table.add(PodInfo(pod(name, on=where, priority=priority)))
    return Context(table, Release("1.36"))


def test_every_asked_row_is_filtered_with_its_node_and_pods() -> None:
    found = Few().filter(None, PodInfo(pod("new")), context(), np.array([2, 0, 1]))
    assert [found.status(place, "Few") for place in (1, 2)] == [SUCCESS.__class__(plugin="Few")] * 2
    refused = found.status(0, "Few")
    assert (refused.code, refused.reasons) == (Code.Unschedulable, ("c has p2,p3 beside new",))


def test_every_asked_row_is_scored() -> None:
    assert Few().score(None, PodInfo(pod("new")), context(), np.array([2, 0, 1])).tolist() == [0, 100, 50]


@pytest.mark.parametrize(("score", "valid"), [(-1, False), (0, True), (100, True), (101, False)])
def test_a_score_is_between_0_and_100(score: int, valid: bool) -> None:
    """Source: framework runtime RunScorePlugins."""

    class Fixed(NodePlugin):
        name = "Fixed"

        def score_node(self, pod: Pod, node: Node, pods: list[Pod]) -> int:
            return score

    def run() -> list[int]:
        return Fixed().score(None, PodInfo(pod("p")), context(), np.array([0])).tolist()

    if valid:
        assert run() == [score]
    else:
        with pytest.raises(
            KitError, match=rf"^plugin 'Fixed' returns an invalid score {score}, it should in the range"
        ):
            run()


def failed(made: Context, codes: list[int]) -> Any:
    rows = np.arange(len(codes), dtype=np.int64)
    outcome = FilterOutcome(SUCCESS, None, rows, np.array(codes, np.uint8), np.full(len(codes), -1, np.int32))
    return FailedCycle(handle=None, filters=outcome, nominated={})  # type: ignore[arg-type]


def test_victims_are_looked_for_where_preemption_may_help() -> None:
    made = context()
    no, never = int(Code.Unschedulable), int(Code.UnschedulableAndUnresolvable)
    found = Few().post_filter(failed(made, [no, no, no]), PodInfo(pod("new", priority=9)), made)
    assert {name: [one.pod.name for one in one.victims] for name, one in found.candidates.items()} == {
        "b": ["p1"],
        "c": ["p2", "p3"],
    }
    # the node with the victim of the lowest priority wins. Source: pickOneNodeForPreemption
    assert found.code is Code.Success and found.nominated == "b"
    found = Few().post_filter(failed(made, [no, never, no]), PodInfo(pod("new", priority=9)), made)
    assert list(found.candidates) == ["c"]
    nothing = Few().post_filter(failed(made, [no, never, never]), PodInfo(pod("new", priority=9)), made)
    assert nothing.code is Code.Unschedulable and not nothing.candidates


def test_a_plugin_takes_part_where_it_overrides_the_method_of_one_node() -> None:
    class OnlyScore(NodePlugin):
        def score_node(self, pod: Pod, node: Node, pods: list[Pod]) -> int:
            return 1

    points = ("filter", "score", "post_filter", "reserve")
    assert [point for point in points if Few().takes_part(point)] == ["filter", "score", "post_filter"]
    assert [point for point in points if OnlyScore().takes_part(point)] == ["score"]
    assert [point for point in points if NodePlugin().takes_part(point)] == []


def test_without_an_override_every_node_passes_and_none_is_preferred() -> None:
    plugin, made, rows = NodePlugin(), context(), np.array([0, 2])
    assert plugin.filter(None, PodInfo(pod("p")), made, rows).codes.tolist() == [0, 0]
    assert plugin.score(None, PodInfo(pod("p")), made, rows).tolist() == [0, 0]
    assert plugin.victims_on_node(pod("p"), made.snapshot.nodes[0], []) is None
