"""The machine's clock, for clusters whose nodes work by themselves."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from kitlib.api.clock import steady_now

TICK = 0.05
"""The interval in seconds at which a waiting cluster polls its nodes."""


class RealClock:
    """The machine's clock, with seconds since the start of the cluster."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """The seconds since the start of the cluster."""
        return time.monotonic() - self._began

    def follow(self, seconds: float) -> None:
        """Advance to the time of another clock of the same cluster if that one is ahead; never go back."""
        self._began = min(self._began, time.monotonic() - seconds)

    def now(self) -> datetime:
        """Return the current date."""
        return datetime.now(UTC)

    def steady_now(self) -> datetime:
        """Return the date of a monotonic clock, for durations."""
        return steady_now()

    def move(self, seconds: float) -> None:
        """Wait for these seconds."""
        time.sleep(seconds)
