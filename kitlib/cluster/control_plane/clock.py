"""Virtual time: it stands still until somebody moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

START = datetime(2026, 1, 5, 8, 0, 0, tzinfo=UTC)
"""When every simulated cluster begins, so that two runs show the same times."""


class VirtualClock:
    """Seconds since the cluster began, and the date that they stand for.

    Args:
        start: the date at second 0.
    """

    def __init__(self, start: datetime = START) -> None:
        self.start = start
        self.seconds = 0.0

    def now(self) -> datetime:
        """The date."""
        return self.start + timedelta(seconds=self.seconds)

    def move(self, seconds: float) -> None:
        """Let time pass; rounded to microseconds, so that many small moves make one big one."""
        self.seconds = round(self.seconds + seconds, 6)
