"""The virtual clock: time stands still until it is moved, so two runs show the same times.

    now = start + seconds;  seconds = microseconds / 1e6

Cluster, scheduler and queue read this one clock, each in its own unit.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(2026, 1, 5, 8, 0, 0, tzinfo=UTC)
"""The date at second 0 of every virtual clock that is given no other."""


class VirtualClock:
    """Time since the start, and the date that it stands for.

    Args:
        start: the date at second 0.
        start_ms: the first reading, milliseconds.
    """

    def __init__(self, start: datetime = EPOCH, start_ms: int = 0) -> None:
        self.start = start
        self._microseconds = start_ms * 1000

    @property
    def seconds(self) -> float:
        """Seconds since the start, exact to the microsecond."""
        return self._microseconds / 1e6

    def now_ms(self) -> int:
        """Whole milliseconds since the start."""
        return self._microseconds // 1000

    def now(self) -> datetime:
        """The date."""
        return self.start + timedelta(microseconds=self._microseconds)

    def move(self, seconds: float) -> None:
        """Let time pass; rounded to microseconds, so that many small moves make one big one."""
        self._microseconds += round(seconds * 1e6)

    def set_ms(self, time_ms: int) -> None:
        """Move to a time.

        Raises:
            ValueError: where the time lies in the past.
        """
        if time_ms * 1000 < self._microseconds:
            raise ValueError(f"the clock shows {self.now_ms()} ms and cannot go back to {time_ms} ms")
        self._microseconds = time_ms * 1000

    def __repr__(self) -> str:
        return f"VirtualClock({self.seconds:g} s)"
