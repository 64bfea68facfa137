"""A work queue: the keys that a controller must process now, at a later time, or after a back-off, each once.

Source: client-go util/workqueue (Typed, delayingType, ItemExponentialFailureRateLimiter).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
BASE_DELAY = 0.005
MAX_DELAY = 1000.0
"""The maximum back-off per key in seconds. Source: DefaultTypedControllerRateLimiter."""


class WorkQueue(Generic[K]):
    """The keys of one controller.

    Args:
        now: returns the time of a monotonic clock; with a machine's date, a jump would turn delays into hours.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._ready: dict[K, None] = {}
        self._waiting: list[tuple[datetime, int, K]] = []
        self._wakes: dict[K, datetime] = {}
        self._failures: dict[K, int] = {}
        self._order = 0

    def add(self, key: K) -> None:
        """Add the key, unless it is in the queue already."""
        self._ready[key] = None

    def add_after(self, key: K, seconds: float) -> None:
        """Add the key after these seconds; an earlier scheduled time is kept."""
        if seconds <= 0:
            self.add(key)
            return
        at = self._now() + timedelta(seconds=seconds)
        known = self._wakes.get(key)
        if known is not None and known <= at:
            return
        self._wakes[key] = at
        self._order += 1
        heapq.heappush(self._waiting, (at, self._order, key))

    def add_rate_limited(self, key: K) -> None:
        """Add the key after a back-off: 5 ms, doubled with every failure, at most 1000 s."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.add_after(key, min(BASE_DELAY * 2 ** min(failures, 30), MAX_DELAY))

    def forget(self, key: K) -> None:
        """Reset the key's back-off, because it was processed without an error."""
        self._failures.pop(key, None)

    def drop(self, key: K) -> None:
        """Remove the key and its back-off."""
        self._ready.pop(key, None)
        self._wakes.pop(key, None)
        self._failures.pop(key, None)

    def is_due(self) -> bool:
        """Return whether a key can be processed now."""
        return bool(self._ready) or (bool(self._waiting) and self._waiting[0][0] <= self._now())

    def take(self) -> list[K]:
        """Return all keys that can be processed now, in order; keys added later belong to the next round."""
        if self._waiting:
            now = self._now()
            while self._waiting and self._waiting[0][0] <= now:
                at, _, key = heapq.heappop(self._waiting)
                # Entries of the heap cannot be removed: one that an earlier wake-up or drop() replaced is stale.
                if self._wakes.get(key) == at:
                    del self._wakes[key]
                    self._ready[key] = None
        taken, self._ready = list(self._ready), {}
        return taken
