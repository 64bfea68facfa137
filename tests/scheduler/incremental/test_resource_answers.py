"""Answers that follow from amounts are asked again for changed rows only, once for each combination of amounts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kitlib.api.release import Release
from kitlib.scheduler.framework.plugin import Context, Plugin, Scores
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.framework.status import Code, Rows, Verdicts
from kitlib.scheduler.incremental.resource_answers import PluginCall, ResourceAnswers
from tests.scheduler.builders import node, pod

NO, NEVER = int(Code.Unschedulable), int(Code.UnschedulableAndUnresolvable)


class AtMost(Plugin):
    """Rejects rows with `limit` pods or more; the score is ten times the number of pods."""

    def __init__(self, limit: int, code: Code = Code.Unschedulable) -> None:
        super().__init__()
        self.limit, self.code = limit, code
        self.asked: list[list[int]] = []

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        self.asked.append(rows.tolist())
        found = Verdicts.passing(len(rows))
        found.reject(context.snapshot.pod_count[rows] >= self.limit + (state or 0), self.code, "full")
        return found

    def score(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Scores:
        return 10 * context.snapshot.pod_count[rows]


def context(nodes: str = "abc", all_run: bool = False) -> Context:
    release = Release("1.36").with_gates({"KitAllFiltersRun": all_run})
    return Context(Snapshot([node(name) for name in nodes]), release)


def answers(made: Context, filters: list[PluginCall], scores: list[PluginCall]) -> ResourceAnswers:
    return ResourceAnswers(PodInfo(pod("new")), made, filters, scores)


def place(made: Context, name: str, row: int) -> PodInfo:
    info = PodInfo(pod(name))
    made.snapshot.add(info, row)
    return info


def test_answers_follow_the_rows_that_changed() -> None:
    made, plugin = context(), AtMost(2)
    found = answers(made, [PluginCall(plugin)], [PluginCall(plugin, weight=3)])
    assert found.codes.tolist() == [0, 0, 0] and found.score.tolist() == [0, 0, 0]
    first = place(made, "p", 1)
    place(made, "q", 1)
    found.follow()
    assert found.codes.tolist() == [0, NO, 0] and found.score.tolist() == [0, 60, 0]
    assert found.fits(np.array([1, 2])).tolist() == [False, True]
    made.snapshot.remove(first)
    found.follow()
    assert found.codes.tolist() == [0, 0, 0] and found.score.tolist() == [0, 30, 0]
    asked = len(plugin.asked)
    found.follow()
    assert len(plugin.asked) == asked, "nothing has changed"


def test_a_combination_of_amounts_is_asked_about_once() -> None:
    made, plugin = context(), AtMost(2)
    found = answers(made, [PluginCall(plugin)], [])
    place(made, "p", 0)
    found.follow()
    place(made, "q", 2)
    found.follow()
    assert plugin.asked == [[0, 1, 2], [0]], "row 2 has the amounts that row 0 had"
    assert found.of(2) == found.of(0) == (0, 0)


@pytest.mark.parametrize(("all_run", "code"), [(False, NO), (True, NEVER)])
def test_the_first_filter_that_rejects_decides_unless_all_run(all_run: bool, code: int) -> None:
    made = context(all_run=all_run)
    place(made, "p", 0)
    calls = [PluginCall(AtMost(1)), PluginCall(AtMost(1, Code.UnschedulableAndUnresolvable))]
    assert answers(made, calls, []).codes.tolist() == [code, 0, 0]


def test_scores_are_added_with_their_weights_and_states_are_passed_on() -> None:
    made = context()
    place(made, "p", 0)
    found = answers(
        made, [PluginCall(AtMost(1), state=1)], [PluginCall(AtMost(9), weight=1), PluginCall(AtMost(9), weight=2)]
    )
    assert found.codes.tolist() == [0, 0, 0] and found.score.tolist() == [30, 0, 0]


def test_without_filters_every_row_passes() -> None:
    made = context()
    place(made, "p", 0)
    assert answers(made, [], []).codes.tolist() == [0, 0, 0]
