"""DefaultPreemption: which less important pods would have to go, on which node it costs least, and why nothing helps.

On every node where it might help all less important pods are taken away; if the pod then fits, they are brought back
one by one, the most important first, as long as it still fits: those that cannot come back are the victims. Pods
whose disruption budget would be violated are brought back before others.

Source: plugins/defaultpreemption, framework/preemption (DryRunPreemption, SelectCandidate, pickOneNodeForPreemption),
util.MoreImportantPod.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property

import numpy as np

from kitlib.api.core import Pod
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.scheduler.cycle import FilterOutcome, Nominated, filters, fit_error, run_filter_plugins_with_nominated_pods
from kitlib.scheduler.framework.plugin import Context
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Code, Status
from kitlib.scheduler.plugins.default_preemption import DefaultPreemption
from kitlib.scheduler.plugins.node_resources_fit import TOO_MANY_PODS
from kitlib.scheduler.profile import Profile

NOT_HELPFUL = "Preemption is not helpful for scheduling"
MAX_INT32 = 2**31 - 1
_NOW = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Candidate:
    """A node that preemption could use.

    Attributes:
        row, node: which. victims: who would have to go, the most important first.
        violations: victims whose disruption budget would be violated.
    """

    row: int
    node: str
    victims: tuple[PodInfo, ...]
    violations: int

    @cached_property
    def cost(self) -> tuple[float, ...]:
        """What it would cost; the candidate with the smallest is chosen. Source: pickOneNodeForPreemption."""
        return (
            self.violations,
            self.victims[0].priority,
            sum(v.priority + MAX_INT32 + 1 for v in self.victims),
            len(self.victims),
            -_earliest_start(self.victims).timestamp(),
        )


@dataclass
class Preemption:
    """What PostFilter found.

    Attributes:
        code: Success = somebody can go. message: why not.
        candidates: node -> candidate. best: the nodes of equal merit, of which the first is taken.
        eligible: whether the pod may preempt at all.
    """

    code: Code
    message: str = ""
    candidates: dict[str, Candidate] = field(default_factory=dict)
    best: list[str] = field(default_factory=list)
    eligible: bool = True

    @property
    def nominated(self) -> str:
        """The node that the pod is nominated to."""
        return self.best[0] if self.best else ""

    @property
    def victims(self) -> tuple[PodInfo, ...]:
        """Who has to go there."""
        return self.candidates[self.nominated].victims if self.best else ()


def preempt(
    profile: Profile, info: PodInfo, context: Context, outcome: FilterOutcome, nominated: Nominated | None = None
) -> Preemption:
    """Look for victims after a failed cycle.

    A node where nobody would have to go is an error, not a candidate.

    Source: Evaluator.Preempt, DryRunPreemption.
    """
    refusal = pod_eligible_to_preempt_others(info, context, outcome)
    if refusal is not None:
        return Preemption(Code.Unschedulable, _message(context, refusal), eligible=False)
    table = context.snapshot
    statuses: Counter[str] = Counter()
    if not outcome.status.ok and not context.release.enabled("KitPreFilterRejectsEveryNode"):
        return _after_pre_filter(profile, info, context, outcome)
    promising = outcome.rows[outcome.codes[outcome.rows] == Code.Unschedulable]
    if outcome.prefilter_node_names is not None and not context.release.enabled("KitAbsentNodesHaveStatus"):
        absent = np.setdiff1d(np.arange(len(table)), outcome.rows)
        promising = np.union1d(promising, absent)
    statuses[NOT_HELPFUL] += len(table) - len(promising)
    candidates: dict[str, Candidate] = {}
    errors: list[str] = []
    by_resources = not nominated and _only_resources_matter(profile, outcome)
    known = table.remembered(("victims", info.signature, info.priority)) if by_resources else {}
    plugin = profile.post_filter()
    enough, harmless = (plugin or DefaultPreemption()).enough(len(table)), False
    for row in promising.tolist():
        found = known.get(row)
        if found is None:
            if by_resources:
                found = known[row] = victims_by_resources(info, context, row)
            else:
                found = select_victims_on_node(profile, info, context, row, outcome, nominated)
        if isinstance(found, Status):
            statuses.update(found.reasons)
        elif not found.victims:
            errors.append(f'expected at least one victim pod on node "{found.node}"')
        else:
            candidates[found.node] = found
            harmless = harmless or not found.violations
            if harmless and len(candidates) >= enough:
                break
    if not candidates and errors:
        return Preemption(Code.Error, _message(context, errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"))
    if not candidates:
        counted = {reason: count for reason, count in statuses.items() if count}
        return Preemption(Code.Unschedulable, _message(context, fit_error(len(table), counted, context.release)))
    return Preemption(Code.Success, "", candidates, pick_one_node_for_preemption(list(candidates.values())))


def _message(context: Context, text: str) -> str:
    if not text:
        return ""
    return context.release.text("post_filter").format(message=text)


def pod_eligible_to_preempt_others(info: PodInfo, context: Context, outcome: FilterOutcome) -> str | None:
    """Why the pod may not preempt; None = it may. Victims of an earlier cycle that still leave are waited for.

    Source: PodEligibleToPreemptOthers, podTerminatingByPreemption.
    """
    if info.pod.spec.preemption_policy == "Never":
        return context.release.text("preemption_never")
    row = context.snapshot.index.get(info.pod.status.nominated_node_name, -1)
    if row < 0 or outcome.codes[row] == Code.UnschedulableAndUnresolvable:
        return None
    leaving = (o for o in context.snapshot.pods[row].values() if o.priority < info.priority)
    waits = any(_leaves_by_preemption(o, context) for o in leaving)
    return context.release.text("preemption_terminating") if waits else None


def _leaves_by_preemption(info: PodInfo, context: Context) -> bool:
    rules = context.release
    asked = rules.enabled("PodDisruptionConditions") and rules.enabled("KitWaitsForPreemptedOnly")
    if not info.terminating or not asked:
        return info.terminating
    return any(
        c.type == "DisruptionTarget" and c.status == "True" and c.reason == "PreemptionByScheduler"
        for c in info.pod.status.conditions
    )


def select_victims_on_node(
    profile: Profile,
    info: PodInfo,
    context: Context,
    row: int,
    outcome: FilterOutcome,
    nominated: Nominated | None = None,
) -> Candidate | Status:
    """The victims on one node, or why there are none. The table is as before afterwards.

    Source: SelectVictimsOnNode.
    """
    table = context.snapshot
    lower = [other for other in table.pods[row].values() if other.priority < info.priority]
    if not lower:
        reason = context.release.text("no_victims").format(node=table.names[row], pod=info.pod.name)
        return Status(Code.UnschedulableAndUnresolvable, (reason,))
    order = list(table.pods[row].values())
    try:
        for other in lower:
            table.remove(other)
        status = run_filter_plugins_with_nominated_pods(profile, info, context, row, outcome, nominated)
        if not status.ok:
            return status
        violating, others = filter_pods_with_pdb_violation(sorted(lower, key=importance), context.budgets)
        victims: list[PodInfo] = []
        violations = 0
        for group, violates in ((violating, True), (others, False)):
            for other in group:
                table.add(other, row)
                if not run_filter_plugins_with_nominated_pods(profile, info, context, row, outcome, nominated).ok:
                    table.remove(other)
                    victims.append(other)
                    violations += violates
        return Candidate(row, table.names[row], _ordered(victims, context), violations)
    finally:
        for other in list(table.pods[row].values()):
            table.remove(other)
        for other in order:
            table.add(other, row)


_NODE_ONLY = frozenset({"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodeResourcesFit"})


def _only_resources_matter(profile: Profile, outcome: FilterOutcome) -> bool:
    """Whether nothing that depends on other pods is in play but resources: then victims follow from sums alone."""
    return outcome.prefilter_node_names is None and all(
        plugin.name in _NODE_ONLY for plugin in filters(profile, outcome)
    )


def victims_by_resources(info: PodInfo, context: Context, row: int) -> Candidate | Status:
    """The victims on a node where only resources are short: as `select_victims_on_node`, from sums.

    Source: SelectVictimsOnNode.
    """
    table = context.snapshot
    lower = [other for other in table.pods[row].values() if other.priority < info.priority]
    if not lower:
        reason = context.release.text("no_victims").format(node=table.names[row], pod=info.pod.name)
        return Status(Code.UnschedulableAndUnresolvable, (reason,))
    wanted = {name: amount for name, amount in info.requests.items() if amount > 0}
    left = {
        name: int(table.column(name, table.allocatable)[row] - table.column(name, table.requested)[row]) - amount
        for name, amount in wanted.items()
    }
    places = int(table.allowed_pods[row] - table.pod_count[row]) - 1 + len(lower)
    for other in lower:
        for name in wanted:
            left[name] += other.requests.get(name, 0)
    lacking = ((TOO_MANY_PODS,) if places < 0 else ()) + tuple(f"Insufficient {n}" for n in left if left[n] < 0)
    if lacking:
        return Status(Code.Unschedulable, lacking, "NodeResourcesFit")
    violating, others = filter_pods_with_pdb_violation(sorted(lower, key=importance), context.budgets)
    victims: list[PodInfo] = []
    violations = 0
    for group, violates in ((violating, True), (others, False)):
        for other in group:
            if places > 0 and all(other.requests.get(name, 0) <= left[name] for name in wanted):
                places -= 1
                for name in wanted:
                    left[name] -= other.requests.get(name, 0)
            else:
                victims.append(other)
                violations += violates
    return Candidate(row, table.names[row], _ordered(victims, context), violations)


def _ordered(victims: Sequence[PodInfo], context: Context) -> tuple[PodInfo, ...]:
    """The victims, the most important first; older releases leave those first whose budget would be violated."""
    again = context.release.enabled("KitVictimsSortedAgain")
    return tuple(sorted(victims, key=importance) if again else victims)


def _after_pre_filter(profile: Profile, info: PodInfo, context: Context, outcome: FilterOutcome) -> Preemption:
    """After a rejection by PreFilter 1.26 and 1.27 try every node, but have no states to follow a removal in.

    Source: Evaluator.findCandidates, RunPreFilterExtensionRemovePod.
    """
    snapshot = context.snapshot
    lower = [any(other.priority < info.priority for other in row.values()) for row in snapshot.pods]
    following = [p for p in profile.at("pre_filter") if p.missing_state and p.follows_pods(context.release)]
    lost = next((plugin for plugin in following if plugin.name not in outcome.states), None)
    if lost is not None and any(lower):
        return Preemption(
            Code.Error, _message(context, f'running RemovePod on PreFilter plugin "{lost.name}": {lost.missing_state}')
        )
    counts: Counter[str] = Counter()
    for row, name in enumerate(snapshot.names):
        if lower[row]:
            counts[NOT_HELPFUL] += 1
        else:
            counts[context.release.text("no_victims").format(node=name, pod=info.pod.name)] += 1
    return Preemption(Code.Unschedulable, _message(context, fit_error(len(snapshot), counts, context.release)))


def importance(info: PodInfo) -> tuple[int, datetime]:
    """Sort key: higher priority first, then who started earlier. Source: util.MoreImportantPod."""
    return -info.priority, info.pod.status.start_time or _NOW


def filter_pods_with_pdb_violation(
    pods: Sequence[PodInfo], budgets: Sequence[PodDisruptionBudget]
) -> tuple[list[PodInfo], list[PodInfo]]:
    """Pods whose removal would violate a budget, and the others. Source: filterPodsWithPDBViolation."""
    allowed = [budget.status.disruptions_allowed for budget in budgets]
    selectors = [LabelSelectorMatcher(budget.spec.selector) for budget in budgets]
    violating: list[PodInfo] = []
    others: list[PodInfo] = []
    for info in pods:
        violates = False
        if info.pod.metadata.labels:
            for i, budget in enumerate(budgets):
                if not _covers(budget, selectors[i], info.pod):
                    continue
                allowed[i] -= 1
                violates = violates or allowed[i] < 0
        (violating if violates else others).append(info)
    return violating, others


def _covers(budget: PodDisruptionBudget, selector: LabelSelectorMatcher, pod: Pod) -> bool:
    """A budget with an empty selector covers nobody; a pod that is being disrupted is not counted again."""
    if budget.namespace != pod.namespace or selector.everything or not selector.matches(pod.metadata.labels):
        return False
    return pod.name not in budget.status.disrupted_pods


def pick_one_node_for_preemption(candidates: list[Candidate]) -> list[str]:
    """The best nodes: fewest violations, least important victims, smallest sum of priorities, fewest victims, and then
    those whose most important victims started last. Several may be left; they are equal.

    Source: pickOneNodeForPreemption.
    """
    least = min(c.cost for c in candidates)
    return [c.node for c in candidates if c.cost == least]


def _earliest_start(victims: Sequence[PodInfo]) -> datetime:
    """The earliest start among the most important of them. Source: util.GetEarliestPodStartTime."""
    highest = max(v.priority for v in victims)
    return min(v.pod.status.start_time or _NOW for v in victims if v.priority == highest)
