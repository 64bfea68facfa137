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
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kitlib.api.core import Pod, TopologySpreadConstraint
from kitlib.api.meta import LabelSelector, LabelSelectorRequirement
from kitlib.api.release import Release
from kitlib.api.selectors import LabelSelectorMatcher, repels_scheduling, untolerated_taint
from kitlib.scheduler.framework.events import NODE, POD, ActionType, ClusterEvent, Registered, uid_of
from kitlib.scheduler.framework.plugin import (
    MAX_NODE_SCORE,
    SKIP,
    Affected,
    Context,
    Plugin,
    PreFilterResult,
    Reads,
    Scores,
)
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Code, Rows, Verdicts
from kitlib.scheduler.plugins.default_selector import default_selector
from kitlib.scheduler.plugins.node_affinity import required_matches
from kitlib.scheduler.plugins.spread_domains import Constraint, Domains, count, skews

if TYPE_CHECKING:
    from kitlib.scheduler.plugins.spread_kept import KeptSpread

NO_MATCH = "node(s) didn't match pod topology spread constraints"
MISSING_LABEL = f"{NO_MATCH} (missing required label)"
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(topology_key=HOSTNAME, when_unsatisfiable="ScheduleAnyway", max_skew=3),
    TopologySpreadConstraint(topology_key=ZONE, when_unsatisfiable="ScheduleAnyway", max_skew=5),
)


@dataclass
class FilterState:
    """What Filter needs: per constraint the counts by domain and the smallest of them."""

    domains: list[Domains]
    counts: list[NDArray[np.int64]]
    smallest: list[int]


@dataclass
class ScoreState:
    """What Score needs: per constraint the counts by domain and the weight; and the rows that are left out."""

    domains: list[Domains]
    counts: list[NDArray[np.int64]]
    weights: list[float]
    ignored: NDArray[np.bool_]


class PodTopologySpread(Plugin):
    """Counts matching pods per domain."""

    name = "PodTopologySpread"
    reads = Reads.ALL_BUT_AMOUNTS
    missing_state = 'reading "PreFilterPodTopologySpread" from cycleState: not found'
    missing_score_state = 'error reading "PreScorePodTopologySpread" from cycleState: not found'

    def affected_by_placement(self, info: PodInfo, context: Context) -> Affected:
        found = any(self.constraints(info.pod, context, action) for action in ("DoNotSchedule", "ScheduleAnyway"))
        skips = not found and context.release.enabled("KitPreScoreSkips")
        return Affected.NOTHING if skips else Affected.ALL

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return [
            (ClusterEvent(POD, ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_POD_LABEL), _spread_pod),
            (
                ClusterEvent(
                    NODE,
                    ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT,
                ),
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
        prepared = self._hard(info, context)
        if not prepared:
            return PreFilterResult(SKIP)
        counts, smallest = [], []
        for one in prepared:
            found = count(one, info.pod, context)
            if context.removed:
                found = _follow_removals(one, info.pod, context, found)
            smallest.append(one.smallest(found))
            counts.append(found)
        return PreFilterResult(FilterState(prepared, counts, smallest))

    def kept_answers(self, info: PodInfo, context: Context) -> KeptSpread:
        from kitlib.scheduler.plugins.spread_kept import KeptSpread  # loaded with the second pod of a kind

        soft, ignored = self._soft(info, context)
        return KeptSpread(info, context, self._hard(info, context), soft, ignored, HOSTNAME)

    def _hard(self, info: PodInfo, context: Context) -> list[Domains]:
        found: list[Domains] | None = info.prepared.get((self, "filter"))
        if found is None:
            found = info.prepared[self, "filter"] = self._filter_domains(info, context)
        return found

    def _soft(self, info: PodInfo, context: Context) -> tuple[list[Domains], NDArray[np.bool_]]:
        found: tuple[list[Domains], NDArray[np.bool_]] | None = info.prepared.get((self, "score"))
        if found is None:
            found = info.prepared[self, "score"] = self._score_domains(info, context)
        return found

    def _filter_domains(self, info: PodInfo, context: Context) -> list[Domains]:
        constraints = self.constraints(info.pod, context, "DoNotSchedule")
        rows = context.snapshot.every_row()
        eligible = _with_all_keys(constraints, context, rows)
        if not context.release.enabled("NodeInclusionPolicyInPodTopologySpread"):
            eligible &= _affinity(info.pod, context, rows)
        made = []
        for one in constraints:
            codes = context.snapshot.label(one.topology_key)[0]
            there = eligible & _included(one, info.pod, context, rows)
            domains = np.unique(codes[there])
            if not context.release.enabled("KitSpreadHonoursNodeAffinity"):
                there = np.isin(codes, domains)  # every node of a domain counts, also one that the pod may not use
            made.append(_domains(one, info.pod, context, there, domains))
        return made

    def filter(self, state: FilterState, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        for one, counts, smallest in zip(state.domains, state.counts, state.smallest, strict=True):
            codes = one.codes[rows]
            missing = codes < 0
            found.reject(missing, Code.UnschedulableAndUnresolvable, MISSING_LABEL)
            too_many = skews(one, counts, smallest) > one.constraint.max_skew
            if len(counts):  # else no node has the label
                found.reject(too_many[codes] & ~missing, Code.Unschedulable, NO_MATCH)
        return found

    def pre_score(self, info: PodInfo, context: Context, rows: Rows) -> Any:
        listed, left_out = self._soft(info, context)
        if not listed:
            if context.release.enabled("KitPreScoreSkips"):
                return SKIP
            return ScoreState([], [], [], np.zeros(len(rows), np.bool_))
        ignored = left_out[rows]
        feasible = rows[~ignored]
        counts, weights = [], []
        for one in listed:
            if one.constraint.topology_key == HOSTNAME:
                domains = len(feasible)
            else:
                codes = one.codes[feasible]
                # where a label may be missing, missing it counts as one more value
                domains = int(np.count_nonzero(np.bincount(codes + 1, minlength=1)))
            counts.append(count(one, info.pod, context))
            weights.append(math.log(domains + 2))
        return ScoreState(listed, counts, weights, ignored)

    def _score_domains(self, info: PodInfo, context: Context) -> tuple[list[Domains], NDArray[np.bool_]]:
        """The domains, and the rows that get no score."""
        constraints = self.constraints(info.pod, context, "ScheduleAnyway")
        need_all = bool(info.pod.spec.topology_spread_constraints) or not self.system_defaults
        table = context.snapshot
        every = table.every_row()
        none = np.zeros(len(table), np.bool_)
        if not constraints:
            return [], none
        having = _with_all_keys(constraints, context, every)
        counting = having.copy() if need_all else ~none
        if not context.release.enabled("NodeInclusionPolicyInPodTopologySpread"):
            counting &= _affinity(info.pod, context, every)
        made = []
        for one in constraints:
            there = counting & _included(one, info.pod, context, every)
            if one.topology_key == HOSTNAME:
                there = ~none
            made.append(_domains(one, info.pod, context, there, every[:0]))
        return made, ~having if need_all else none

    def score(self, state: ScoreState, info: PodInfo, context: Context, rows: Rows) -> Scores:
        total = np.zeros(len(rows), np.float64)
        for one, counts, weight in zip(state.domains, state.counts, state.weights, strict=True):
            codes = one.codes[rows]
            if len(counts):
                part = counts[codes] * weight + (one.constraint.max_skew - 1)
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
        tolerations, release = pod.spec.tolerations, context.release
        welcome = [untolerated_taint(t, tolerations, repels_scheduling, release) is None for t in lists]
        included &= np.array(welcome, np.bool_)[codes[rows]] if lists else True
    return included


def _domains(one: Constraint, pod: Pod, context: Context, there: NDArray[np.bool_], eligible: NDArray[Any]) -> Domains:
    codes, values = context.snapshot.label(one.topology_key)
    rows = np.flatnonzero(there & (codes >= 0))
    own = int(one.selector.matches(pod.metadata.labels))
    hosts = len(rows) == len(codes) and context.snapshot.is_one_to_one(one.topology_key)
    return Domains(one, codes, len(values), rows, eligible.astype(np.int64), own, hosts)


def _follow_removals(one: Domains, pod: Pod, context: Context, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The counts without pods that preemption removes on trial, also those that were never counted.

    Counting leaves out terminating pods, and all pods where the selector is empty; the removal asks for neither.

    Source: podtopologyspread/filtering.go updateWithPod.
    """
    made, selector = counts.copy(), one.constraint.selector
    for other in context.removed:
        meta = other.pod.metadata
        uncounted = other.terminating or selector.everything
        meant = meta.namespace == pod.metadata.namespace and selector.matches(meta.labels)
        if uncounted and meant and other.row in one.rows:
            made[one.codes[other.row]] -= 1
    return made


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
