"""InterPodAffinity for the next pod of a signature: the counts by place are updated with each pod.

Filter is `AffinityFilterState` and Score is the plugin's own, as for any pod; only the source of the counts differs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kitlib.scheduler.framework.counts import StandingTerm
from kitlib.scheduler.framework.incremental_answers import LiveCounts, Mask
from kitlib.scheduler.framework.plugin import Context, Plugin
from kitlib.scheduler.framework.pod_info import PodInfo, Term
from kitlib.scheduler.framework.status import Rows
from kitlib.scheduler.plugins.affinity_terms import (
    AffinityFilterState,
    TermCount,
    all_match,
    matching_all_by_place,
    matching_by_place,
    standing_that_mean,
    unrolled,
    weighted_terms,
)


class IncrementalAffinity:
    """The answers for the next pod of a signature.

    Args:
        plugin: the InterPodAffinity plugin.
        info: a pod of the signature.
        context: the cluster.
        hard_weight: the points of a standing pod's required affinity; None = such pods are not scored.
    """

    def __init__(self, plugin: Plugin, info: PodInfo, context: Context, hard_weight: int | None) -> None:
        self._plugin, self._info, self._context, self._hard_weight = plugin, info, context, hard_weight
        self._wanted = unrolled(info.required_affinity, context)
        self._matches_itself = all_match(self._wanted, info, context)
        self._live_counts = LiveCounts(context.snapshot, self._look)
        self._state = AffinityFilterState()
        self._weighted: dict[str, list[tuple[int, TermCount]]] = {}

    def passes_all(self) -> bool:
        if not self._live_counts.are_found():
            return False
        state = self._state
        return not (state.existing_anti or state.anti_affinity or state.affinity)

    def scores_none(self) -> bool:
        return self._live_counts.are_found() and not self._weighted

    def _look(self) -> None:
        info, context = self._info, self._context
        standing = standing_that_mean(info, context, "required_anti_affinity")
        self._state = AffinityFilterState(
            [self._count(standing_term) for standing_term in standing],
            [
                TermCount(self._codes(key), matching_all_by_place(self._wanted, key, context))
                for key in (term.topology_key for term in self._wanted)
            ],
            [self._count(term) for term in unrolled(info.required_anti_affinity, context)],
            self._matches_itself,
        )
        self._weighted = {}
        hard_weight = self._hard_weight
        for weight, term in weighted_terms(info, context, hard_weight) if hard_weight is not None else ():
            key = (term.term if isinstance(term, StandingTerm) else term).topology_key
            self._weighted.setdefault(key, []).append((weight, self._count(term)))

    def _codes(self, key: str) -> NDArray[np.int32] | None:
        return self._context.snapshot.places(key)[0]

    def _count(self, term: Term | StandingTerm) -> TermCount:
        """Return the count of pods that a term selects, or that have a standing term; it is updated with each pod."""
        if isinstance(term, StandingTerm):
            return TermCount(self._codes(term.term.topology_key), term.sums)
        return TermCount(self._codes(term.topology_key), matching_by_place(term, self._context))

    def restrict(self, passing: Mask) -> Mask | None:
        if not self._live_counts.are_found():
            return None
        state = self._state
        for term_count in (*state.existing_anti, *state.anti_affinity):
            passing &= term_count.at(None) == 0
        if state.affinity:
            passing &= state.satisfy_pod_affinity(None)
        return passing

    def normalized(self, rows: Rows) -> NDArray[np.int64] | None:
        if not self._weighted:
            return None
        places = {}
        for key, parts in self._weighted.items():
            weight, first = parts[0]
            summed = weight * first.counts  # a new array: the counts themselves must not change
            for weight, term_count in parts[1:]:
                summed += weight * term_count.counts
            places[key] = TermCount(first.codes, summed)
        plugin = self._plugin
        return plugin.normalize(places, plugin.score(places, self._info, self._context, rows))
