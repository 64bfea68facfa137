"""InterPodAffinity: near pods that it likes, away from pods that it does not like, and from pods that do not like it.

A term names pods (by labels and namespaces) and a topology key; two nodes with the same value of that label are one
place.

Source: plugins/interpodaffinity (filtering.go, scoring.go).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitlib.api.errors import KitError
from kitlib.scheduler.plugin import MAX_NODE_SCORE, SKIP, Context, Plugin, PreFilterResult, Scores
from kitlib.scheduler.pod_info import PodInfo, Term
from kitlib.scheduler.status import Code, Rows, Verdicts

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"
HARD_WEIGHT = 1
Places = dict[str, dict[int, int]]
"""Topology key -> number of the label's value -> count."""


@dataclass
class FilterState:
    """Counts by place: of existing pods that do not like the pod, of those that it likes, of those that it does not."""

    existing_anti: Places
    affinity: Places
    anti_affinity: Places


class InterPodAffinity(Plugin):
    """Looks at other pods, through the places that they stand in."""

    name = "InterPodAffinity"

    def __init__(self, arguments: Mapping[str, Any] | None = None) -> None:
        super().__init__(arguments)
        self.hard_weight = int(self.arguments.get("hardPodAffinityWeight", HARD_WEIGHT))
        if not 0 <= self.hard_weight <= 100:
            raise KitError(f"hardPodAffinityWeight: Invalid value: {self.hard_weight}: not in valid range [0, 100]")
        self.ignore_existing = bool(self.arguments.get("ignorePreferredTermsOfExistingPods", False))

    # ------------------------------------------------------------------------------------------------ Filter

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        existing: Places = defaultdict(lambda: defaultdict(int))
        for other in context.table.with_affinity.values():
            for term in other.required_anti_affinity:
                if term.matches(info.pod, context.namespaces):
                    _add(existing, context, term, other.row, 1)
        affinity: Places = defaultdict(lambda: defaultdict(int))
        anti: Places = defaultdict(lambda: defaultdict(int))
        if info.required_affinity or info.required_anti_affinity:
            for other in context.table.every_pod():
                if _all_match(info.required_affinity, other, context):
                    for term in info.required_affinity:
                        _add(affinity, context, term, other.row, 1)
                for term in info.required_anti_affinity:
                    if term.matches(other.pod, context.namespaces):
                        _add(anti, context, term, other.row, 1)
        if not existing and not info.required_affinity and not info.required_anti_affinity:
            return PreFilterResult(SKIP)
        return PreFilterResult(FilterState(existing, affinity, anti))

    def filter(self, state: FilterState, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        if info.required_affinity:
            labelled = np.ones(len(rows), np.bool_)
            near = np.ones(len(rows), np.bool_)
            for term in info.required_affinity:
                codes = context.table.label(term.topology_key)[0][rows]
                labelled &= codes >= 0
                near &= _counts(state.affinity, term.topology_key, codes) > 0
            # the first pod of a group that wants to be near itself may stand anywhere
            first = not state.affinity and _all_match(info.required_affinity, info, context)
            passes = labelled & (near | first)
            found.reject(~passes, Code.UnschedulableAndUnresolvable, AFFINITY)
        for places, reason in ((state.anti_affinity, ANTI_AFFINITY), (state.existing_anti, EXISTING)):
            for key in places:
                codes = context.table.label(key)[0][rows]
                found.reject(_counts(places, key, codes) > 0, Code.Unschedulable, reason)
        return found

    # ------------------------------------------------------------------------------------------------ Score

    def pre_score(self, info: PodInfo, context: Context, rows: Rows) -> Any:
        places: Places = defaultdict(lambda: defaultdict(int))
        wishes = info.preferred_affinity or info.preferred_anti_affinity
        if not wishes and self.ignore_existing:
            return SKIP
        others: Iterable[PodInfo] = context.table.every_pod() if wishes else context.table.with_affinity.values()
        for other in others:
            for term in info.preferred_affinity:
                if term.matches(other.pod, context.namespaces):
                    _add(places, context, term, other.row, term.weight)
            for term in info.preferred_anti_affinity:
                if term.matches(other.pod, context.namespaces):
                    _add(places, context, term, other.row, -term.weight)
            if other.has_affinity:
                self._add_existing(places, other, info, context)
        return places if places else SKIP

    def _add_existing(self, places: Places, other: PodInfo, info: PodInfo, context: Context) -> None:
        """What a pod that stands there would like."""
        if self.hard_weight > 0:
            for term in other.required_affinity:
                if term.matches(info.pod, context.namespaces):
                    _add(places, context, term, other.row, self.hard_weight)
        if self.ignore_existing:
            return
        for term in other.preferred_affinity:
            if term.matches(info.pod, context.namespaces):
                _add(places, context, term, other.row, term.weight)
        for term in other.preferred_anti_affinity:
            if term.matches(info.pod, context.namespaces):
                _add(places, context, term, other.row, -term.weight)

    def score(self, state: Places, info: PodInfo, context: Context, rows: Rows) -> Scores:
        total = np.zeros(len(rows), np.int64)
        for key in state:
            total += _counts(state, key, context.table.label(key)[0][rows])
        return total

    def normalize(self, state: Any, scores: Scores) -> Scores:
        low, high = int(scores.min()), int(scores.max())
        if high == low:
            return np.zeros(len(scores), np.int64)
        return (MAX_NODE_SCORE * ((scores - low) / (high - low))).astype(np.int64)


def _all_match(terms: Iterable[Term], other: PodInfo, context: Context) -> bool:
    """Whether a pod is meant by all of the terms (and there are some). Source: podMatchesAllAffinityTerms."""
    listed = list(terms)
    return bool(listed) and all(term.matches(other.pod, context.namespaces) for term in listed)


def _add(places: Places, context: Context, term: Term, row: int, amount: int) -> None:
    code = int(context.table.label(term.topology_key)[0][row])
    if code >= 0:
        places[term.topology_key][code] += amount


def _counts(places: Places, key: str, codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """The counts of the places that the rows stand in; 0 where the label is missing."""
    found = places.get(key)
    if not found:
        return np.zeros(len(codes), np.int64)
    table = np.zeros(max(int(codes.max(initial=-1)), *found) + 2, np.int64)
    for code, count in found.items():
        table[code] = count
    return table[codes]  # -1 reads the last place, which nothing is counted in
