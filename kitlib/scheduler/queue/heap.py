"""A heap whose items have a key, so that any item can be changed or removed.

Source: pkg/scheduler/backend/heap.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any

from kitlib.scheduler.queue.queued_pod_info import QueuedPod


class PodHeap:
    """Pods in the order of a sort key; pods with equal keys have the order in which they were added.

    Removed entries stay in the heap until they reach its top; the heap is rebuilt when most entries are removed ones.

    Args:
        sort_key: the function from a pod to a comparable key; the smallest comes first.
    """

    def __init__(self, sort_key: Callable[[QueuedPod], Any]) -> None:
        self._sort_key = sort_key
        self._heap: list[tuple[Any, int, str]] = []
        self._live: dict[str, tuple[int, QueuedPod]] = {}
        self._counter = 0

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, key: str) -> bool:
        return key in self._live

    def __iter__(self) -> Iterator[QueuedPod]:
        """Iterate over all pods in the order in which they would be popped."""
        return iter([info for _, info in sorted(self._live.values(), key=lambda e: (self._sort_key(e[1]), e[0]))])

    def values(self) -> Iterator[QueuedPod]:
        """Iterate over all pods in no particular order."""
        return (info for _, info in self._live.values())

    def get(self, key: str) -> QueuedPod | None:
        entry = self._live.get(key)
        return entry[1] if entry else None

    def put(self, info: QueuedPod) -> None:
        """Add a pod, or move it to its new position after a change."""
        self._counter += 1
        # an older entry of the pod in the heap has another number, by which `peek` recognizes it as removed
        self._live[info.key] = (self._counter, info)
        heapq.heappush(self._heap, (self._sort_key(info), self._counter, info.key))
        if len(self._heap) > 64 and len(self._heap) > 4 * len(self._live):
            self._heap = [(self._sort_key(i), n, key) for key, (n, i) in self._live.items()]
            heapq.heapify(self._heap)

    def remove(self, key: str) -> QueuedPod | None:
        entry = self._live.pop(key, None)
        return entry[1] if entry else None

    def peek(self) -> QueuedPod | None:
        while self._heap:
            _, number, key = self._heap[0]
            entry = self._live.get(key)
            if entry and entry[0] == number:
                return entry[1]
            heapq.heappop(self._heap)
        return None

    def pop(self) -> QueuedPod | None:
        info = self.peek()
        if info is not None:
            heapq.heappop(self._heap)
            del self._live[info.key]
        return info
