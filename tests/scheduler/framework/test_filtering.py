"""PreFilter and Filter over all nodes: who is asked about which node, and how answers are combined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kitlib.api.container import ContainerPort
from kitlib.api.release import Release
from kitlib.scheduler.framework.filter_outcome import FilterOutcome
from kitlib.scheduler.framework.filtering import (
    NO_NODES,
    find_nodes_that_pass_filters,
    run_filter_plugins_with_nominated_pods,
    run_pre_filter_plugins,
)
from kitlib.scheduler.framework.plugin import SKIP, Context, Plugin, PreFilterResult
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.framework.status import SUCCESS, Code, Status, Verdicts
from tests.scheduler.builders import node, pod

NO, NEVER = int(Code.Unschedulable), int(Code.UnschedulableAndUnresolvable)


class Fixed(Plugin):
    """A plugin with fixed answers: the code of its Filter by row; `asked` are the rows of each call."""

    def __init__(self, name: str, codes: dict[int, Code] | None = None, before: PreFilterResult | None = None) -> None:
        super().__init__()
        self.name, self.codes, self.before = name, codes or {}, before
        self.asked: list[list[int]] = []

    def takes_part(self, point: str) -> bool:
        return point == "filter" or (point == "pre_filter" and self.before is not None)

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        assert self.before is not None
        return self.before

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Any) -> Verdicts:
        self.asked.append(rows.tolist())
        found = Verdicts.passing(len(rows))
        for place, row in enumerate(rows.tolist()):
            if row in self.codes:
                found.reject_row(place, self.codes[row], (f"{self.name} at {row}",))
        return found


class Handle:
    def __init__(self, *plugins: Plugin) -> None:
        self.plugins, self.weights = plugins, dict[str, int]()

    def at(self, point: str) -> list[Plugin]:
        return [plugin for plugin in self.plugins if plugin.takes_part(point)]


def context(nodes: str = "abc", release: str | Release = "1.36") -> Context:
    return Context(Snapshot([node(name) for name in nodes]), Release(release) if isinstance(release, str) else release)


def run(*plugins: Plugin, made: Context | None = None, nominated: Any = None) -> FilterOutcome:
    return find_nodes_that_pass_filters(Handle(*plugins), PodInfo(pod("p")), made or context(), nominated)


def only(*names: str, state: Any = None) -> PreFilterResult:
    return PreFilterResult(state, nodes=frozenset(names))


def test_without_nodes_no_plugin_is_asked() -> None:
    plugin = Fixed("A", before=PreFilterResult(status=Status(Code.Error)))
    outcome = run(plugin, made=context(""))
    assert outcome.status == NO_NODES and plugin.asked == [] and outcome.feasible.tolist() == []


def test_later_filters_are_asked_about_the_rows_that_passed() -> None:
    first, second = (
        Fixed("A", {0: Code.Unschedulable}),
        Fixed("B", {0: Code.Unschedulable, 2: Code.UnschedulableAndUnresolvable}),
    )
    outcome = run(first, second)
    assert (first.asked, second.asked) == ([[0, 1, 2]], [[1, 2]])
    assert outcome.codes.tolist() == [NO, 0, NEVER]
    assert outcome.rejected_by.tolist() == [0, -1, 1]
    assert outcome.feasible.tolist() == [1]
    assert outcome.plugins == ["A", "B"]


def test_releases_that_run_all_filters_keep_the_most_severe_code() -> None:
    """Source: PluginToStatus.Merge."""
    every = Release("1.36").with_gates({"KitAllFiltersRun": True})
    first, second = Fixed("A", {0: Code.Unschedulable}), Fixed("B", {0: Code.UnschedulableAndUnresolvable})
    outcome = run(first, second, made=context(release=every))
    assert second.asked == [[0, 1, 2]]
    assert outcome.codes.tolist() == [NEVER, 0, 0] and outcome.rejected_by.tolist() == [0, -1, -1]


def test_an_error_of_a_filter_ends_the_cycle() -> None:
    later = Fixed("B")
    outcome = run(Fixed("A", {1: Code.Error}), later)
    assert outcome.status == Status(Code.Error, ('running "A" filter plugin: A at 1',), "A")
    assert later.asked == [] and outcome.feasible.tolist() == []


def test_a_filter_that_prefilter_skips_is_not_asked() -> None:
    skipped, other = Fixed("A", {0: Code.Unschedulable}, PreFilterResult(SKIP)), Fixed("B")
    outcome = run(skipped, other)
    assert skipped.asked == [] and outcome.plugins == ["B"] and outcome.feasible.tolist() == [0, 1, 2]


@pytest.mark.parametrize(("gate", "code"), [(True, NEVER), (False, NO)])
def test_a_final_rejection_by_prefilter_holds_for_every_node_and_ends_the_questions(gate: bool, code: int) -> None:
    release = Release("1.36").with_gates({"KitPreFilterRejectsEveryNode": gate})
    never = Status(Code.UnschedulableAndUnresolvable, ("no",), "other")
    later = Fixed("B", before=PreFilterResult())
    outcome = run(Fixed("A", before=PreFilterResult(status=never)), later, made=context(release=release))
    assert outcome.status == Status(Code.UnschedulableAndUnresolvable, ("no",), "A")
    assert outcome.codes.tolist() == [code] * 3 and "B" not in outcome.states and later.asked == []


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (PreFilterResult(), Status(Code.Unschedulable, ("no",), "A")),
        (PreFilterResult(SKIP), Status(Code.Unschedulable, ("no",), "A")),
        (only("b"), Status(Code.Unschedulable, ("no",), "A")),
        (PreFilterResult(status=Status(Code.Unschedulable, ("nor I",))), Status(Code.Unschedulable, ("nor I",), "B")),
        (
            PreFilterResult(status=Status(Code.UnschedulableAndUnresolvable, ("never",))),
            Status(Code.UnschedulableAndUnresolvable, ("never",), "B"),
        ),
        (only(), Status(Code.UnschedulableAndUnresolvable, ("node(s) didn't satisfy plugin B",), "B")),
    ],
)
def test_after_a_rejection_that_preemption_may_help_the_other_plugins_are_asked(
    second: PreFilterResult, expected: Status
) -> None:
    """Source: RunPreFilterPlugins; the later rejection counts."""
    later = Fixed("B", before=second)
    outcome = run(Fixed("A", before=PreFilterResult(status=Status(Code.Unschedulable, ("no",)))), later)
    assert outcome.status == expected and outcome.codes.tolist() == [expected.code] * 3
    assert later.asked == [] and outcome.feasible.tolist() == []


@pytest.mark.parametrize("code", [Code.Error, Code.Wait, Code.Pending])
def test_another_answer_of_prefilter_is_an_error(code: Code) -> None:
    outcome = run(Fixed("A", before=PreFilterResult(status=Status(code, ("disk", "full")))))
    assert outcome.status == Status(Code.Error, ('running PreFilter plugin "A": disk, full',), "A")


def test_prefilter_restricts_the_nodes_to_those_that_every_plugin_names() -> None:
    first, second = Fixed("A", before=only("a", "b", state=1)), Fixed("B", before=only("b", "c", state=2))
    other = Fixed("C", before=PreFilterResult(3))
    outcome = run(first, second, other)
    assert outcome.prefilter_node_names == (frozenset("b"), ["A", "B"])
    assert outcome.rows.tolist() == [1] and outcome.codes.tolist() == [NEVER, 0, NEVER]
    assert outcome.states == {"A": 1, "B": 2, "C": 3}
    assert first.asked == [[1]]


def test_plugins_that_name_no_node_together_reject_the_pod() -> None:
    outcome = run(Fixed("B", before=only("b")), Fixed("A", before=only("a")), Fixed("C", before=only("c")))
    reason = "node(s) didn't satisfy plugin(s) [A B] simultaneously"
    assert outcome.status.code is Code.UnschedulableAndUnresolvable and outcome.status.plugin == "A"
    assert outcome.status.reasons == (reason,)


def test_named_nodes_that_do_not_exist_are_left_out_or_are_errors_of_older_releases() -> None:
    def outcome(*names: str, **gates: bool) -> FilterOutcome:
        off = {"KitMissingNamedNodeFails": False, "KitNoNamedNodePanics": False}
        made = context(release=Release("1.36").with_gates({**off, **gates}))
        return run_pre_filter_plugins(Handle(Fixed("A", before=only(*names))), PodInfo(pod("p")), made)

    assert outcome("b", "x").rows.tolist() == [1] and outcome("b", "x").status.ok
    assert outcome("x").rows.tolist() == [] and outcome("x").status.ok
    missing = 'nodeinfo not found for node name "x"'
    assert outcome("b", "y", "x", KitMissingNamedNodeFails=True).status == Status(Code.Error, (missing,))
    panic = Status(Code.Error, ("runtime error: integer divide by zero",))
    assert outcome("x", KitNoNamedNodePanics=True).status == panic
    assert outcome("x", "b", KitNoNamedNodePanics=True).status == SUCCESS


def test_a_plugin_that_is_disabled_at_prefilter_makes_its_state_before_filter_or_fails() -> None:
    class NoPreFilter(Handle):
        def at(self, point: str) -> list[Plugin]:
            return [] if point == "pre_filter" else super().at(point)

    late, skipped = Fixed("A", before=PreFilterResult("state")), Fixed("B", before=PreFilterResult(SKIP))
    outcome = find_nodes_that_pass_filters(NoPreFilter(late, skipped), PodInfo(pod("p")), context())
    assert outcome.states == {"A": "state", "B": SKIP} and skipped.asked == []

    class Needs(Fixed):
        missing_state = "no state"

    outcome = find_nodes_that_pass_filters(
        NoPreFilter(Needs("A", before=PreFilterResult())), PodInfo(pod("p")), context()
    )
    assert outcome.status == Status(Code.Error, ('running "A" filter plugin: no state',), "A")


class Crowd(Plugin):
    """Rejects a row with exactly `bad` pods."""

    name = "Crowd"

    def __init__(self, *bad: int) -> None:
        super().__init__()
        self.bad = bad

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Any) -> Verdicts:
        found = Verdicts.passing(len(rows))
        for place, row in enumerate(rows.tolist()):
            if len(context.snapshot.pods[row]) in self.bad:
                found.reject_row(place, Code.Unschedulable, (f"{len(context.snapshot.pods[row])} pods",))
        return found


@pytest.mark.parametrize(
    ("bad", "passes"),
    [((), True), ((1,), False), ((2,), False), ((3,), True)],
    ids=["free", "without", "with", "other"],
)
def test_the_pod_must_fit_with_and_without_the_nominated_pods(bad: tuple[int, ...], passes: bool) -> None:
    """Source: RunFilterPluginsWithNominatedPods."""
    made = context("ab")
    made.snapshot.add(PodInfo(pod("runs", on="a")))
    nominated = {0: [PodInfo(pod("waits", priority=0)), PodInfo(pod("low", priority=-1)), PodInfo(pod("p"))]}
    outcome = run(Crowd(*bad), made=made, nominated=nominated)
    assert (outcome.codes.item(0) == 0) is passes
    assert outcome.single == ({0: []} if passes else {0: [Status(Code.Unschedulable, (f"{bad[0]} pods",), "Crowd")]})
    assert outcome.rejected_by.tolist() == [-1 if passes else 0, -1]
    assert list(made.snapshot.pods[0]) == ["runs"] and made.snapshot.pod_count.tolist() == [1, 0]


def test_nominated_pods_of_lower_priority_and_of_other_rows_do_not_count() -> None:
    made = context("ab")
    outcome = run(Crowd(1), made=made, nominated={0: [PodInfo(pod("low", priority=-1))], 1: [PodInfo(pod("p"))]})
    assert outcome.single == {} and outcome.feasible.tolist() == [0, 1]
    named = run(Crowd(1), Fixed("A", before=only("b")), made=made, nominated={0: [PodInfo(pod("q", priority=1))]})
    assert named.single == {} and named.feasible.tolist() == [1]


def test_the_ports_of_a_node_are_as_before_the_trial() -> None:
    made = context("a")
    one, other = pod("one", on="a"), pod("other")
    for each in (one, other):
        each.spec.containers[0].ports = [ContainerPort(container_port=80, host_port=80)]
    made.snapshot.add(PodInfo(one))
    before = set(made.snapshot.ports[0])
    run(Crowd(), made=made, nominated={0: [PodInfo(other)]})
    assert before and made.snapshot.ports[0] == before


@pytest.mark.parametrize(("everybody", "reasons"), [(True, ("A at 0", "B at 0")), (False, ("A at 0",))])
def test_several_rejections_of_one_node_are_merged(everybody: bool, reasons: tuple[str, ...]) -> None:
    made = context(release=Release("1.36").with_gates({"KitAllFiltersRun": everybody}))
    handle = Handle(Fixed("A", {0: Code.Unschedulable}), Fixed("B", {0: Code.UnschedulableAndUnresolvable}))
    rows = np.arange(3)
    outcome = FilterOutcome(SUCCESS, None, rows, np.zeros(3, np.uint8), np.full(3, -1, np.int32))
    found = run_filter_plugins_with_nominated_pods(handle, PodInfo(pod("p")), made, 0, outcome)
    assert found == Status(Code.UnschedulableAndUnresolvable if everybody else Code.Unschedulable, reasons, "A")
    assert run_filter_plugins_with_nominated_pods(handle, PodInfo(pod("p")), made, 1, outcome) == SUCCESS
