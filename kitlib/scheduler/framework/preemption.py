"""Preemption: the victims on each node, the node with the lowest cost, and the reasons if nothing helps.

On every node on which preemption may help, all pods of lower priority are removed on trial. If the pod then fits, they
are reprieved (added back) one by one, the most important first, as long as the pod still fits; the others are the
victims. Pods whose disruption budget would be violated are reprieved before others.

Source: framework/preemption (Evaluator.Preempt, DryRunPreemption, SelectCandidate, pickOneNodeForPreemption),
plugins/defaultpreemption (SelectVictimsOnNode, PodEligibleToPreemptOthers), util.MoreImportantPod.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

import numpy as np

from kitlib.api.core import Pod
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.scheduler.framework.candidate_search import CandidateSearch, SelectVictims
from kitlib.scheduler.framework.filter_outcome import FilterOutcome
from kitlib.scheduler.framework.filtering import run_filter_plugins_with_nominated_pods
from kitlib.scheduler.framework.fit_error import fit_error
from kitlib.scheduler.framework.plugin import Context, FailedCycle, Handle
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.post_filter import NOOP, Candidate, PostFilterResult
from kitlib.scheduler.framework.status import Code, Status

NOT_HELPFUL = "Preemption is not helpful for scheduling"
_NOW = datetime(9999, 1, 1, tzinfo=UTC)


def preempt(
    cycle: FailedCycle,
    info: PodInfo,
    context: Context,
    enough: int,
    select: SelectVictims | None = None,
    search: CandidateSearch | None = None,
) -> PostFilterResult:
    """Look for victims after a failed cycle.

    A node on which no pod would have to leave is an error, not a candidate.

    Args:
        cycle: the failed cycle.
        info: the pod.
        context: the cluster.
        enough: the number of candidates that ends the search if one of them violates no budget.
        select: the function that selects the victims on a node; None = `select_victims_on_node` with a `PluginDryRun`.
        search: the search for equal pods before this one, with an equal `select`; None = a new search.

    Source: Evaluator.Preempt, DryRunPreemption.
    """
    outcome, snapshot = cycle.filters, context.snapshot
    refusal = pod_eligible_to_preempt_others(info, context, outcome)
    if refusal is not None:
        return PostFilterResult(Code.Unschedulable, _message(context, refusal), nominating_mode=NOOP)
    if not outcome.status.ok and not context.release.enabled("KitPreFilterRejectsEveryNode"):
        return _after_pre_filter(cycle.handle, info, context, outcome)
    # removing pods does not help on nodes that are UnschedulableAndUnresolvable. Source: findCandidates
    promising = outcome.rows[outcome.codes[outcome.rows] == Code.Unschedulable]
    if outcome.prefilter_node_names is not None and not context.release.enabled("KitAbsentNodesHaveStatus"):
        # nodes that PreFilter left out had no status then, which counted as Unschedulable
        absent = np.setdiff1d(np.arange(len(snapshot)), outcome.rows)
        promising = np.union1d(promising, absent)

    def by_plugins(row: int) -> Candidate | Status:
        with PluginDryRun(cycle, info, context, row) as dry_run:
            return select_victims_on_node(info, context, row, dry_run)

    found = (search or CandidateSearch()).run(promising, enough, select or by_plugins, snapshot)
    if found.candidates:
        return PostFilterResult(Code.Success, "", found.candidates, found.best)
    if found.errors:
        text = found.errors[0] if len(found.errors) == 1 else f"[{', '.join(found.errors)}]"
        return PostFilterResult(Code.Error, _message(context, text))
    statuses = Counter({NOT_HELPFUL: len(snapshot) - len(promising)}) + found.reasons
    text = fit_error(len(snapshot), statuses, context.release)
    return PostFilterResult(Code.Unschedulable, _message(context, text))


def _message(context: Context, text: str) -> str:
    if not text:
        return ""
    return context.release.text("post_filter").format(message=text)


def pod_eligible_to_preempt_others(info: PodInfo, context: Context, outcome: FilterOutcome) -> str | None:
    """Return why the pod may not preempt; None = it may.

    A pod waits for the victims of an earlier cycle that are still terminating on its nominated node.

    Source: PodEligibleToPreemptOthers, podTerminatingByPreemption.
    """
    if info.pod.spec.preemption_policy == "Never":
        return context.release.text("preemption_never")
    row = context.snapshot.index.get(info.pod.status.nominated_node_name, -1)
    # the pod cannot run on its nominated node any longer, so it may preempt on another one
    if row < 0 or outcome.codes[row] == Code.UnschedulableAndUnresolvable:
        return None
    leaving = (o for o in context.snapshot.pods[row].values() if o.priority < info.priority)
    waits = any(_leaves_by_preemption(o, context) for o in leaving)
    return context.release.text("preemption_terminating") if waits else None


def _leaves_by_preemption(info: PodInfo, context: Context) -> bool:
    rules = context.release
    # in other releases every terminating pod of lower priority counts, also one that a user has deleted
    asked = rules.enabled("PodDisruptionConditions") and rules.enabled("KitWaitsForPreemptedOnly")
    if not info.terminating or not asked:
        return info.terminating
    return any(
        c.type == "DisruptionTarget" and c.status == "True" and c.reason == "PreemptionByScheduler"
        for c in info.pod.status.conditions
    )


class DryRun(Protocol):
    """One node in the dry run of preemption: pods of lower priority are removed, then added back one by one.

    `PluginDryRun` is the definition. `RequestsDryRun` gives the same answers at lower cost for some sets of filters.
    """

    def remove_pods(self, pods: Sequence[PodInfo]) -> Status:
        """Remove pods from the node and return whether the preempting pod fits then."""

    def reprieve_pod(self, pod: PodInfo) -> bool:
        """Add a removed pod back, if the preempting pod still fits with it; return whether it stays."""


class PluginDryRun:
    """A dry run that asks the Filter plugins; inside `with` the snapshot is changed, afterwards it is as before.

    Args:
        cycle: the failed cycle with the states of its PreFilter plugins.
        info: the preempting pod.
        context: the cluster.
        row: the node.

    Source: SelectVictimsOnNode (addPod, removePod, reprievePod).
    """

    def __init__(self, cycle: FailedCycle, info: PodInfo, context: Context, row: int) -> None:
        self._cycle, self._info, self._context, self._row = cycle, info, context, row
        self._removed: list[PodInfo] = []

    def __enter__(self) -> PluginDryRun:
        table, row = self._context.snapshot, self._row
        self._order, self._ports = list(table.pods[row].values()), set(table.ports[row])
        self._context.removed = self._removed  # the same list, so that plugins see removals and reprieves
        return self

    def __exit__(self, *_: object) -> None:
        table, row = self._context.snapshot, self._row
        self._context.removed = ()
        # all pods are removed and added again, so that their order on the row is the old one
        for other in list(table.pods[row].values()):
            table.remove(other)
        for other in self._order:
            table.add(other, row)
        # removing a pod frees its ports even if another pod of the node uses them
        table.ports[row] = self._ports

    def _status(self) -> Status:
        cycle = self._cycle
        return run_filter_plugins_with_nominated_pods(
            cycle.handle, self._info, self._context, self._row, cycle.filters, cycle.nominated
        )

    def remove_pods(self, pods: Sequence[PodInfo]) -> Status:
        self._removed.extend(pods)
        for other in pods:
            self._context.snapshot.remove(other)
        return self._status()

    def reprieve_pod(self, pod: PodInfo) -> bool:
        self._context.snapshot.add(pod, self._row)
        self._removed.remove(pod)
        if self._status().ok:
            return True
        self._context.snapshot.remove(pod)
        self._removed.append(pod)
        return False


def select_victims_on_node(info: PodInfo, context: Context, row: int, dry_run: DryRun) -> Candidate | Status:
    """Return the victims on one node, or why it has none.

    Args:
        info: the preempting pod.
        context: the cluster.
        row: the node.
        dry_run: the dry run on this node, with all its pods.

    Source: SelectVictimsOnNode.
    """
    table = context.snapshot
    lower = [other for other in table.pods[row].values() if other.priority < info.priority]
    if not lower:
        reason = context.release.text("no_victims").format(node=table.names[row], pod=info.pod.name)
        return Status(Code.UnschedulableAndUnresolvable, (reason,))
    # a pod that does not fit without all of them has no victims here; the filter's reason is the node's
    status = dry_run.remove_pods(lower)
    if not status.ok:
        return status
    violating, others = filter_pods_with_pdb_violation(sorted(lower, key=importance), context.budgets)
    # pods whose budget would be violated are reprieved first; in each group the most important ones
    violated = [other for other in violating if not dry_run.reprieve_pod(other)]
    victims = violated + [other for other in others if not dry_run.reprieve_pod(other)]
    return Candidate(row, table.names[row], in_order(victims, context), len(violated))


def in_order(victims: Sequence[PodInfo], context: Context) -> tuple[PodInfo, ...]:
    """Return the victims, the most important first; in older releases victims with a violated budget come first."""
    again = context.release.enabled("KitVictimsSortedAgain")
    return tuple(sorted(victims, key=importance) if again else victims)


def _after_pre_filter(handle: Handle, info: PodInfo, context: Context, outcome: FilterOutcome) -> PostFilterResult:
    """Return the answer of 1.26 and 1.27 after a rejection by PreFilter.

    They try every node, but plugins after the one that rejected the pod have no state that a removal could update.

    Source: Evaluator.findCandidates, RunPreFilterExtensionRemovePod.
    """
    snapshot = context.snapshot
    lower = [any(other.priority < info.priority for other in row.values()) for row in snapshot.pods]
    following = [p for p in handle.at("pre_filter") if p.missing_state and p.follows_pods(context.release)]
    lost = next((plugin for plugin in following if plugin.name not in outcome.states), None)
    if lost is not None and any(lower):
        text = f'running RemovePod on PreFilter plugin "{lost.name}": {lost.missing_state}'
        return PostFilterResult(Code.Error, _message(context, text))
    counts: Counter[str] = Counter()
    for row, name in enumerate(snapshot.names):
        if lower[row]:
            counts[NOT_HELPFUL] += 1
        else:
            counts[context.release.text("no_victims").format(node=name, pod=info.pod.name)] += 1
    text = fit_error(len(snapshot), counts, context.release)
    return PostFilterResult(Code.Unschedulable, _message(context, text))


def importance(info: PodInfo) -> tuple[int, datetime]:
    """Return a sort key: higher priority first, then the earlier start. Source: util.MoreImportantPod."""
    return -info.priority, info.pod.status.start_time or _NOW


def filter_pods_with_pdb_violation(
    pods: Sequence[PodInfo], budgets: Sequence[PodDisruptionBudget]
) -> tuple[list[PodInfo], list[PodInfo]]:
    """Split pods into those whose removal would violate a budget and the others.

    Source: filterPodsWithPDBViolation.
    """
    allowed = [budget.status.disruptions_allowed for budget in budgets]
    selectors = [LabelSelectorMatcher(budget.spec.selector) for budget in budgets]
    violating: list[PodInfo] = []
    others: list[PodInfo] = []
    for info in pods:
        violates = False
        if info.pod.metadata.labels:  # no budget covers a pod without labels
            for i, budget in enumerate(budgets):
                if not _covers(budget, selectors[i], info.pod):
                    continue
                # every covered pod counts, also one that violates another budget
                allowed[i] -= 1
                violates = violates or allowed[i] < 0
        (violating if violates else others).append(info)
    return violating, others


def _covers(budget: PodDisruptionBudget, selector: LabelSelectorMatcher, pod: Pod) -> bool:
    """Return whether a budget covers a pod: an empty selector covers none, and `disruptedPods` are already counted."""
    if budget.namespace != pod.namespace or selector.everything or not selector.matches(pod.metadata.labels):
        return False
    return pod.name not in budget.status.disrupted_pods


def pick_one_node_for_preemption(candidates: list[Candidate]) -> list[str]:
    """Return the names of the best nodes, which are equally good.

    The criteria, in their order: fewest violations, lowest priority of the first victim, smallest sum of priorities,
    fewest victims, latest start of the most important victims.

    Source: pickOneNodeForPreemption.
    """
    least = min(candidate.cost for candidate in candidates)
    return [candidate.node for candidate in candidates if candidate.cost == least]
