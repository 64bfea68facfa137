"""A plugin's answers for pods of one signature, which follow the pods that come and go.

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
"""How often counts are looked for that are all there at once."""


class VersionedCounts(Protocol):
    """A snapshot, as far as counts of it are followed."""

    @property
    def counts(self) -> int:
        """A number that changes when other counts are kept than before."""
        ...


class LiveCounts:
    """Per-pod counts of a snapshot, looked up again when the snapshot has discarded or added some.

    Args:
        table: whose counts.
        look: finds them all; finding one may end others.
    """

    def __init__(self, table: VersionedCounts, look: Callable[[], None]) -> None:
        self._table, self._look = table, look
        self._version = -1

    def are_found(self) -> bool:
        """Look again where it is needed; whether all of them are there."""
        table = self._table
        for _ in range(TRIES):
            if self._version == table.counts:
                return True
            self._version = table.counts
            self._look()
        return self._version == table.counts


class IncrementalAnswers(Protocol):
    """A plugin's answers for the next pod of a kind, on the cluster as it stands."""

    def passes_all(self) -> bool:
        """Whether PreFilter would leave the plugin out of Filter now."""

    def scores_none(self) -> bool:
        """Whether no row gets a score now."""

    def restrict(self, passing: Mask) -> Mask | None:
        """Which of the rows pass that have passed so far; None = a whole cycle is needed to say what is wrong.

        Args:
            passing: by row; may be changed.
        """

    def normalized(self, rows: Rows) -> NDArray[np.int64] | None:
        """The normalised scores of the feasible rows; None = the plugin scores nothing, or all rows alike with 0.

        Args:
            rows: the feasible ones.
        """
