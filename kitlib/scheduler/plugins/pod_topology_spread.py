"""PodTopologySpread: pods of a kind spread evenly over zones, hosts or any other label's values.

    skew = matching pods in the node's domain + 1 (if the pod matches itself) − the smallest number in any domain

must not exceed maxSkew (DoNotSchedule), or should be small (ScheduleAnyway). Which nodes make up the domains is said
by nodeAffinityPolicy and nodeTaintsPolicy; with fewer domains than minDomains the smallest number counts as 0.

Source: plugins/podtopologyspread (common.go, filtering.go, scoring.go, plugin.go); KEP-895, KEP-3022, KEP-3094,
KEP-3243.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitlib.api.core import Pod, TopologySpreadConstraint
from kitlib.api.meta import LabelSelector, LabelSelectorRequirement
from kitlib.api.release import Release
from kitlib.api.selectors import LabelSelectorMatcher, repels_scheduling, untolerated_taint
from kitlib.scheduler.framework.events import NODE, POD, Action, ClusterEvent, Registered, uid_of
from kitlib.scheduler.framework.plugin import MAX_NODE_SCORE, SKIP, Context, Plugin, PreFilterResult, Scores
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Code, Rows, Verdicts
from kitlib.scheduler.plugins.default_selector import default_selector
from kitlib.scheduler.plugins.node_affinity import required_matches

NO_MATCH = "node(s) didn't match pod topology spread constraints"
MISSING_LABEL = f"{NO_MATCH} (missing required label)"
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
MAX_INT32 = 2**31 - 1
"""The smallest count where there is no domain at all."""
SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(topology_key=HOSTNAME, when_unsatisfiable="ScheduleAnyway", max_skew=3),
    TopologySpreadConstraint(topology_key=ZONE, when_unsatisfiable="ScheduleAnyway", max_skew=5),
)


@dataclass(frozen=True)
class Constraint:
    """One constraint of a pod, parsed."""

    max_skew: int
    topology_key: str
    selector: LabelSelectorMatcher
    min_domains: int
    honour_affinity: bool
    honour_taints: bool


@dataclass
class FilterState:
    """What Filter needs: per constraint the counts by domain and the smallest of them."""

    constraints: list[Constraint]
    counts: list[NDArray[np.int64]]
    smallest: list[int]


@dataclass
class ScoreState:
    """What Score needs: per constraint the counts by domain and the weight; and the rows that are left out."""

    constraints: list[Constraint]
    counts: list[NDArray[np.int64]]
    weights: list[float]
    ignored: NDArray[np.bool_]


class PodTopologySpread(Plugin):
    """Counts matching pods per domain."""

    name = "PodTopologySpread"
    missing_state = 'reading "PreFilterPodTopologySpread" from cycleState: not found'
    missing_score_state = 'error reading "PreScorePodTopologySpread" from cycleState: not found'

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return [
            (ClusterEvent(POD, Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL), _spread_pod),
            (
                ClusterEvent(NODE, Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT),
                _spread_node,
            ),
        ]

    def follows_pods(self, release: Release) -> bool:
        return True

    def __init__(self, arguments: Mapping[str, Any] | None = None) -> None:
        super().__init__(arguments)
        from kitlib.api.serialize import from_dict

        self.system_defaults = self.arguments.get("defaultingType", "System") == "System"
        listed = [from_constraint(one, from_dict) for one in self.arguments.get("defaultConstraints") or ()]
        self.defaults: Sequence[TopologySpreadConstraint] = SYSTEM_DEFAULTS if self.system_defaults else listed

    def constraints(self, pod: Pod, context: Context, action: str) -> list[Constraint]:
        """The pod's constraints of a kind, or the cluster's defaults where it has none at all."""
        if pod.spec.topology_spread_constraints:
            return [
                ready(one, pod, context)
                for one in pod.spec.topology_spread_constraints
                if one.when_unsatisfiable == action
            ]
        defaults = [one for one in self.defaults if one.when_unsatisfiable == action]
        if not defaults:
            return []
        selector = default_selector(pod, context)
        if selector is None:
            return []
        return [ready(one, pod, context, selector) for one in defaults]

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        constraints = self.constraints(info.pod, context, "DoNotSchedule")
        if not constraints:
            return PreFilterResult(SKIP)
        rows = context.snapshot.every_row()
        eligible = _with_all_keys(constraints, context, rows)
        if not context.release.enabled("NodeInclusionPolicyInPodTopologySpread"):
            eligible &= _affinity(info.pod, context, rows)
        counts, smallest = [], []
        for one in constraints:
            codes, values = context.snapshot.label(one.topology_key)
            there = eligible & _included(one, info.pod, context, rows)
            domains = np.unique(codes[there])
            if not context.release.enabled("KitSpreadHonoursNodeAffinity"):
                there = np.isin(codes, domains)  # every node of a domain counts, also one that the pod may not use
            found = _count(one, info.pod, context, codes, len(values), there)
            _follow_removals(one, info.pod, context, codes, there, found)
            least = int(found[domains].min()) if len(domains) else MAX_INT32
            smallest.append(0 if len(domains) < one.min_domains else least)
            counts.append(found)
        return PreFilterResult(FilterState(constraints, counts, smallest))

    def filter(self, state: FilterState, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        for one, counts, smallest in zip(state.constraints, state.counts, state.smallest, strict=True):
            codes = context.snapshot.label(one.topology_key)[0][rows]
            missing = codes < 0
            found.reject(missing, Code.UnschedulableAndUnresolvable, MISSING_LABEL)
            own = int(one.selector.matches(info.pod.metadata.labels))
            standing = counts[codes] if len(counts) else np.zeros(len(rows), np.int64)
            too_many = ~missing & (standing + own - smallest > one.max_skew)
            found.reject(too_many, Code.Unschedulable, NO_MATCH)
        return found

    def pre_score(self, info: PodInfo, context: Context, rows: Rows) -> Any:
        constraints = self.constraints(info.pod, context, "ScheduleAnyway")
        if not constraints:
            if context.release.enabled("KitPreScoreSkips"):
                return SKIP
            return ScoreState([], [], [], np.zeros(len(rows), np.bool_))
        need_all = bool(info.pod.spec.topology_spread_constraints) or not self.system_defaults
        table = context.snapshot
        every = table.every_row()
        having = _with_all_keys(constraints, context, every)
        ignored = ~having[rows] if need_all else np.zeros(len(rows), np.bool_)
        feasible = rows[~ignored]
        counting = having.copy() if need_all else np.ones(len(table), np.bool_)
        if not context.release.enabled("NodeInclusionPolicyInPodTopologySpread"):
            counting &= _affinity(info.pod, context, every)
        counts, weights = [], []
        for one in constraints:
            codes, values = table.label(one.topology_key)
            there = counting & _included(one, info.pod, context, every)
            if one.topology_key == HOSTNAME:
                there = np.ones(len(table), np.bool_)
                domains = len(feasible)
            else:
                known = np.zeros(len(values) + 1, np.bool_)
                known[codes[feasible]] = True
                known[-1] = False
                there &= known[codes]
                # where a label may be missing, missing it counts as one more value
                domains = int(known.sum()) + bool((codes[feasible] < 0).any())
            counts.append(_count(one, info.pod, context, codes, len(values), there))
            weights.append(math.log(domains + 2))
        return ScoreState(constraints, counts, weights, ignored)

    def score(self, state: ScoreState, info: PodInfo, context: Context, rows: Rows) -> Scores:
        total = np.zeros(len(rows), np.float64)
        for one, counts, weight in zip(state.constraints, state.counts, state.weights, strict=True):
            codes = context.snapshot.label(one.topology_key)[0][rows]
            if len(counts):
                part = counts[codes] * weight + (one.max_skew - 1)
                total += np.where(codes >= 0, part, 0.0)
        if context.release.enabled("KitSpreadScoreRounded"):
            whole = np.floor(total + 0.5).astype(np.int64)
        else:
            whole = total.astype(np.int64)
        return np.where(state.ignored, 0, whole)

    def normalize(self, state: ScoreState, scores: Scores) -> Scores:
        counted = scores[~state.ignored]
        if not len(counted):
            return np.zeros(len(scores), np.int64)
        low, high = int(counted.min()), int(counted.max())
        if high == 0:
            made = np.full(len(scores), MAX_NODE_SCORE, np.int64)
        else:
            made = MAX_NODE_SCORE * (high + low - scores) // high
        return np.where(state.ignored, 0, made)


def from_constraint(data: Mapping[str, Any], from_dict: Any) -> TopologySpreadConstraint:
    """A constraint from the plugin's arguments."""
    pod: Pod = from_dict({"metadata": {"name": "x"}, "spec": {"topologySpreadConstraints": [dict(data)]}}, Pod)
    return pod.spec.topology_spread_constraints[0]


def ready(
    one: TopologySpreadConstraint, pod: Pod, context: Context, selector: LabelSelector | None = None
) -> Constraint:
    """A constraint with its defaults and its selector parsed. Source: filterTopologySpreadConstraints."""
    release = context.release
    wanted = selector or one.label_selector
    if one.match_label_keys and release.enabled("MatchLabelKeysInPodTopologySpread"):
        wanted = with_label_keys(wanted, one.match_label_keys, pod)
    policies = release.enabled("NodeInclusionPolicyInPodTopologySpread")
    minimum = one.min_domains if one.min_domains and release.enabled("MinDomainsInPodTopologySpread") else 1
    return Constraint(
        one.max_skew,
        one.topology_key,
        LabelSelectorMatcher(wanted),
        minimum,
        policies and (one.node_affinity_policy or "Honor") == "Honor",
        policies and one.node_taints_policy == "Honor",
    )


def with_label_keys(selector: LabelSelector | None, keys: Sequence[str], pod: Pod) -> LabelSelector | None:
    """The selector restricted to the pod's own values of some labels; labels that it lacks are left out."""
    if selector is None:
        return None
    present = {(r.key, tuple(r.values)) for r in selector.match_expressions if r.operator == "In"}
    more = [
        LabelSelectorRequirement(key=key, operator="In", values=[pod.metadata.labels[key]])
        for key in keys
        if key in pod.metadata.labels and (key, (pod.metadata.labels[key],)) not in present
    ]
    return LabelSelector(match_labels=selector.match_labels, match_expressions=[*selector.match_expressions, *more])


def _affinity(pod: Pod, context: Context, rows: Rows) -> NDArray[np.bool_]:
    return required_matches(pod, context, rows)


def _with_all_keys(constraints: Sequence[Constraint], context: Context, rows: Rows) -> NDArray[np.bool_]:
    """Rows that have every constraint's label. Source: nodeLabelsMatchSpreadConstraints."""
    having = np.ones(len(rows), np.bool_)
    for one in constraints:
        having &= context.snapshot.label(one.topology_key)[0][rows] >= 0
    return having


def _included(one: Constraint, pod: Pod, context: Context, rows: Rows) -> NDArray[np.bool_]:
    """Rows that count, by the inclusion policies. Source: matchNodeInclusionPolicies."""
    included = np.ones(len(rows), np.bool_)
    if one.honour_affinity:
        included &= _affinity(pod, context, rows)
    if one.honour_taints:
        codes, lists = context.snapshot.taint_groups()
        welcome = [untolerated_taint(t, pod.spec.tolerations, repels_scheduling) is None for t in lists]
        included &= np.array(welcome, np.bool_)[codes[rows]] if lists else True
    return included


def _follow_removals(
    one: Constraint,
    pod: Pod,
    context: Context,
    codes: NDArray[np.int32],
    there: NDArray[np.bool_],
    counts: NDArray[np.int64],
) -> None:
    """Take pods that preemption removes on trial off the counts, in place, also those that were never counted.

    Counting leaves out terminating pods, and all pods where the selector is empty; the removal asks for neither.

    Source: podtopologyspread/filtering.go updateWithPod.
    """
    for other in context.removed:
        meta = other.pod.metadata
        uncounted = other.terminating or one.selector.everything
        meant = meta.namespace == pod.metadata.namespace and one.selector.matches(meta.labels)
        if uncounted and meant and there[other.row] and codes[other.row] >= 0:
            counts[codes[other.row]] -= 1


def _count(
    one: Constraint, pod: Pod, context: Context, codes: NDArray[np.int32], size: int, there: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Matching pods of the pod's namespace by domain, on the rows that count. Source: countPodsMatchSelector."""
    counts = np.zeros(size, np.int64)
    if one.selector.everything and context.release.enabled("KitEmptySpreadSelectorCountsNobody"):
        return counts  # an empty selector counts nobody, though the pod itself matches it
    namespace, selector = pod.metadata.namespace, one.selector

    def matches(other: PodInfo) -> int:
        meta = other.pod.metadata
        return int(meta.namespace == namespace and not other.terminating and selector.matches(meta.labels))

    matching = context.snapshot.counted(("spread", namespace, selector), matches)
    rows = np.flatnonzero(matching * there * (codes >= 0))
    np.add.at(counts, codes[rows], matching[rows])
    return counts


def _spread_pod(pod: Pod, old: Any, new: Any) -> bool:
    """A pod that a constraint counts came, went, or changed its labels. Source: isSchedulableAfterPodChange."""
    other = new if new is not None else old
    if uid_of(other) == uid_of(pod):
        return True
    if other.metadata.namespace != pod.metadata.namespace:
        return False
    selectors = [
        LabelSelectorMatcher(one.label_selector)
        for one in pod.spec.topology_spread_constraints
        if one.when_unsatisfiable == "DoNotSchedule"
    ]

    def counted(seen: Any) -> list[bool]:
        return [seen is not None and one.matches(seen.metadata.labels) for one in selectors]

    if old is None or new is None:
        return any(counted(other))
    return counted(old) != counted(new)


def _spread_node(pod: Pod, old: Any, new: Any) -> bool:
    """A node with all of the labels came, went, or changed them. Source: isSchedulableAfterNodeChange."""
    keys = [c.topology_key for c in pod.spec.topology_spread_constraints if c.when_unsatisfiable == "DoNotSchedule"]

    def domains(node: Any) -> list[str] | None:
        found = [node.metadata.labels.get(key) for key in keys] if node is not None else [None]
        return None if None in found else found  # type: ignore[return-value]

    before, after = domains(old), domains(new)
    if old is not None and new is not None:
        return before != after or (after is not None and old.spec.taints != new.spec.taints)
    return (before if new is None else after) is not None
