"""A plugin's answers for pods of one signature, which are updated as pods come and go.

Source: KEP-5598, which keeps the scored list of nodes; here the counts behind it are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kitlib.scheduler.framework.status import Rows

Mask = NDArray[np.bool_]
TRIES = 3
"""The number of attempts to find all counts at once."""


class VersionedCounts(Protocol):
    """A snapshot with a versioned set of counts."""

    @property
    def counts(self) -> int:
        """A number that changes when counts are added or discarded."""
        ...


class LiveCounts:
    """The counts of a snapshot for one kind of pods, looked up again when the snapshot has discarded or added some.

    Args:
        table: the snapshot with the counts.
        look: the function that looks up all counts; adding one may discard others.
    """

    def __init__(self, table: VersionedCounts, look: Callable[[], None]) -> None:
        self._table, self._look = table, look
        self._version = -1

    def are_found(self) -> bool:
        """Look up the counts again if needed; return whether all of them are current."""
        table = self._table
        for _ in range(TRIES):
            if self._version == table.counts:
                return True
            self._version = table.counts
            # if this adds a count, the version grows, and a full store discards counts found before: look again
            self._look()
        return self._version == table.counts


class IncrementalAnswers(Protocol):
    """A plugin's answers for the next pod of a kind, on the current cluster."""

    def passes_all(self) -> bool:
        """Return whether PreFilter would skip the plugin's Filter now."""

    def scores_none(self) -> bool:
        """Return whether no row gets a score now."""

    def restrict(self, passing: Mask) -> Mask | None:
        """Return the mask of the rows that pass this plugin too; None = a whole cycle is needed to find the problem.

        Args:
            passing: the mask of the rows that have passed so far; may be changed in place.
        """

    def normalized(self, rows: Rows) -> NDArray[np.int64] | None:
        """Return the normalised scores of the feasible rows; None = the plugin does not score, or every score is 0.

        Args:
            rows: the feasible rows.
        """
