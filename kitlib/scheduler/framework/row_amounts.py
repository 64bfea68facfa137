"""What a row offers and what is taken of it, as a number: rows with equal amounts have the same number.

A pod of a known kind leads from one number to another one; what it leads to is looked at once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import count

MAX_KNOWN = 100_000
"""Numbers and steps between them that are known at once."""


class RowAmounts:
    """Numbers of the amounts of rows.

    Args:
        read: a row's amounts.
    """

    def __init__(self, read: Callable[[int], tuple[int, ...]]) -> None:
        self._read = read
        self._rows: dict[int, int] = {}
        self._numbers: dict[tuple[int, ...], int] = {}
        self._steps: dict[tuple[int, Hashable, int], int] = {}
        self._unread: dict[int, tuple[int, Hashable, int]] = {}
        self._next = count()

    def of(self, row: int) -> int:
        """The number of a row's amounts."""
        found = self._rows.get(row)
        if found is not None:
            return found
        amounts = self._read(row)
        found = self._numbers.get(amounts)
        if found is None:
            if len(self._numbers) >= MAX_KNOWN:
                self._numbers.clear()
                self._steps.clear()
            found = self._numbers[amounts] = next(self._next)
        step = self._unread.pop(row, None)
        if step is not None:
            self._steps[step] = found
        self._rows[row] = found
        return found

    def changed(self, row: int, kind: Hashable, sign: int) -> None:
        """A pod has come (1) or gone (-1).

        Args:
            kind: of pods that request the same; None = unknown.
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
