"""PodTopologySpread: equal pods spread evenly over zones, hosts or the values of any other label.

    skew = matching pods in the node's domain + 1 (if the pod matches itself) − the smallest number in any domain

must not exceed maxSkew (DoNotSchedule), or should be small (ScheduleAnyway). nodeAffinityPolicy and nodeTaintsPolicy
determine the nodes of the domains; with fewer domains than minDomains the smallest number counts as 0.

Source: plugins/podtopologyspread (common.go, filtering.go, scoring.go, plugin.go); KEP-895, KEP-3022, KEP-3094,
KEP-3243.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kitlib.api.core import Pod, TopologySpreadConstraint
from kitlib.api.meta import LabelSelector, LabelSelectorRequirement
from kitlib.api.release import Release
from kitlib.api.selectors import LabelSelectorMatcher, repels_scheduling, untolerated_taint
from kitlib.scheduler.framework.events import NODE, POD, ActionType, ClusterEvent, Registered, uid_of
from kitlib.scheduler.framework.plugin import (
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
from kitlib.scheduler.plugins.spread_domains import HOSTNAME, Constraint, DomainCounts, Domains, ScoreState, count

if TYPE_CHECKING:
    from kitlib.scheduler.plugins.incremental_spread import IncrementalSpread

NO_MATCH = "node(s) didn't match pod topology spread constraints"
MISSING_LABEL = f"{NO_MATCH} (missing required label)"
ZONE = "topology.kubernetes.io/zone"
SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(topology_key=HOSTNAME, when_unsatisfiable="ScheduleAnyway", max_skew=3),
    TopologySpreadConstraint(topology_key=ZONE, when_unsatisfiable="ScheduleAnyway", max_skew=5),
)


class PodTopologySpread(Plugin):
    """The plugin that counts matching pods by domain."""

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
        """Return the pod's constraints with an action, or the default constraints if the pod has none at all."""
        if pod.spec.topology_spread_constraints:
            return [
                ready(constraint, pod, context)
                for constraint in pod.spec.topology_spread_constraints
                if constraint.when_unsatisfiable == action
            ]
        defaults = [default for default in self.defaults if default.when_unsatisfiable == action]
        if not defaults:
            return []
        selector = default_selector(pod, context)
        if selector is None:
            return []
        return [ready(default, pod, context, selector) for default in defaults]

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        prepared = self._hard(info, context)
        if not prepared:
            return PreFilterResult(SKIP)
        found = [DomainCounts(domains, count(domains, info.pod, context)) for domains in prepared]
        if context.removed:
            for domain_counts in found:
                _follow_removals(domain_counts, info.pod, context)
        return PreFilterResult(found)

    def incremental_answers(self, info: PodInfo, context: Context) -> IncrementalSpread:
        from kitlib.scheduler.plugins.incremental_spread import (
            IncrementalSpread,  # loaded with the second pod of a kind
        )

        soft, ignored = self._soft(info, context)
        return IncrementalSpread(info, context, self._hard(info, context), soft, ignored)

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
        for constraint in constraints:
            codes = context.snapshot.label(constraint.topology_key)[0]
            there = eligible & _included(constraint, info.pod, context, rows)
            domains = np.unique(codes[there])
            if not context.release.enabled("KitSpreadHonoursNodeAffinity"):
                there = np.isin(codes, domains)  # all nodes of a domain count, even those that the pod may not use
            made.append(_domains(constraint, info.pod, context, there, domains))
        return made

    def filter(self, state: list[DomainCounts], info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        for domain_counts in state:
            codes = domain_counts.domains.codes[rows]
            found.reject(codes < 0, Code.UnschedulableAndUnresolvable, MISSING_LABEL)
            # a row without the label reads the last value, but is rejected already
            found.reject(~domain_counts.permitted()[codes], Code.Unschedulable, NO_MATCH)
        return found

    def pre_score(self, info: PodInfo, context: Context, rows: Rows) -> Any:
        listed, left_out = self._soft(info, context)
        if not listed and context.release.enabled("KitPreScoreSkips"):
            return SKIP
        return ScoreState.of(
            [DomainCounts(domains, count(domains, info.pod, context)) for domains in listed], rows, left_out[rows]
        )

    def _score_domains(self, info: PodInfo, context: Context) -> tuple[list[Domains], NDArray[np.bool_]]:
        """Return the domains of each constraint, and a mask of the rows that get no score."""
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
        for constraint in constraints:
            there = counting & _included(constraint, info.pod, context, every)
            # a node's own pods are counted in Score, whatever the policies. Source: podtopologyspread Score
            if constraint.topology_key == HOSTNAME:
                there = ~none
            made.append(_domains(constraint, info.pod, context, there, every[:0]))
        return made, ~having if need_all else none

    def score(self, state: ScoreState, info: PodInfo, context: Context, rows: Rows) -> Scores:
        return state.raw(rows, context.release)

    def normalize(self, state: ScoreState, scores: Scores) -> Scores:
        return state.normalized(scores)


def from_constraint(data: Mapping[str, Any], from_dict: Any) -> TopologySpreadConstraint:
    """Return a constraint from the plugin's arguments."""
    pod: Pod = from_dict({"metadata": {"name": "x"}, "spec": {"topologySpreadConstraints": [dict(data)]}}, Pod)
    return pod.spec.topology_spread_constraints[0]


def ready(
    constraint: TopologySpreadConstraint, pod: Pod, context: Context, selector: LabelSelector | None = None
) -> Constraint:
    """Return a parsed constraint with its defaults. Source: filterTopologySpreadConstraints."""
    release = context.release
    wanted = selector or constraint.label_selector
    if constraint.match_label_keys and release.enabled("MatchLabelKeysInPodTopologySpread"):
        wanted = with_label_keys(wanted, constraint.match_label_keys, pod)
    policies = release.enabled("NodeInclusionPolicyInPodTopologySpread")
    minimum = (
        constraint.min_domains if constraint.min_domains and release.enabled("MinDomainsInPodTopologySpread") else 1
    )
    return Constraint(
        constraint.max_skew,
        constraint.topology_key,
        LabelSelectorMatcher(wanted),
        minimum,
        policies and (constraint.node_affinity_policy or "Honor") == "Honor",
        policies and constraint.node_taints_policy == "Honor",
    )


def with_label_keys(selector: LabelSelector | None, keys: Sequence[str], pod: Pod) -> LabelSelector | None:
    """Return the selector restricted to the pod's own values of some labels; labels that it lacks are ignored."""
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
    """Return a mask of the rows with all constraints' labels. Source: nodeLabelsMatchSpreadConstraints."""
    having = np.ones(len(rows), np.bool_)
    for constraint in constraints:
        having &= context.snapshot.label(constraint.topology_key)[0][rows] >= 0
    return having


def _included(constraint: Constraint, pod: Pod, context: Context, rows: Rows) -> NDArray[np.bool_]:
    """Return a mask of the rows that the inclusion policies admit. Source: matchNodeInclusionPolicies."""
    included = np.ones(len(rows), np.bool_)
    if constraint.honour_affinity:
        included &= _affinity(pod, context, rows)
    if constraint.honour_taints:
        codes, lists = context.snapshot.taint_groups()
        tolerations, release = pod.spec.tolerations, context.release
        welcome = [untolerated_taint(t, tolerations, repels_scheduling, release) is None for t in lists]
        included &= np.array(welcome, np.bool_)[codes[rows]] if lists else True
    return included


def _domains(
    constraint: Constraint, pod: Pod, context: Context, there: NDArray[np.bool_], eligible: NDArray[Any]
) -> Domains:
    codes, values = context.snapshot.label(constraint.topology_key)
    rows = np.flatnonzero(there & (codes >= 0))
    own = int(constraint.selector.matches(pod.metadata.labels))
    hosts = len(rows) == len(codes) and context.snapshot.is_one_to_one(constraint.topology_key)
    return Domains(constraint, codes, len(values), rows, eligible.astype(np.int64), own, hosts)


def _follow_removals(found: DomainCounts, pod: Pod, context: Context) -> None:
    """Subtract pods that preemption removes on trial from the counts, even if they were never counted.

    Counting ignores terminating pods, and all pods if the selector is empty; upstream's removal checks neither.

    Source: podtopologyspread/filtering.go updateWithPod.
    """
    domains = found.domains
    selector = domains.constraint.selector
    for other in context.removed:
        meta = other.pod.metadata
        uncounted = other.terminating or selector.everything
        meant = meta.namespace == pod.metadata.namespace and selector.matches(meta.labels)
        if uncounted and meant and other.row in domains.rows:
            found.counts[domains.codes[other.row]] -= 1


def _spread_pod(pod: Pod, old: Any, new: Any) -> bool:
    """Return whether a pod came, went, or changed its labels so that a constraint's count changes.

    Source: isSchedulableAfterPodChange.
    """
    other = new if new is not None else old
    if uid_of(other) == uid_of(pod):
        return True
    if other.metadata.namespace != pod.metadata.namespace:
        return False
    selectors = [
        LabelSelectorMatcher(constraint.label_selector)
        for constraint in pod.spec.topology_spread_constraints
        if constraint.when_unsatisfiable == "DoNotSchedule"
    ]

    def counted(seen: Any) -> list[bool]:
        return [seen is not None and selector.matches(seen.metadata.labels) for selector in selectors]

    if old is None or new is None:
        return any(counted(other))
    return counted(old) != counted(new)


def _spread_node(pod: Pod, old: Any, new: Any) -> bool:
    """Return whether a node with all topology keys came, went, or changed its domains or taints.

    Source: isSchedulableAfterNodeChange.
    """
    keys = [c.topology_key for c in pod.spec.topology_spread_constraints if c.when_unsatisfiable == "DoNotSchedule"]

    def domains(node: Any) -> list[str] | None:
        found = [node.metadata.labels.get(key) for key in keys] if node is not None else [None]
        return None if None in found else found  # type: ignore[return-value]

    before, after = domains(old), domains(new)
    if old is not None and new is not None:
        return before != after or (after is not None and old.spec.taints != new.spec.taints)
    return (before if new is None else after) is not None
