"""InterPodAffinity's answers for pods of a kind: from counts by place that follow the pods."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitlib.scheduler.framework.kept_answers import Followed, Mask
from kitlib.scheduler.framework.plugin import MAX_NODE_SCORE, Context
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Rows
from kitlib.scheduler.plugins.affinity_terms import (
    all_match,
    matching_all_by_place,
    matching_by_place,
    standing_that_mean,
    unrolled,
)

Counts = NDArray[np.int64]


@dataclass
class Looked:
    """The counts that matter, by topology key: all follow the pods.

    Attributes:
        forbidden: where none may stand.
        liked: where some must stand, of each required term.
        points: with the weight of one pod.
    """

    forbidden: list[tuple[str, Counts]] = field(default_factory=list)
    liked: list[tuple[str, Counts]] = field(default_factory=list)
    points: dict[str, list[tuple[int, Counts]]] = field(default_factory=dict)


class KeptAffinity:
    """What stands where of the pods that a kind likes and dislikes, and that like and dislike it.

    Args:
        info: a pod of the kind.
        context: the cluster.
        hard_weight: of standing pods' required affinity.
        ignore_existing: whether preferences of standing pods count only if the pod has some itself.
    """

    def __init__(self, info: PodInfo, context: Context, hard_weight: int, ignore_existing: bool) -> None:
        self._info, self._context, self._hard_weight = info, context, hard_weight
        wishes = info.preferred_affinity or info.preferred_anti_affinity
        self._scores = bool(wishes) or not (ignore_existing and context.release.enabled("KitPreScoreSkips"))
        self._wanted = unrolled(info.required_affinity, context)
        self._meets_itself = all_match(self._wanted, info, context)
        self._followed = Followed(context.snapshot, self._look)
        self._looked = Looked()
        self._codes: dict[str, NDArray[np.int32] | None] = {}

    def passes_all(self) -> bool:
        return self._followed.are_there() and not (self._looked.forbidden or self._looked.liked)

    def scores_none(self) -> bool:
        return self._followed.are_there() and not self._looked.points

    def _look(self) -> None:
        info, context, found = self._info, self._context, Looked()
        for standing in standing_that_mean(info, context, "required_anti_affinity"):
            found.forbidden.append((standing.term.topology_key, standing.sums))
        for term in unrolled(info.required_anti_affinity, context):
            found.forbidden.append((term.topology_key, matching_by_place(term, context)))
        for term in self._wanted:
            key = term.topology_key
            found.liked.append((key, matching_all_by_place(self._wanted, key, context)))
        for key, weight, counts in self._points() if self._scores else ():
            found.points.setdefault(key, []).append((weight, counts))
        self._looked = found

    def _points(self) -> list[tuple[str, int, Counts]]:
        info, context = self._info, self._context
        made = []
        for terms, sign in ((info.preferred_affinity, 1), (info.preferred_anti_affinity, -1)):
            for term in unrolled(terms, context):
                made.append((term.topology_key, sign * term.weight, matching_by_place(term, context)))
        for kind, sign in (("required_affinity", 0), ("preferred_affinity", 1), ("preferred_anti_affinity", -1)):
            for standing in standing_that_mean(info, context, kind) if sign or self._hard_weight else ():
                weight = sign * standing.term.weight if sign else self._hard_weight
                made.append((standing.term.topology_key, weight, standing.sums))
        return made

    def _of_rows(self, key: str, by_place: NDArray[Any], rows: Rows | None = None) -> NDArray[Any]:
        """What places have, of the rows that stand in them; the last value, of no place, for rows in none."""
        if key not in self._codes:
            self._codes[key] = self._context.snapshot.places(key)[0]
        codes = self._codes[key]
        if codes is None:
            return by_place if rows is None else by_place[rows]
        return by_place[codes if rows is None else codes[rows]]

    def restrict(self, passing: Mask) -> Mask | None:
        if not self._followed.are_there():
            return None
        for key, counts in self._looked.forbidden:
            passing &= self._of_rows(key, counts == 0)
        liked = self._looked.liked
        if liked:
            # the first pod of a group that wants to be near itself may stand anywhere
            first = self._meets_itself and not any(counts.any() for _, counts in liked)
            for key, counts in liked:
                passing &= self._of_rows(key, _none_without_place(counts, first, key, self._context))
        return passing

    def normalized(self, rows: Rows) -> NDArray[np.int64] | None:
        total: NDArray[np.int64] | None = None
        for key, parts in self._looked.points.items():
            weight, counts = parts[0]
            summed = weight * counts
            for weight, counts in parts[1:]:
                summed += weight * counts
            here = self._of_rows(key, summed, rows)
            total = here if total is None else total + here
        if total is None:
            return None
        low, high = int(total.min()), int(total.max())
        if high == low:
            return None
        return (MAX_NODE_SCORE * ((total - low) / (high - low))).astype(np.int64)


def _none_without_place(counts: Counts, first: bool, key: str, context: Context) -> Mask:
    """Which places will do: those with pods, or all of them for the first pod; a row without the label never."""
    if context.snapshot.places(key)[0] is None:
        return np.ones(len(counts), np.bool_) if first else counts > 0
    good: Mask = counts > 0
    if first:
        good[:-1] = True
    return good
