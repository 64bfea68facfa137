"""Counts of pods by row and by place that follow the pods: what came and went is added, nothing is counted anew.

A place is a value of a label. Where every node has a value of its own (host names), the column by row is the one by
place too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kitlib.scheduler.framework.pod_info import PodInfo, Term

Column = NDArray[np.int64]
Codes = NDArray[np.int32]
Part = tuple[memoryview, memoryview | None, int]
"""A count, which place of it a row belongs to (None = its own), and what a pod adds to it. Single numbers are read and
written several times as fast through a view of the column."""
MAX_PLACES = 64
"""Ways to sum a count up by place that are kept at once."""


@dataclass
class Counted:
    """A count by row.

    Attributes:
        column: the count.
        matches: a pod's part of it, 0 = none.
        sums: the same by places: how rows belong to places (-1 = to none) and the sums; the last one stays 0.
    """

    column: Column
    matches: Callable[[PodInfo], int]
    sums: dict[Hashable, tuple[Codes, Column]] = field(default_factory=dict)

    def count(self, info: PodInfo, sign: int) -> None:
        """A pod has come (1) or gone (-1)."""
        add(self.parts(info), info.row, sign)

    def parts(self, info: PodInfo) -> list[Part]:
        """What a pod adds."""
        amount = self.matches(info)
        if not amount:
            return []
        found: list[Part] = [(self.column.data, None, amount)]
        return found + [(sums.data, codes.data, amount) for codes, sums in self.sums.values()]

    def by_place(self, key: Hashable, codes: Codes, size: int) -> Column:
        """The sums by place, followed by a 0.

        Args:
            key: of the places.
            codes: row -> place, -1 = none.
            size: how many places there are.
        """
        found = self.sums.get(key)
        if found is None:
            found = self.sums[key] = codes, sums_of(self.column, codes, size)
        return found[1]


@dataclass
class StandingTerm:
    """An affinity term of pods that stand.

    Attributes:
        term: the term.
        column: how many pods of each row have it.
        codes: row -> value of the term's topology key; None = every row has its own.
        sums: the number of pods by value, followed by a 0; `column` itself where every row has its own value.
    """

    term: Term
    column: Column
    codes: Codes | None
    sums: Column

    def count(self, row: int, sign: int) -> None:
        """A pod with the term has come or gone."""
        self.column[row] += sign
        if self.codes is not None and self.codes[row] >= 0:
            self.sums[self.codes[row]] += sign

    def copied(self) -> StandingTerm:
        """The same as it stands now."""
        column = self.column.copy()
        return StandingTerm(self.term, column, self.codes, column if self.codes is None else self.sums.copy())


def add(parts: Iterable[Part], row: int, sign: int) -> None:
    """Add a pod's parts to counts, or take them away."""
    for column, codes, amount in parts:
        place = row if codes is None else codes[row]
        if place < 0:
            continue
        try:
            column[place] += sign * amount
        except (OverflowError, ValueError):  # the sum is cut to 64 bits, as Go's is
            column[place] = (column[place] + sign * amount + 2**63) % 2**64 - 2**63


def sums_of(column: Column, codes: Codes, size: int) -> Column:
    """A count by row summed up by place; the last sum, of rows without a place, stays 0."""
    there = codes >= 0
    sums = np.zeros(size + 1, np.int64)
    np.add.at(sums, codes[there], column[there])
    return sums
