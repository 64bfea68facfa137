"""The virtual clock: time advances only when the clock is moved, so two runs show the same times.

    now = start + seconds;  seconds = microseconds / 1e6

The cluster, the scheduler and the queue read the same clock, each in its own unit.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from kitlib.api.errors import KitError

EPOCH = datetime(2026, 1, 5, 8, 0, 0, tzinfo=UTC)
"""The default date at second 0 of a virtual clock."""
FIRST, LAST = datetime(1000, 1, 1, tzinfo=UTC), datetime(9700, 1, 1, tzinfo=UTC)
"""The range of virtual clocks: a `duration` before or after these dates is still within the range of `datetime`."""


_STEADY_START = datetime.now(UTC) - timedelta(seconds=time.monotonic())


def steady_now() -> datetime:
    """Return the date at the start of this process plus the monotonic time since then.

    Unlike the machine's date, it never jumps and never goes back, so it can measure durations.
    """
    return _STEADY_START + timedelta(seconds=time.monotonic())


def duration(seconds: int) -> timedelta:
    """Convert the seconds of a 64-bit field as Go does: as 64 bits of nanoseconds, which wrap around after 292 years.

    Source: Go time.Duration; `time.Duration(seconds) * time.Second` in apiserver BeforeDelete and the controllers.
    """
    nanoseconds = (seconds * 10**9 + 2**63) % 2**64 - 2**63
    return timedelta(microseconds=nanoseconds // 1000)


class VirtualClock:
    """A clock of its own: the time since a start, and the date at that time.

    Args:
        start: the date at second 0.
        start_ms: the first reading, in milliseconds since the start.

    Raises:
        KitError: the start is before the first date or after the last one.
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
        """Return the current date of this clock."""
        return self.start + timedelta(microseconds=self._microseconds)

    def steady_now(self) -> datetime:
        """Return the current date: this clock never goes back, so its date measures durations."""
        return self.now()

    def move(self, seconds: float) -> None:
        """Advance the clock; the time is rounded to microseconds, so that many small moves add up to a large one.

        Raises:
            KitError: the move would pass the last date; the clock stays where it is.
        """
        moved = self._microseconds + round(seconds * 1e6)
        if moved > self._last:
            raise KitError(f"the cluster's clock shows {self.now():%Y-%m-%d} and does not pass {LAST:%Y-%m-%d}")
        self._microseconds = moved

    def set_ms(self, time_ms: int) -> None:
        """Advance the clock to a time.

        Raises:
            ValueError: the time is in the past.
        """
        if time_ms * 1000 < self._microseconds:
            raise ValueError(f"the clock shows {self.now_ms()} ms and cannot go back to {time_ms} ms")
        self._microseconds = time_ms * 1000

    def __repr__(self) -> str:
        return f"VirtualClock({self.seconds:g} s)"
