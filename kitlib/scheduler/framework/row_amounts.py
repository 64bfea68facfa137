"""Numbers for what a row offers and what its pods request: equal numbers mean equal amounts.

A pod of a known kind leads from one number to another; each such step is read from the columns once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import count

MAX_KNOWN = 100_000
"""The number of different amounts after which all numbers and steps are discarded."""


class RowAmounts:
    """The numbers of the rows' amounts.

    Args:
        read: the function that returns a row's amounts.
    """

    def __init__(self, read: Callable[[int], tuple[int, ...]]) -> None:
        self._read = read
        self._rows: dict[int, int] = {}
        self._numbers: dict[tuple[int, ...], int] = {}
        self._steps: dict[tuple[int, Hashable, int], int] = {}
        self._unread: dict[int, tuple[int, Hashable, int]] = {}
        self._next = count()

    def of(self, row: int) -> int:
        """Return the number of a row's amounts."""
        found = self._rows.get(row)
        if found is not None:
            return found
        amounts = self._read(row)
        found = self._numbers.get(amounts)
        if found is None:
            # `_next` goes on, so that a discarded number never gets another meaning
            if len(self._numbers) >= MAX_KNOWN:
                self._numbers.clear()
                self._steps.clear()
            found = self._numbers[amounts] = next(self._next)
        step = self._unread.pop(row, None)
        if step is not None:
            self._steps[step] = found
        self._rows[row] = found
        return found

    def forget(self) -> None:
        """Discard what is known of all rows; amounts are longer from now on.

        The numbers go on: those that readers keep would otherwise get another meaning.
        """
        self._rows.clear()
        self._numbers.clear()
        self._steps.clear()
        self._unread.clear()

    def changed(self, row: int, kind: Hashable, sign: int) -> None:
        """Follow a pod that has come or gone.

        Args:
            row: the pod's row.
            kind: a value that is equal for pods with equal requests; None = unknown.
            sign: 1 = the pod has come, -1 = it has gone.
        """
        before = self._rows.pop(row, None)
        self._unread.pop(row, None)
        if before is None or kind is None:
            return
        step = before, kind, sign
        after = self._steps.get(step)
        if after is not None:
            self._rows[row] = after
        else:
            self._unread[row] = step
