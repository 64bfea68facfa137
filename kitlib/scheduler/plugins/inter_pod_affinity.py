"""InterPodAffinity: near pods that it likes, away from pods that it does not like, and from pods that do not like it.

A term names pods (by labels and namespaces) and a topology key; two nodes with the same value of that label are one
place.

Source: plugins/interpodaffinity (filtering.go, scoring.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.scheduler.framework.counts import StandingTerm
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
from kitlib.scheduler.plugins.affinity_terms import all_match, matching, matching_all, standing_that_mean, unrolled

if TYPE_CHECKING:
    from kitlib.scheduler.plugins.affinity_kept import KeptAffinity

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"
HARD_WEIGHT = 1
Places = dict[str, NDArray[np.int64]]
"""Topology key -> counts by the number of the label's value; the last place, for nodes without the label, stays 0."""


@dataclass
class AffinityFilterState:
    """Counts by place: of existing pods that do not like the pod, of those that it likes, of those that it does not."""

    existing_anti: Places
    affinity: Places
    anti_affinity: Places


class InterPodAffinity(Plugin):
    """Looks at other pods, through the places that they stand in."""

    name = "InterPodAffinity"
    reads = Reads.ALL_BUT_AMOUNTS
    missing_state = 'error reading "PreFilterInterPodAffinity" from cycleState: not found'
    missing_score_state = 'failed to read "PreScoreInterPodAffinity" from cycleState: not found'

    def affected_by_placement(self, info: PodInfo, context: Context) -> Affected:
        return Affected.ALL

    def kept_answers(self, info: PodInfo, context: Context) -> KeptAffinity:
        from kitlib.scheduler.plugins.affinity_kept import KeptAffinity  # loaded with the second pod of a kind

        return KeptAffinity(info, context, self.hard_weight, self.ignore_existing)

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
            _add_standing(existing, context, standing)
        if not existing and not info.required_affinity and not info.required_anti_affinity:
            return PreFilterResult(SKIP)
        affinity: Places = {}
        anti: Places = {}
        wanted = unrolled(info.required_affinity, context)
        if wanted:
            liked = matching_all(wanted, context)
            if liked.any():
                for term in wanted:
                    _add(affinity, context, term, liked)
        for term in unrolled(info.required_anti_affinity, context):
            _add(anti, context, term, matching(term, context))
        return PreFilterResult(AffinityFilterState(existing, affinity, anti))

    def filter(self, state: AffinityFilterState, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        if info.required_affinity:
            labelled = np.ones(len(rows), np.bool_)
            near = np.ones(len(rows), np.bool_)
            for term in info.required_affinity:
                codes = context.snapshot.label(term.topology_key)[0][rows]
                labelled &= codes >= 0
                near &= _counts(state.affinity, term.topology_key, codes) > 0
            # the first pod of a group that wants to be near itself may stand anywhere
            nobody = not any(counts.any() for counts in state.affinity.values())
            first = nobody and all_match(unrolled(info.required_affinity, context), info, context)
            passes = labelled & (near | first)
            found.reject(~passes, Code.UnschedulableAndUnresolvable, AFFINITY)
        for places, reason in ((state.anti_affinity, ANTI_AFFINITY), (state.existing_anti, EXISTING)):
            for key in places:
                codes = context.snapshot.label(key)[0][rows]
                found.reject(_counts(places, key, codes) > 0, Code.Unschedulable, reason)
        return found

    def pre_score(self, info: PodInfo, context: Context, rows: Rows) -> Any:
        places: Places = {}
        wishes = info.preferred_affinity or info.preferred_anti_affinity
        # existing pods' preferences are ignored only where the pod has none of its own. Source: PreScore
        if not wishes and self.ignore_existing and context.release.enabled("KitPreScoreSkips"):
            return SKIP
        for terms, sign in ((info.preferred_affinity, 1), (info.preferred_anti_affinity, -1)):
            for term in unrolled(terms, context):
                _add(places, context, term, sign * term.weight * matching(term, context))
        kinds = [("required_affinity", self.hard_weight)] if self.hard_weight else []
        kinds += [("preferred_affinity", 0), ("preferred_anti_affinity", -1)]
        for kind, weight in kinds:
            for standing in standing_that_mean(info, context, kind):
                term = standing.term
                factor = weight if weight > 0 else (term.weight if weight == 0 else -term.weight)
                _add_standing(places, context, standing, factor)
        return places if places or not context.release.enabled("KitPreScoreSkips") else SKIP

    def score(self, state: Places, info: PodInfo, context: Context, rows: Rows) -> Scores:
        total = np.zeros(len(rows), np.int64)
        for key in state:
            total += _counts(state, key, context.snapshot.label(key)[0][rows])
        return total

    def normalize(self, state: Any, scores: Scores) -> Scores:
        low, high = int(scores.min()), int(scores.max())
        if high == low:
            return np.zeros(len(scores), np.int64)
        return (MAX_NODE_SCORE * ((scores - low) / (high - low))).astype(np.int64)


def _add(places: Places, context: Context, term: Term, by_row: NDArray[np.int64]) -> None:
    """Count by place what stands on the rows; a place that nothing stands in is not made."""
    key = term.topology_key
    codes, values = context.snapshot.label(key)
    counts = places.get(key)
    if context.snapshot.is_one_to_one(key):
        if counts is not None:
            counts[:-1] += by_row
        elif by_row.any():
            counts = places[key] = np.zeros(len(values) + 1, np.int64)
            counts[:-1] = by_row
        return
    rows = np.flatnonzero(by_row)
    rows = rows[codes[rows] >= 0]
    if len(rows):
        if counts is None:
            counts = places[key] = np.zeros(len(values) + 1, np.int64)
        np.add.at(counts, codes[rows], by_row[rows])


def _add_standing(places: Places, context: Context, standing: StandingTerm, factor: int = 1) -> None:
    """Count by place the pods that have a term, each as `factor`; a place that nothing stands in is not made."""
    key = standing.term.topology_key
    codes, values = context.snapshot.label(key)
    numbers = [(code, number) for row, number in standing.rows.items() if (code := codes.item(row)) >= 0]
    if not numbers:
        return
    counts = places.get(key)
    if counts is None:
        counts = places[key] = np.zeros(len(values) + 1, np.int64)
    for code, number in numbers:
        counts[code] += factor * number


def _counts(places: Places, key: str, codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """The counts of the places that the rows stand in; 0 where the label is missing."""
    found = places.get(key)
    return np.zeros(len(codes), np.int64) if found is None else found[codes]


def _neighbour(pod: Pod, old: Any, new: Any) -> bool:
    """A pod that an affinity term means came, or one that an anti-affinity term means left.

    Source: interpodaffinity isSchedulableAfterPodChange.
    """
    other = new if new is not None else old
    if uid_of(other) == uid_of(pod):
        return True
    info = PodInfo(pod)
    namespaces: Mapping[str, Mapping[str, str]] = {other.metadata.namespace: {}}

    def meant(terms: Iterable[Any], seen: Any) -> bool:
        return seen is not None and any(term.matches(seen, namespaces) for term in terms)

    if meant(info.required_affinity, new) and not meant(info.required_affinity, old):
        return True
    if meant(info.required_anti_affinity, old) and not meant(info.required_anti_affinity, new):
        return True
    # a pod that left may have kept this one away by a term of its own
    return new is None and any(term.matches(pod, {}) for term in PodInfo(other).required_anti_affinity)


def _neighbour_node(pod: Pod, old: Any, new: Any) -> bool:
    """A node came, or changed, that has a label which a term looks at. Source: isSchedulableAfterNodeChange."""
    info = PodInfo(pod)
    keys = {term.topology_key for term in (*info.required_affinity, *info.required_anti_affinity)}
    labels = new.metadata.labels
    if old is not None:
        return any(labels.get(key) != old.metadata.labels.get(key) for key in keys)
    return not keys or any(key in labels for key in keys)
