"""One scheduling cycle: PreFilter, Filter on every node, PreScore, Score, NormalizeScore, and the sentence about a
failure.

Source: schedule_one.go (schedulePod, findNodesThatFitPod, prioritizeNodes), framework runtime (RunPreFilterPlugins,
RunFilterPluginsWithNominatedPods), framework types.go (FitError).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.scheduler.extender import Extender, ExtenderError
from kitlib.scheduler.framework.plugin import SKIP, Context, Plugin, Scores
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import SUCCESS, Code, Rows, Status, Verdicts
from kitlib.scheduler.profile import Profile

NO_NODES = Status(Code.UnschedulableAndUnresolvable, ("no nodes available to schedule pods",))
"""What an empty cluster says to every pod. Source: scheduler.ErrNoNodesAvailable."""
DIVIDED_BY_ZERO = "runtime error: integer divide by zero"
"""The panic of 1.30 where PreFilter leaves no node that exists."""
Nominated = Mapping[int, list[PodInfo]]
"""Row -> pods that are nominated to run there and do not stand there yet."""


@dataclass
class FilterOutcome:
    """What PreFilter and Filter said.

    Attributes:
        status: of PreFilter; other than success nothing follows.
        prefilter_node_names: nodes that PreFilter left, and the plugins that narrowed them; None = all.
        rows: that were filtered. codes: a `Code` for every row of the table.
        rejected_by: row -> index into `plugins`; -1 = nobody.
        plugins: names of the Filter plugins that ran. verdicts: plugin -> (rows asked about, answers).
        states: plugin -> what its PreFilter made; SKIP = left out.
        single: rows whose answer was found one by one, because pods are nominated there.
        sample: the only rows of those that go on to scoring, where a percentage of nodes is enough; None = all.
        evaluated: the only rows that were looked at, where the search ended before the last; None = all of `rows`.
        release: whose wording.
    """

    status: Status
    prefilter_node_names: tuple[frozenset[str], list[str]] | None
    rows: Rows
    codes: NDArray[np.uint8]
    rejected_by: NDArray[np.int32]
    plugins: list[str] = field(default_factory=list)
    verdicts: dict[str, tuple[Rows, Verdicts]] = field(default_factory=dict)
    states: dict[str, Any] = field(default_factory=dict)
    single: dict[int, list[Status]] = field(default_factory=dict)
    sample: Rows | None = None
    evaluated: Rows | None = None
    release: Release = field(default_factory=Release.latest)

    @property
    def feasible(self) -> Rows:
        """Rows that pass everything."""
        rows = self.rows if self.sample is None else self.sample
        return rows[self.codes[rows] == 0] if self.status.ok else rows[:0]

    def statuses(self, row: int) -> list[Status]:
        """Why a row was rejected: one answer, or several where the release asks every plugin. [] = it passes."""
        if row in self.single:
            return self.single[row]
        found = []
        for name in self.plugins:
            rows, verdicts = self.verdicts[name]
            place = int(np.searchsorted(rows, row))
            if place < len(rows) and rows[place] == row and verdicts.codes[place]:
                found.append(verdicts.status(place, name))
        return found

    @property
    def absent(self) -> Status | None:
        """What holds for nodes that PreFilter left out; None where it left out none."""
        if self.prefilter_node_names is None:
            return None
        reason = self.release.text("absent_nodes").format(plugins=" ".join(self.prefilter_node_names[1]))
        return Status(Code.UnschedulableAndUnresolvable, (reason,) if reason else ())


def run_pre_filter_plugins(profile: Profile, info: PodInfo, context: Context) -> FilterOutcome:
    """Ask every plugin once about the pod. Source: RunPreFilterPlugins."""
    size = len(context.snapshot)
    every = np.arange(size, dtype=np.int64)
    outcome = FilterOutcome(SUCCESS, None, every, np.zeros(size, np.uint8), np.full(size, -1, np.int32))
    outcome.release = context.release
    nodes: frozenset[str] | None = None
    narrowing: list[str] = []
    for plugin in profile.at("pre_filter"):
        found = plugin.pre_filter(info, context)
        if not found.status.ok:
            outcome.status = Status(found.status.code, found.status.reasons, plugin.name)
            if context.release.enabled("KitPreFilterRejectsEveryNode"):
                outcome.codes[:] = Code.UnschedulableAndUnresolvable
            else:  # no node has a status of its own, so that preemption tries all of them
                outcome.codes[:] = Code.Unschedulable
            return outcome
        outcome.states[plugin.name] = found.state
        if found.nodes is not None:
            nodes = found.nodes if nodes is None else nodes & found.nodes
            narrowing.append(plugin.name)
            if not nodes:
                reason = f"node(s) didn't satisfy plugin(s) {narrowing} simultaneously"
                outcome.status = Status(Code.UnschedulableAndUnresolvable, (reason,), plugin.name)
                return outcome
    if nodes is not None:
        outcome.prefilter_node_names = nodes, narrowing
        index = context.snapshot.index
        outcome.status = _missing_nodes(nodes, context)
        outcome.rows = np.array(sorted(index[name] for name in nodes if name in index), np.int64)
        outcome.codes[:] = Code.UnschedulableAndUnresolvable
        outcome.codes[outcome.rows] = 0
    return outcome


def _missing_nodes(nodes: frozenset[str], context: Context) -> Status:
    """What older releases do where PreFilter names nodes that do not exist. Source: findNodesThatFitPod."""
    missing = sorted(name for name in nodes if name not in context.snapshot.index)
    if missing and context.release.enabled("KitMissingNamedNodeFails"):
        return Status(Code.Error, (f'nodeinfo not found for node name "{missing[0]}"',))
    if len(missing) == len(nodes) and context.release.enabled("KitNoNamedNodePanics"):
        return Status(Code.Error, (DIVIDED_BY_ZERO,))
    return SUCCESS


def find_nodes_that_pass_filters(
    profile: Profile, info: PodInfo, context: Context, nominated: Nominated | None = None
) -> FilterOutcome:
    """PreFilter and Filter for all nodes.

    Args:
        profile: whose plugins. info: the pod. context: the cluster.
        nominated: pods that count as if they stood there, if they are at least as important.
    """
    if not len(context.snapshot):  # no plugin is asked. Source: schedule_one.go schedulePod
        none = np.zeros(0, np.int64)
        return FilterOutcome(NO_NODES, None, none, np.zeros(0, np.uint8), np.zeros(0, np.int32))
    outcome = run_pre_filter_plugins(profile, info, context)
    if not outcome.status.ok:
        return outcome
    info.states = outcome.states
    everybody = context.release.enabled("KitAllFiltersRun")
    rows = outcome.rows
    for plugin in filters(profile, outcome):
        if plugin.missing_state and plugin.name not in outcome.states:
            text = f'running "{plugin.name}" filter plugin: {plugin.missing_state}'
            outcome.status = Status(Code.Error, (text,), plugin.name)
            return outcome
        asked = outcome.rows if everybody else rows
        verdicts = plugin.filter(outcome.states.get(plugin.name), info, context, asked)
        number = len(outcome.plugins)
        outcome.plugins.append(plugin.name)
        outcome.verdicts[plugin.name] = asked, verdicts
        bad = verdicts.codes != 0
        if bad.any():
            broken = np.flatnonzero(verdicts.codes == Code.Error)
            if len(broken):  # not the node is at fault: the cycle ends. Source: findNodesThatPassFilters
                text = f'running "{plugin.name}" filter plugin: {verdicts.status(int(broken[0]), plugin.name).message}'
                outcome.status = Status(Code.Error, (text,), plugin.name)
                return outcome
            hit = asked[bad]
            first = outcome.codes[hit] == 0
            outcome.codes[hit] = np.where(
                first, verdicts.codes[bad], np.maximum(outcome.codes[hit], verdicts.codes[bad])
            )
            outcome.rejected_by[hit[first]] = number
            rows = rows[outcome.codes[rows] == 0]
    for row, pods in (nominated or {}).items():
        if row in outcome.rows and _important(pods, info):
            status = run_filter_plugins_with_nominated_pods(profile, info, context, row, outcome, nominated)
            outcome.codes[row] = status.code
            outcome.single[row] = [] if status.ok else [status]
            outcome.rejected_by[row] = outcome.plugins.index(status.plugin) if status.plugin in outcome.plugins else -1
    return outcome


def filters(profile: Profile, outcome: FilterOutcome) -> Iterable[Plugin]:
    """The Filter plugins that were not skipped."""
    return (plugin for plugin in profile.at("filter") if outcome.states.get(plugin.name) is not SKIP)


def _important(pods: Iterable[PodInfo], info: PodInfo) -> list[PodInfo]:
    return [other for other in pods if other.uid != info.uid and other.priority >= info.priority]


def run_filter_plugins_with_nominated_pods(
    profile: Profile,
    info: PodInfo,
    context: Context,
    row: int,
    outcome: FilterOutcome,
    nominated: Nominated | None = None,
) -> Status:
    """Whether the pod fits one node as it stands now, with and without the pods that are nominated there.

    Args:
        outcome: of this cycle's PreFilter: plugins that it skipped stay out.

    Source: RunFilterPluginsWithNominatedPods.
    """
    added = _important((nominated or {}).get(row, ()), info)
    if added:
        for other in added:
            context.snapshot.add(other, row)
        status = _fits_now(profile, info, context, row, outcome)
        for other in added:
            context.snapshot.remove(other)
        if not status.ok:
            return status
    return _fits_now(profile, info, context, row, outcome)


def _fits_now(profile: Profile, info: PodInfo, context: Context, row: int, outcome: FilterOutcome) -> Status:
    rows = np.array([row], np.int64)
    everybody = context.release.enabled("KitAllFiltersRun")
    rejections: list[Status] = []
    for plugin in filters(profile, outcome):
        found = plugin.pre_filter(info, context) if plugin.takes_part("pre_filter") else None
        if found is not None and (found.state is SKIP or not found.status.ok):
            continue
        verdicts = plugin.filter(found.state if found else None, info, context, rows)
        if verdicts.codes[0]:
            rejections.append(verdicts.status(0, plugin.name))
            if not everybody:
                break
    if len(rejections) > 1:  # Source: PluginToStatus.Merge
        reasons = tuple(reason for status in rejections for reason in status.reasons)
        return Status(max(status.code for status in rejections), reasons, rejections[0].plugin)
    return rejections[0] if rejections else SUCCESS


class ScoreError(KitError):
    """A Score plugin fails: the cycle ends. Source: RunScorePlugins.

    Args:
        plugin: which. problem: what it says.
    """

    def __init__(self, plugin: str, problem: str) -> None:
        super().__init__(f'running Score plugins: plugin "{plugin}" failed with: {problem}')
        self.status = Status(Code.Error, (str(self),), plugin)


@dataclass
class ScoreOutcome:
    """What the Score plugins said about the feasible rows.

    Attributes:
        rows: the feasible rows. raw, normalized: plugin -> column, in the order of `rows`. weights: plugin -> weight.
        total: the weighted sum.
    """

    rows: Rows
    raw: dict[str, Scores]
    normalized: dict[str, Scores]
    weights: dict[str, int]
    total: Scores

    @property
    def best(self) -> Rows:
        """The rows with the highest total."""
        return self.rows[self.total == self.total.max()] if len(self.rows) else self.rows


def prioritize_nodes(profile: Profile, info: PodInfo, context: Context, rows: Rows) -> ScoreOutcome:
    """PreScore, Score, NormalizeScore and the weighted sum. Source: prioritizeNodes, RunScorePlugins."""
    outcome = ScoreOutcome(rows, {}, {}, {}, np.zeros(len(rows), np.int64))
    prepared = {plugin.name for plugin in profile.at("pre_score")}
    for plugin in profile.at("score"):
        if plugin.name not in prepared and plugin.missing_score_state:
            raise ScoreError(plugin.name, plugin.missing_score_state)
        state = plugin.pre_score(info, context, rows)
        if state is SKIP:
            continue
        raw = plugin.score(state, info, context, rows)
        scaled = plugin.normalize(state, raw)
        weight = profile.weights[plugin.name]
        outcome.raw[plugin.name], outcome.normalized[plugin.name] = raw, scaled
        outcome.weights[plugin.name] = weight
        outcome.total += scaled * weight
    return outcome


MIN_FEASIBLE = 100
"""At least so many nodes are looked for, whatever the percentage. Source: minFeasibleNodesToFind."""


MIN_PERCENTAGE = 5
"""The adaptive percentage is never below this. Source: minFeasibleNodesPercentageToFind."""


def num_feasible_nodes_to_find(percentage: int | None, size: int) -> int:
    """How many feasible nodes are enough.

    Args:
        percentage: `percentageOfNodesToScore`: 0 = adaptive, the fewer the larger the cluster; None = all.
        size: nodes in question.
    """
    if percentage is None or size < MIN_FEASIBLE:
        return size
    if percentage == 0:
        percentage = max(50 - size // 125, MIN_PERCENTAGE)
    return max(size * percentage // 100, MIN_FEASIBLE)


def take_sample(percentage: int | None, outcome: FilterOutcome, start: int, order: Rows) -> int:
    """End the search where enough nodes are feasible: zone by zone in turn, beginning at `start` and going round.

    Args:
        percentage: `percentageOfNodesToScore`. outcome: of Filter; gets the sample.
        start: place in the order of the search. order: all rows in that order.

    Returns:
        How many nodes were looked at; the next cycle begins after them.

    Source: schedule_one.go findNodesThatPassFilters.
    """
    size = len(outcome.rows)
    wanted = num_feasible_nodes_to_find(percentage, size)
    if wanted >= size or not outcome.status.ok:
        return size
    listed = order if size == len(order) else order[np.isin(order, outcome.rows)]
    turned = np.roll(listed, -(start % size))
    passing = np.flatnonzero(outcome.codes[turned] == 0)
    if len(passing) <= wanted:
        return size
    evaluated = int(passing[wanted])  # it ends when it meets one more than it needs
    outcome.sample = np.sort(turned[passing[:wanted]])
    outcome.evaluated = np.sort(turned[:evaluated])
    return evaluated


EXTENDERS = "extenders"
"""Under this name stand what extenders answered, beside the plugins' names."""


def find_nodes_that_pass_extenders(
    extenders: Sequence[Extender], info: PodInfo, context: Context, outcome: FilterOutcome
) -> None:
    """Let extenders reject nodes that the plugins left. Source: findNodesThatPassExtenders.

    Raises:
        ExtenderError: one fails that is not ignorable.
    """
    for number, extender in enumerate(extenders):
        rows = outcome.feasible
        if not len(rows) or not extender.is_interested(info.pod):
            continue
        try:
            answer = extender.filter(info.pod, [context.snapshot.nodes[row] for row in rows])
        except ExtenderError:
            if extender.ignorable:
                continue
            raise
        verdicts, left = Verdicts.passing(len(rows)), set(answer.nodes)
        for place, row in enumerate(rows):
            name = context.snapshot.names[row]
            if name not in left:
                code = Code.UnschedulableAndUnresolvable if name in answer.unresolvable else Code.Unschedulable
                reason = answer.unresolvable.get(name) or answer.failed.get(name) or "rejected by an extender"
                verdicts.reject_row(place, code, (reason,))
        plugin = EXTENDERS if not number else f"{EXTENDERS}-{number + 1}"
        outcome.plugins.append(plugin)
        outcome.verdicts[plugin] = rows, verdicts
        outcome.codes[rows] = verdicts.codes
        outcome.rejected_by[rows[verdicts.codes != 0]] = len(outcome.plugins) - 1


def add_extender_scores(extenders: Sequence[Extender], info: PodInfo, context: Context, outcome: ScoreOutcome) -> None:
    """Add extenders' scores to the total. An extender that fails adds nothing. Source: prioritizeNodes."""
    for number, extender in enumerate(extenders):
        if not extender.prioritize_verb or not extender.is_interested(info.pod):
            continue
        try:
            found = extender.prioritize(info.pod, [context.snapshot.nodes[row] for row in outcome.rows])
        except ExtenderError:
            continue
        column = np.array([found.get(context.snapshot.names[row], 0) for row in outcome.rows], np.int64)
        name = EXTENDERS if not number else f"{EXTENDERS}-{number + 1}"
        outcome.raw[name] = outcome.normalized[name] = column
        outcome.weights[name] = 1
        outcome.total = outcome.total + column


def fit_error(nodes: int, reasons: Mapping[str, int], release: Release, pre_filter: str = "") -> str:
    """`0/5 nodes are available: 3 Insufficient cpu, 2 node(s) were unschedulable.` Source: FitError.Error.

    Args:
        nodes: how many there are. reasons: reason -> nodes that have it.
        release: whose wording. pre_filter: what PreFilter said, where it rejected the pod.
    """
    if pre_filter:
        return release.text("pre_filter_error").format(nodes=nodes, reason=pre_filter)
    listed = sorted(f"{count} {reason}" for reason, count in reasons.items())
    if not listed:
        return release.text("no_reasons").format(nodes=nodes)
    return f"0/{nodes} nodes are available: {', '.join(listed)}."


def count_reasons(outcome: FilterOutcome, size: int, release: Release) -> Counter[str]:
    """Reason -> how many nodes have it."""
    counts: Counter[str] = Counter()
    for row in outcome.rows:
        if outcome.codes[row]:
            for status in outcome.statuses(int(row)):
                counts.update(status.reasons)
    absent = outcome.absent
    if absent is not None and absent.reasons and len(outcome.rows) < size:
        counts[absent.reasons[0]] += size - len(outcome.rows)
    return counts
