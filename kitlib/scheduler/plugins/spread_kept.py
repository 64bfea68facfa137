"""PodTopologySpread's answers for pods of a kind: from counts by domain that follow the pods."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitlib.scheduler.framework.kept_answers import Followed, Mask
from kitlib.scheduler.framework.plugin import MAX_NODE_SCORE, Context
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Rows
from kitlib.scheduler.plugins.spread_domains import Domains, count_of, nobody_counts, skews

MAX_MASKS = 64
"""Combinations of domains that are full of which it is known at once which rows are left."""


class _Counted:
    """A constraint's domains with their counts, which end with a 0 for rows in no domain.

    Args:
        domains: of a pod of the kind.
        info: the pod.
        context: the cluster.
    """

    def __init__(self, domains: Domains, info: PodInfo, context: Context) -> None:
        self.domains, self._pod, self._context = domains, info.pod, context
        self.own_rows = domains.hosts
        self._nobody = nobody_counts(domains, context)
        self._counting = np.full(len(domains.codes), -1, np.int32)
        self._counting[domains.rows] = domains.codes[domains.rows]
        whole = len(domains.rows) == len(domains.codes)
        places = None if whole else np.packbits(self._counting >= 0).tobytes()
        self._places = ("spread", domains.constraint.topology_key, places)
        self._masks: dict[bytes, Mask] = {}
        self.follow()

    def follow(self) -> None:
        """Look for the counts again."""
        one = self.domains
        if self._nobody:
            self.counts = np.zeros(one.size + (0 if self.own_rows else 1), np.int64)
            return
        codes = None if self.own_rows else self._counting
        key, matches = count_of(one, self._pod)
        self.counts = self._context.snapshot.counted_by(
            key, matches, self._places, codes, one.size, one.constraint.selector
        )

    def restrict(self, passing: Mask) -> None:
        """Take out the rows where one more would be too many."""
        one = self.domains
        by_domain = self.counts if self.own_rows else self.counts[:-1]
        good = skews(one, self.counts, one.smallest(by_domain)) <= one.constraint.max_skew
        if self.own_rows:
            passing &= good
            return
        good[-1] = False  # without the label
        key = good.tobytes()
        mask = self._masks.get(key)
        if mask is None:
            if len(self._masks) >= MAX_MASKS:
                self._masks.clear()
            mask = self._masks[key] = good[one.codes]
        passing &= mask

    def by_row(self, rows: Rows) -> NDArray[np.int64]:
        """The counts of the domains that the rows stand in."""
        found: NDArray[np.int64] = self.counts[rows] if self.own_rows else self.counts[self.domains.codes[rows]]
        return found


class KeptSpread:
    """How pods that a kind's constraints count stand now.

    Args:
        info: a pod of the kind.
        context: the cluster.
        hard, soft: domains of the constraints of Filter and of Score.
        ignored: rows that get no score.
        host_key: the label of host names: as many domains as rows.
    """

    def __init__(
        self,
        info: PodInfo,
        context: Context,
        hard: Sequence[Domains],
        soft: Sequence[Domains],
        ignored: Mask,
        host_key: str,
    ) -> None:
        self._context, self._host_key = context, host_key
        self._hard = [_Counted(one, info, context) for one in hard]
        self._soft = [_Counted(one, info, context) for one in soft]
        self._ignored = ignored if ignored.any() else None
        self._rounded = context.release.enabled("KitSpreadScoreRounded")
        self._scores = bool(soft) or not context.release.enabled("KitPreScoreSkips")
        self._followed = Followed(context.snapshot, self._look)

    def passes_all(self) -> bool:
        return not self._hard

    def scores_none(self) -> bool:
        return not self._scores

    def _look(self) -> None:
        for one in (*self._hard, *self._soft):
            one.follow()

    def restrict(self, passing: Mask) -> Mask | None:
        if not self._followed.are_there():
            return None
        for one in self._hard:
            one.restrict(passing)
        return passing

    def normalized(self, rows: Rows) -> NDArray[np.int64] | None:
        ignored = self._ignored[rows] if self._ignored is not None else None
        feasible = rows if ignored is None else rows[~ignored]
        if len(self._soft) == 1 and ignored is None:
            return self._by_count(self._soft[0], rows)
        total = np.zeros(len(rows), np.float64)
        for one in self._soft:
            part = one.by_row(rows) * self._weight(one, feasible) + (one.domains.constraint.max_skew - 1)
            total += part if one.own_rows else np.where(one.domains.codes[rows] >= 0, part, 0.0)
        whole = self._whole(total)
        if ignored is None:
            return _normalized(whole, int(whole.min()), int(whole.max()))
        counted = whole[~ignored]
        if not len(counted):
            return None
        made = _normalized(whole, int(counted.min()), int(counted.max()))
        return np.where(ignored, 0, made)

    def _by_count(self, one: _Counted, rows: Rows) -> NDArray[np.int64] | None:
        """With a single constraint the score follows from the count, of which there are few different ones."""
        counts = one.by_row(rows)
        least, most = int(counts.min()), int(counts.max())
        weight, skew = self._weight(one, rows), one.domains.constraint.max_skew
        if not one.own_rows and (one.domains.codes[rows] < 0).any():
            total = np.where(one.domains.codes[rows] >= 0, counts * weight + (skew - 1), 0.0)
            whole = self._whole(total)
            return _normalized(whole, int(whole.min()), int(whole.max()))
        by_count = self._whole(np.arange(least, most + 1) * weight + (skew - 1))
        points = _normalized(by_count, int(by_count[0]), int(by_count[-1]))
        return points[counts - least] if least else points[counts]

    def _weight(self, one: _Counted, feasible: Rows) -> float:
        """Source: topologyNormalizingWeight."""
        if one.domains.constraint.topology_key == self._host_key:
            return math.log(len(feasible) + 2)
        # where a label may be missing, missing it counts as one more value
        codes = one.domains.codes[feasible]
        return math.log(int(np.count_nonzero(np.bincount(codes + 1, minlength=1))) + 2)

    def _whole(self, scores: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
        return np.floor(scores + 0.5).astype(np.int64) if self._rounded else scores.astype(np.int64)


def _normalized(scores: NDArray[np.int64], low: int, high: int) -> NDArray[np.int64]:
    if high == 0:
        return np.full(len(scores), MAX_NODE_SCORE, np.int64)
    return MAX_NODE_SCORE * (high + low - scores) // high
