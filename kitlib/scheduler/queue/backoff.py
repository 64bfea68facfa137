"""The back-off of a pod after a failed attempt: 1 s, 2 s, 4 s, 8 s, then 10 s, counted per pod.

Since pods may be popped from backoffQ early (SchedulerPopFromBackoffQ), all expiry times are truncated to whole
seconds: pods of the same second have the order of activeQ, and they are flushed together once the second has passed.

Source: pkg/scheduler/backend/queue backoffQueue.calculateBackoffDuration, alignToWindow, isPodBackingoff; KEP-5142.
"""

from __future__ import annotations

from dataclasses import dataclass

INITIAL_BACKOFF_MS = 1_000
MAX_BACKOFF_MS = 10_000
ORDERING_WINDOW_MS = 1_000
"""The width of the windows in which backoffQ is ordered by priority, and the interval of its flush."""


@dataclass(frozen=True)
class Backoff:
    """The rule for back-offs.

    Attributes:
        initial_ms: the back-off after the first failure, in milliseconds.
        max_ms: the longest back-off, in milliseconds; 0 = no back-off.
        aligned: whether expiry times are truncated to whole ordering windows (SchedulerPopFromBackoffQ).
    """

    initial_ms: int = INITIAL_BACKOFF_MS
    max_ms: int = MAX_BACKOFF_MS
    aligned: bool = True

    def calculate_backoff_duration(self, count: int) -> int:
        """Return the back-off after `count` failures in milliseconds: `initial * 2^(count-1)`, at most `max`.

        It is 0 before the first failure, and `max` as soon as doubling would exceed that.
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
        """Return the start of the window of a time, or the time itself if windows are not used."""
        return time_ms - time_ms % ORDERING_WINDOW_MS if self.aligned else time_ms

    def expires_ms(self, count: int, since_ms: int) -> int | None:
        """Return the end of the back-off that began at `since_ms` after `count` failures; None = there is none."""
        if self.max_ms == 0 or count == 0:
            return None
        return self.align_ms(since_ms + self.calculate_backoff_duration(count))

    def is_waiting(self, expires_ms: int | None, now_ms: int) -> bool:
        """Return whether a pod whose back-off ends at `expires_ms` must wait now.

        With windows a pod waits until its whole window has passed, without them until the time is reached.
        """
        if expires_ms is None:
            return False
        # `>=`: in the window of its expiry a pod still backs off, so that windows are flushed as a whole
        return expires_ms >= self.align_ms(now_ms) if self.aligned else expires_ms > now_ms

    def flush_due_ms(self, expires_ms: int | None, now_ms: int) -> int:
        """Return the first whole second, not before now, at which the flush finds the pod's back-off over."""
        if not self.is_waiting(expires_ms, now_ms):
            return _next_second(now_ms)
        assert expires_ms is not None
        return expires_ms + ORDERING_WINDOW_MS if self.aligned else _next_second(expires_ms)


def _next_second(time_ms: int) -> int:
    return -(-time_ms // 1_000) * 1_000
