"""The clock of the scheduler: whole milliseconds that move only when somebody moves them.

Back-off, the flush of pods that waited too long and every time stamp of the queue are read from this clock, so a
scenario of ten minutes runs in no time and gives the same answer on every run, in a browser as well as on a server.
"""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """What the queue needs of a clock; a node's or a cluster's clock fits as well."""

    def now_ms(self) -> int:
        """Milliseconds since the clock's origin; the origin is a whole second."""
        ...


class VirtualClock:
    """A clock that stands still until it is moved.

    Args:
        start_ms: first reading, milliseconds.
    """

    def __init__(self, start_ms: int = 0) -> None:
        self._now_ms = start_ms

    def now_ms(self) -> int:
        return self._now_ms

    def set_ms(self, time_ms: int) -> None:
        """Move to a time.

        Raises:
            ValueError: the time lies in the past.
        """
        if time_ms < self._now_ms:
            raise ValueError(f"the clock shows {self._now_ms} ms and cannot go back to {time_ms} ms")
        self._now_ms = time_ms

    def advance_ms(self, by_ms: int) -> None:
        """Move forward by a number of milliseconds."""
        self.set_ms(self._now_ms + by_ms)

    def __repr__(self) -> str:
        return f"VirtualClock({self._now_ms / 1000:g} s)"
