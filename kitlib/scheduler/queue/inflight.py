"""The events in the cluster while pods are being scheduled.

A pod that fails must not miss an event during its attempt that would have moved it out of the pool. So every event is
recorded while any pod is in flight, and dropped when no pod in flight is older than the event.

Source: pkg/scheduler/backend/queue activeQueue.inFlightEvents, addEventIfAnyInFlight, clusterEventsForPod,
unlockedDone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kitlib.scheduler.framework.events import ClusterEvent
from kitlib.scheduler.queue.queued_pod_info import QueuedPod


@dataclass(frozen=True)
class SeenEvent:
    """An event with the object before and after it."""

    event: ClusterEvent
    old: Any = None
    new: Any = None


class InFlight:
    """The pods that were popped and are not done, and the events since the oldest of them was popped."""

    def __init__(self) -> None:
        self._pods: dict[str, tuple[int, QueuedPod]] = {}
        self._events: list[tuple[int, SeenEvent]] = []
        self._counter = 0

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    def __len__(self) -> int:
        return len(self._pods)

    def pods(self) -> list[QueuedPod]:
        return [info for _, info in self._pods.values()]

    def events(self) -> list[SeenEvent]:
        return [event for _, event in self._events]

    def begin(self, info: QueuedPod) -> None:
        self._counter += 1
        self._pods[info.uid] = (self._counter, info)

    def note(self, event: ClusterEvent, old: Any = None, new: Any = None) -> bool:
        """Record an event if any pod is in flight; return whether it was recorded."""
        if not self._pods:
            return False
        self._counter += 1
        self._events.append((self._counter, SeenEvent(event, old, new)))
        return True

    def events_since(self, uid: str) -> list[SeenEvent] | None:
        """Return the events since the pod was popped; None = it is not in flight."""
        entry = self._pods.get(uid)
        return None if entry is None else [event for number, event in self._events if number > entry[0]]

    def done(self, uid: str) -> None:
        """End a pod's attempt and drop the events that no other attempt still needs."""
        if self._pods.pop(uid, None) is None:
            return
        # pods and events share one counter, which orders them like upstream's inFlightEvents list
        oldest = min((number for number, _ in self._pods.values()), default=self._counter + 1)
        self._events = [entry for entry in self._events if entry[0] > oldest]
