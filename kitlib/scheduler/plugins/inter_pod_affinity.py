"""InterPodAffinity: affinity to pods and anti-affinity to pods, also that of existing pods to the incoming one.

A term selects pods (by labels and namespaces) and names a topology key; nodes with the same value of that label are
one place.

Source: plugins/interpodaffinity (filtering.go, scoring.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.scheduler.framework.counts import StandingTerm, sums_of
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
from kitlib.scheduler.framework.pod_info import PodInfo, Term
from kitlib.scheduler.framework.status import Code, Rows, Verdicts
from kitlib.scheduler.plugins.affinity_terms import (
    AffinityFilterState,
    TermCount,
    all_match,
    matching,
    matching_all,
    standing_that_mean,
    unrolled,
    weighted_terms,
)

if TYPE_CHECKING:
    from kitlib.scheduler.plugins.incremental_affinity import IncrementalAffinity

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"
HARD_WEIGHT = 1
Places = dict[str, TermCount]
"""Topology key -> counts, or weighted sums, by its values; keys without any count are missing."""


class InterPodAffinity(Plugin):
    """The plugin that compares the pod with other pods by place."""

    name = "InterPodAffinity"
    reads = Reads.ALL_BUT_AMOUNTS
    missing_state = 'error reading "PreFilterInterPodAffinity" from cycleState: not found'
    missing_score_state = 'failed to read "PreScoreInterPodAffinity" from cycleState: not found'

    def affected_by_placement(self, info: PodInfo, context: Context) -> Affected:
        return Affected.ALL

    def incremental_answers(self, info: PodInfo, context: Context) -> IncrementalAffinity:
        from kitlib.scheduler.plugins.incremental_affinity import (
            IncrementalAffinity,  # loaded with the second pod of a kind
        )

        return IncrementalAffinity(self, info, context, self.hard_weight if self.scores(info, context) else None)

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return [
            (ClusterEvent(POD, ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_POD_LABEL), _neighbour),
            (ClusterEvent(NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL), _neighbour_node),
        ]

    def follows_pods(self, release: Release) -> bool:
        return True

    def __init__(self, arguments: Mapping[str, Any] | None = None) -> None:
        super().__init__(arguments)
        self.hard_weight = int(self.arguments.get("hardPodAffinityWeight", HARD_WEIGHT))
        self.ignore_existing = bool(self.arguments.get("ignorePreferredTermsOfExistingPods", False))

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        existing: Places = {}
        for standing in standing_that_mean(info, context, "required_anti_affinity"):
            _add(existing, context, standing)
        if not existing and not info.required_affinity and not info.required_anti_affinity:
            return PreFilterResult(SKIP)
        wanted = unrolled(info.required_affinity, context)
        state = AffinityFilterState([*existing.values()], matches_itself=all_match(wanted, info, context))
        if wanted:
            selected = matching_all(wanted, context)
            state.affinity = [_by_place(context, term.topology_key, selected) for term in wanted]
        anti: Places = {}
        for term in unrolled(info.required_anti_affinity, context):
            _add(anti, context, term)
        state.anti_affinity = [*anti.values()]
        return PreFilterResult(state)

    def filter(self, state: AffinityFilterState, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        if state.affinity:
            near = state.satisfy_pod_affinity(rows)
            found.reject(~near, Code.UnschedulableAndUnresolvable, AFFINITY)
        for counts, reason in ((state.anti_affinity, ANTI_AFFINITY), (state.existing_anti, EXISTING)):
            for count in counts:
                found.reject(count.at(rows) > 0, Code.Unschedulable, reason)
        return found

    def scores(self, info: PodInfo, context: Context) -> bool:
        """Return whether pods are scored at all: preferences of existing pods may count only if the pod has some.

        Source: interpodaffinity PreScore, ignorePreferredTermsOfExistingPods.
        """
        wishes = info.preferred_affinity or info.preferred_anti_affinity
        return bool(wishes) or not (self.ignore_existing and context.release.enabled("KitPreScoreSkips"))

    def pre_score(self, info: PodInfo, context: Context, rows: Rows) -> Any:
        if not self.scores(info, context):
            return SKIP
        places: Places = {}
        for weight, term in weighted_terms(info, context, self.hard_weight):
            _add(places, context, term, weight)
        return places if places or not context.release.enabled("KitPreScoreSkips") else SKIP

    def score(self, state: Places, info: PodInfo, context: Context, rows: Rows) -> Scores:
        columns = [term_count.at(rows) for term_count in state.values()]
        return sum(columns[1:], columns[0]) if columns else np.zeros(len(rows), np.int64)

    def normalize(self, state: Any, scores: Scores) -> Scores:
        low, high = int(scores.min()), int(scores.max())
        if high == low:
            return np.zeros(len(scores), np.int64)
        return (MAX_NODE_SCORE * ((scores - low) / (high - low))).astype(np.int64)


def _by_place(context: Context, key: str, by_row: NDArray[np.int64]) -> TermCount:
    """Return a count by row as a count by place; it must not be changed, since it may be the same array."""
    codes, size = context.snapshot.places(key)
    return TermCount(codes, by_row if codes is None else sums_of(by_row, codes, size))


def _add(places: Places, context: Context, term: Term | StandingTerm, weight: int = 1) -> None:
    """Add the pods that a term selects, or that have a standing term, each with a weight, to the counts by place."""
    if isinstance(term, StandingTerm):
        key, listed = term.term.topology_key, list(term.rows.items())
    else:
        key, by_row = term.topology_key, matching(term, context)
        rows = np.flatnonzero(by_row)
        listed = list(zip(rows.tolist(), by_row[rows].tolist(), strict=True))
    codes, size = context.snapshot.places(key)
    if codes is not None:
        listed = [(code, number) for row, number in listed if (code := codes.item(row)) >= 0]
    if not listed:
        return
    found = places.get(key)
    if found is None:
        length = len(context.snapshot) if codes is None else size + 1
        found = places[key] = TermCount(codes, np.zeros(length, np.int64))
    # a loop over the few rows with such pods is faster than columns of all rows
    for place, number in listed:
        found.counts[place] += weight * number


def _neighbour(pod: Pod, old: Any, new: Any) -> bool:
    """Return whether a pod came that an affinity term selects, or a pod left that an anti-affinity term selects.

    Source: interpodaffinity isSchedulableAfterPodChange.
    """
    other = new if new is not None else old
    if uid_of(other) == uid_of(pod):
        return True
    info = PodInfo(pod)
    # as upstream, without labels of namespaces. Source: podMatchesAllAffinityTerms
    namespaces: Mapping[str, Mapping[str, str]] = {other.metadata.namespace: {}}

    def meant(terms: Iterable[Any], seen: Any) -> bool:
        return seen is not None and any(term.matches(seen, namespaces) for term in terms)

    if meant(info.required_affinity, new) and not meant(info.required_affinity, old):
        return True
    if meant(info.required_anti_affinity, old) and not meant(info.required_anti_affinity, new):
        return True
    # a pod that left may have excluded this one by its own anti-affinity
    return new is None and any(term.matches(pod, {}) for term in PodInfo(other).required_anti_affinity)


def _neighbour_node(pod: Pod, old: Any, new: Any) -> bool:
    """Return whether a new node has a term's topology key, or a changed node has another value of one.

    Source: isSchedulableAfterNodeChange.
    """
    info = PodInfo(pod)
    keys = {term.topology_key for term in (*info.required_affinity, *info.required_anti_affinity)}
    labels = new.metadata.labels
    if old is not None:
        return any(labels.get(key) != old.metadata.labels.get(key) for key in keys)
    return not keys or any(key in labels for key in keys)
