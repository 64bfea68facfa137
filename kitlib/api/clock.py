"""The virtual clock: time stands still until it is moved, so two runs show the same times.

    now = start + seconds;  seconds = microseconds / 1e6

Cluster, scheduler and queue read this one clock, each in its own unit.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from kitlib.api.errors import KitError

EPOCH = datetime(2026, 1, 5, 8, 0, 0, tzinfo=UTC)
"""The date at second 0 of every virtual clock that is given no other."""
FIRST, LAST = datetime(1000, 1, 1, tzinfo=UTC), datetime(9700, 1, 1, tzinfo=UTC)
"""The dates between which virtual clocks go: the longest `duration` before and after them still is a date."""


_STEADY_START = datetime.now(UTC) - timedelta(seconds=time.monotonic())


def steady_now() -> datetime:
    """Return the machine's date as this process first read it, and the time that has passed since.

    Unlike the date, it neither jumps nor goes back, so it measures durations.
    """
    return _STEADY_START + timedelta(seconds=time.monotonic())


def duration(seconds: int) -> timedelta:
    """Seconds of a field of 64 bits, as Go counts them: in nanoseconds of 64 bits, so that more than 292 years wrap.

    Source: Go time.Duration; `time.Duration(seconds) * time.Second` in apiserver BeforeDelete and the controllers.
    """
    nanoseconds = (seconds * 10**9 + 2**63) % 2**64 - 2**63
    return timedelta(microseconds=nanoseconds // 1000)


class VirtualClock:
    """Time since the start, and the date that it stands for.

    Args:
        start: the date at second 0.
        start_ms: the first reading, milliseconds.

    Raises:
        KitError: for a start before the first date or after the last.
    """

    def __init__(self, start: datetime = EPOCH, start_ms: int = 0) -> None:
        aware = start if start.tzinfo else start.replace(tzinfo=UTC)
        if not FIRST <= aware <= LAST:
            raise KitError(f"start: must be a date from {FIRST:%Y-%m-%d} to {LAST:%Y-%m-%d}, got {start.isoformat()}")
        self._last = (LAST - aware) // timedelta(microseconds=1)
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

    def steady_now(self) -> datetime:
        """Return the date: this clock is never set."""
        return self.now()

    def move(self, seconds: float) -> None:
        """Let time pass; rounded to microseconds, so that many small moves make one big one.

        Raises:
            KitError: where the last date would be passed; the clock stands still then.
        """
        moved = self._microseconds + round(seconds * 1e6)
        if moved > self._last:
            raise KitError(f"the cluster's clock shows {self.now():%Y-%m-%d} and does not pass {LAST:%Y-%m-%d}")
        self._microseconds = moved

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
