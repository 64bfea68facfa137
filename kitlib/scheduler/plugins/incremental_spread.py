"""PodTopologySpread for the next pod of a signature: the counts by domain are updated with each pod.

Filter and Score are `DomainCounts.permitted` and `ScoreState`, as for any pod. Two results are cached besides: the rows
of each combination of permitted domains, and for a single constraint the score of each count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kitlib.scheduler.framework.incremental_answers import LiveCounts, Mask
from kitlib.scheduler.framework.plugin import Context
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Rows
from kitlib.scheduler.plugins.spread_domains import (
    DomainCounts,
    Domains,
    ScoreState,
    between,
    count_of,
    nobody_counts,
    score_for_count,
    topology_normalizing_weight,
    whole,
)

MAX_MASKS = 64
"""The number of combinations of permitted domains whose rows are kept."""


class _FollowingCounts(DomainCounts):
    """Counts by domain that are updated as pods come and go.

    Args:
        domains: the domains of a constraint of the pod.
        info: a pod of the signature.
        context: the cluster.
    """

    def __init__(self, domains: Domains, info: PodInfo, context: Context) -> None:
        super().__init__(domains, np.zeros(domains.size + (not domains.hosts), np.int64))
        self._pod, self._context = info.pod, context
        self._nobody = nobody_counts(domains, context)
        # only the rows that the inclusion policies admit are summed up; all others belong to no place
        self._counting = np.full(len(domains.codes), -1, np.int32)
        self._counting[domains.rows] = domains.codes[domains.rows]
        every_row = len(domains.rows) == len(domains.codes)
        # the key names the rows, so that constraints that count the same ones share a sum
        places = None if every_row else np.packbits(self._counting >= 0).tobytes()
        self._places = ("spread", domains.constraint.topology_key, places)
        self._masks: dict[bytes, Mask] = {}
        self.follow()

    def follow(self) -> None:
        """Look the counts up again in the snapshot, which adds and removes pods in place."""
        if self._nobody:
            return
        domains = self.domains
        key, matches = count_of(domains, self._pod)
        self.counts = self._context.snapshot.counted_by(
            key,
            matches,
            self._places,
            None if domains.hosts else self._counting,
            domains.size,
            domains.constraint.selector,
        )

    def restrict(self, passing: Mask) -> None:
        """Remove the rows in domains that may not take the pod."""
        good = self.permitted()
        if self.domains.hosts:
            passing &= good
            return
        # a placement rarely changes the set of permitted domains, so its rows are cached
        key = good.tobytes()
        mask = self._masks.get(key)
        if mask is None:
            if len(self._masks) >= MAX_MASKS:
                self._masks.clear()
            mask = self._masks[key] = good[self.domains.codes]
        passing &= mask


class IncrementalSpread:
    """The answers for the next pod of a signature.

    Args:
        info: a pod of the signature.
        context: the cluster.
        hard: the domains of the constraints for Filter.
        soft: the domains of the constraints for Score.
        ignored: the mask of the rows that get no score.
    """

    def __init__(
        self, info: PodInfo, context: Context, hard: Sequence[Domains], soft: Sequence[Domains], ignored: Mask
    ) -> None:
        self._release = context.release
        self._hard = [_FollowingCounts(domains, info, context) for domains in hard]
        self._soft = [_FollowingCounts(domains, info, context) for domains in soft]
        self._ignored, self._none_ignored = ignored, not ignored.any()
        self._scores = bool(soft) or not context.release.enabled("KitPreScoreSkips")
        self._live_counts = LiveCounts(context.snapshot, self._look)

    def passes_all(self) -> bool:
        return not self._hard

    def scores_none(self) -> bool:
        return not self._scores

    def _look(self) -> None:
        for following_counts in (*self._hard, *self._soft):
            following_counts.follow()

    def restrict(self, passing: Mask) -> Mask | None:
        if not self._live_counts.are_found():
            return None
        for following_counts in self._hard:
            following_counts.restrict(passing)
        return passing

    def normalized(self, rows: Rows) -> NDArray[np.int64] | None:
        if len(self._soft) == 1 and self._none_ignored:
            codes = self._soft[0].domains.codes
            if self._soft[0].domains.hosts or codes[rows].min() >= 0:
                return self._by_count(self._soft[0], rows)
        state = ScoreState.of([*self._soft], rows, self._ignored[rows])
        return state.normalized(state.raw(rows, self._release))

    def _by_count(self, domain_counts: DomainCounts, rows: Rows) -> NDArray[np.int64]:
        """Return the scores for a single constraint: each distinct count is scored once."""
        counts = domain_counts.by_row(rows)
        least, most = int(counts.min()), int(counts.max())
        weight = topology_normalizing_weight(domain_counts.domains, rows)
        # the score grows with the count, so the first and last values are the minimum and maximum of the raw scores
        raw = whole(
            score_for_count(np.arange(least, most + 1), domain_counts.domains.constraint.max_skew, weight),
            self._release,
        )
        points = between(raw, int(raw[0]), int(raw[-1]))
        return points[counts - least] if least else points[counts]
