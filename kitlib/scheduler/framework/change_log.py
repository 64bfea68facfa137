"""A log of the rows of a snapshot that have changed: values computed from the other rows stay valid.

The log keeps the last changes only. A reader that is further behind recomputes all rows.
"""

from __future__ import annotations

KEPT = 10_000
"""The minimum number of changes that are kept; the maximum is twice as many."""


class ChangeLog:
    """The changed rows, one entry per change.

    Attributes:
        position: the number of changes so far.
    """

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._forgotten = 0
        self.position = 0

    def __len__(self) -> int:
        """Return the number of changes that are kept."""
        return len(self._rows)

    def append(self, row: int) -> None:
        """Record a change of a row."""
        self._rows.append(row)
        self.position += 1
        if len(self._rows) > 2 * KEPT:
            self._forgotten += KEPT
            del self._rows[:KEPT]

    def since(self, position: int) -> set[int] | None:
        """Return the rows that have changed since a position; None = the log no longer contains it."""
        if position < self._forgotten:
            return None
        return set(self._rows[position - self._forgotten :])
