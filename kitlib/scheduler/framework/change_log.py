"""Which rows of a snapshot have changed since a position: what was computed from the other rows still holds.

The log keeps the last changes only. A reader that is further behind computes everything anew.
"""

from __future__ import annotations

KEPT = 10_000
"""Changes that are remembered at least; twice as many at most."""


class ChangeLog:
    """Changed rows, one entry a change.

    Attributes:
        position: how many changes there have been.
    """

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._forgotten = 0
        self.position = 0

    def __len__(self) -> int:
        """How many changes are remembered."""
        return len(self._rows)

    def append(self, row: int) -> None:
        """A row has changed."""
        self._rows.append(row)
        self.position += 1
        if len(self._rows) > 2 * KEPT:
            self._forgotten += KEPT
            del self._rows[:KEPT]

    def since(self, position: int) -> set[int] | None:
        """The rows that have changed since a position; None where that is too long ago to be known."""
        if position < self._forgotten:
            return None
        return set(self._rows[position - self._forgotten :])
