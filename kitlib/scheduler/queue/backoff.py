"""How long a pod waits after a failed attempt: 1 s, 2 s, 4 s, 8 s, then 10 s, counted per pod.

Since backoffQ may be emptied early (SchedulerPopFromBackoffQ) all expiry times are cut down to whole seconds: pods of
the same second stand in the order of activeQ, and the second as a whole is flushed once it has passed.

Source: pkg/scheduler/backend/queue backoffQueue.calculateBackoffDuration, alignToWindow, isPodBackingoff; KEP-5142.
"""

from __future__ import annotations

from dataclasses import dataclass

INITIAL_BACKOFF_MS = 1_000
MAX_BACKOFF_MS = 10_000
ORDERING_WINDOW_MS = 1_000
"""Width of the windows within which backoffQ is ordered by priority; also the interval of its flush."""


@dataclass(frozen=True)
class Backoff:
    """The rule of waiting.

    Attributes:
        initial_ms: wait after the first failure.
        max_ms: longest wait; 0 switches waiting off.
        aligned: expiry times are cut to whole ordering windows (SchedulerPopFromBackoffQ).
    """

    initial_ms: int = INITIAL_BACKOFF_MS
    max_ms: int = MAX_BACKOFF_MS
    aligned: bool = True

    def calculate_backoff_duration(self, count: int) -> int:
        """Wait after `count` failures: `initial * 2^(count-1)`, at most `max`; 0 before the first failure.

        The longest wait is taken as soon as doubling would pass it.
        Source: backoffQueue.calculateBackoffDuration.
        """
        if count == 0:
            return 0
        duration = self.initial_ms
        for _ in range(1, count):
            if duration > self.max_ms - duration:
                return self.max_ms
            duration += duration
        return duration

    def align_ms(self, time_ms: int) -> int:
        """The start of the window that a time belongs to; the time itself where windows are not used."""
        return time_ms - time_ms % ORDERING_WINDOW_MS if self.aligned else time_ms

    def expires_ms(self, count: int, since_ms: int) -> int | None:
        """When the wait that began at `since_ms` after `count` failures ends; None where there is no wait."""
        if self.max_ms == 0 or count == 0:
            return None
        return self.align_ms(since_ms + self.calculate_backoff_duration(count))

    def is_waiting(self, expires_ms: int | None, now_ms: int) -> bool:
        """Whether a pod that may be tried again from `expires_ms` on must still wait.

        With windows a pod waits until its whole window has passed; without them until the time is reached.
        """
        if expires_ms is None:
            return False
        return expires_ms >= self.align_ms(now_ms) if self.aligned else expires_ms > now_ms

    def flush_due_ms(self, expires_ms: int | None, now_ms: int) -> int:
        """The first whole second, not before now, at which the flush finds this pod's wait over."""
        if not self.is_waiting(expires_ms, now_ms):
            return _next_second(now_ms)
        assert expires_ms is not None
        return expires_ms + ORDERING_WINDOW_MS if self.aligned else _next_second(expires_ms)


def _next_second(time_ms: int) -> int:
    return -(-time_ms // 1_000) * 1_000
