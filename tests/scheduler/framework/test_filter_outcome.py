"""The results of Filter: which rows pass, and why others do not."""

from __future__ import annotations

import numpy as np

from kitlib.api.release import Release
from kitlib.scheduler.framework.filter_outcome import FilterOutcome
from kitlib.scheduler.framework.status import SUCCESS, Code, Status, Verdicts

NO, NEVER = int(Code.Unschedulable), int(Code.UnschedulableAndUnresolvable)


def verdicts(*answers: tuple[str, ...] | None) -> Verdicts:
    """Return a verdict for each answer: reasons of a rejection, None = it passes."""
    made = Verdicts.passing(len(answers))
    for place, reasons in enumerate(answers):
        if reasons is not None:
            made.reject_row(place, Code.Unschedulable, reasons)
    return made


def outcome() -> FilterOutcome:
    """Four nodes: row 1 lacks both resources, row 2 fails at A, row 3 at B, which is not asked about row 2."""
    made = FilterOutcome(
        SUCCESS, None, np.arange(4), np.array([0, NO, NO, NO], np.uint8), np.array([-1, 0, 0, 1], np.int32)
    )
    made.plugins = ["A", "B"]
    made.verdicts = {
        "A": (np.arange(4), verdicts(None, ("cpu", "memory"), ("cpu",), None)),
        "B": (np.array([0, 1, 3]), verdicts(None, ("label",), ("label",))),
    }
    return made


def test_feasible_rows_pass_every_filter_and_are_in_the_sample() -> None:
    made = outcome()
    assert made.feasible.tolist() == [0]
    made.codes[:] = 0
    assert made.feasible.tolist() == [0, 1, 2, 3]
    made.rows = np.array([1, 3])
    assert made.feasible.tolist() == [1, 3]
    made.sample = np.array([3, 0])
    assert made.feasible.tolist() == [3, 0]
    made.status = Status(Code.Error)
    assert made.feasible.tolist() == []


def test_a_row_has_the_rejections_of_the_plugins_that_were_asked_about_it() -> None:
    made = outcome()
    assert made.statuses(0) == []
    assert made.statuses(1) == [
        Status(Code.Unschedulable, ("cpu", "memory"), "A"),
        Status(Code.Unschedulable, ("label",), "B"),
    ]
    assert made.statuses(2) == [Status(Code.Unschedulable, ("cpu",), "A")]
    assert made.statuses(3) == [Status(Code.Unschedulable, ("label",), "B")]
    alone = [Status(Code.UnschedulableAndUnresolvable, ("port",), "C")]
    made.single = {0: alone}
    assert made.statuses(0) == alone


def test_rejections_are_counted_by_plugin_and_reasons() -> None:
    made = outcome()
    assert list(made.rejections()) == [("A", ("cpu", "memory"), 1), ("A", ("cpu",), 1), ("B", ("label",), 2)]


def test_a_row_with_nominated_pods_counts_with_its_own_answers_only() -> None:
    made = outcome()
    made.single = {
        1: [Status(Code.Unschedulable, ("cpu",), "A"), Status(Code.Unschedulable, ("ports",), "C")],
        2: [Status(Code.Unschedulable, ("ports",), "C")],
    }
    made.codes[2] = 0  # it passes in the end
    assert list(made.rejections()) == [("B", ("label",), 1), ("A", ("cpu",), 1), ("C", ("ports",), 1)]


def test_nodes_that_prefilter_left_out_have_a_status_of_their_own() -> None:
    made = outcome()
    assert made.absent is None
    made.prefilter_node_names = frozenset({"a"}), ["NodeAffinity", "Own"]
    for release, reasons in (
        ("1.29", ()),
        ("1.30", ("node is filtered out by the prefilter result",)),
        ("1.36", ("node(s) didn't satisfy plugin(s) [NodeAffinity Own]",)),
    ):
        made.release = Release(release)
        assert made.absent == Status(Code.UnschedulableAndUnresolvable, reasons)
