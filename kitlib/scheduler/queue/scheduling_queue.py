"""The scheduling queue: activeQ, backoffQ, and the pool of unschedulable and gated pods.

A refused pod waits in the pool until an event that one of the refusing plugins has registered, and that the plugin's
queueing hint does not dismiss. Then it goes to backoffQ, or to activeQ if its back-off is over. If activeQ is empty,
the next pod is popped from backoffQ early. After five minutes in the pool a pod is tried again without an event. All
times are read from a clock that the caller advances.

Source: pkg/scheduler/backend/queue (scheduling_queue.go, active_queue.go, backoff_queue.go); KEP-4247, KEP-5142.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from enum import Enum
from typing import Any

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.scheduler.framework.events import (
    UNSCHEDULABLE_TIMEOUT,
    ClusterEvent,
    Registered,
)
from kitlib.scheduler.framework.status import Status
from kitlib.scheduler.queue.backoff import Backoff
from kitlib.scheduler.queue.clock import QueueClock
from kitlib.scheduler.queue.heap import PodHeap
from kitlib.scheduler.queue.inflight import InFlight
from kitlib.scheduler.queue.nominator import Nominator
from kitlib.scheduler.queue.queued_pod_info import QueuedPod, pod_key, priority_sort_key

MAX_IN_POOL_MS = 5 * 60 * 1000
"""The time that a pod stays in the pool before it is tried without an event.

Source: DefaultPodMaxInUnschedulablePodsDuration.
"""

SHORT_IN_POOL_MS = 60 * 1000
"""The value of MAX_IN_POOL_MS in 1.23. Source: unschedulableQTimeInterval; kubernetes/kubernetes#108761."""


def max_in_pool_ms(release: Release) -> int:
    """Return the time that a pod stays in the pool before it is tried without an event, in milliseconds."""
    return MAX_IN_POOL_MS if release.enabled("KitPoolKeepsFiveMinutes") else SHORT_IN_POOL_MS


Registrations = Mapping[str, Iterable[Registered]]
"""Plugin -> the events that it registers, each with its hint; None = the event always counts."""
RegistrationsOf = Callable[[Pod], Registrations]
"""A function from a pod to the registrations of its profile."""


class Strategy(Enum):
    """The queue to which an event moves a pod."""

    SKIP = "stays"
    AFTER_BACKOFF = "after its back-off"
    IMMEDIATELY = "at once"


class SchedulingQueue:
    """The queue of one scheduler.

    Args:
        clock: the clock for all times.
        registrations: the plugins' registered events, or a function from a pod to those of its profile.
        pre_enqueue: the function from a pod to a status; any status other than Success gates the pod.
        backoff: the rule for back-offs; None = the default one.
        pop_from_backoff: whether pods are popped from backoffQ if activeQ is empty (SchedulerPopFromBackoffQ).
        max_in_pool_ms: the time that a pod stays in the pool before it is tried without an event, in milliseconds.
        nominator: the nominator, shared with the scheduling cycle; None = a new one.
    """

    def __init__(
        self,
        clock: QueueClock,
        registrations: Registrations | RegistrationsOf | None = None,
        *,
        pre_enqueue: Callable[[Pod], Status] | None = None,
        backoff: Backoff | None = None,
        pop_from_backoff: bool = True,
        max_in_pool_ms: int = MAX_IN_POOL_MS,
        nominator: Nominator | None = None,
    ) -> None:
        self._clock, self.backoff = clock, backoff or Backoff(aligned=pop_from_backoff)
        if callable(registrations):
            self._registrations_of = registrations
        else:
            every = {name: list(events) for name, events in (registrations or {}).items()}
            self._registrations_of = lambda pod: every
        self._pre_enqueue, self._pop_from_backoff = pre_enqueue, pop_from_backoff
        self.max_in_pool_ms = max_in_pool_ms
        self._active = PodHeap(priority_sort_key)
        self._waiting = PodHeap(self._backoff_key)
        self._waiting_after_error = PodHeap(self._backoff_key)
        self._pool: dict[str, QueuedPod] = {}
        self.in_flight = InFlight()
        self.nominator = Nominator() if nominator is None else nominator
        self._entered = 0

    def active(self) -> list[QueuedPod]:
        """Return the pods in activeQ, the next one first."""
        return list(self._active)

    def backing_off(self) -> list[QueuedPod]:
        """Return the pods in backoffQ, the next one first; pods after an error come last."""
        return [*self._waiting, *self._waiting_after_error]

    def unschedulable(self) -> list[QueuedPod]:
        """Return the pods in the pool, including gated ones."""
        return list(self._pool.values())

    def gated(self) -> list[QueuedPod]:
        """Return the pods that a PreEnqueue plugin gates."""
        return [info for info in self._pool.values() if info.is_gated]

    def pending_pods(self) -> dict[str, list[str]]:
        """Return `activeQ`, `backoffQ`, `unschedulable`, `gated` -> names of the pods there, the next one first.

        Source: PriorityQueue.PendingPods.
        """
        return {
            "activeQ": [info.pod.name for info in self.active()],
            "backoffQ": [info.pod.name for info in self.backing_off()],
            "unschedulable": [info.pod.name for info in self._pool.values() if not info.is_gated],
            "gated": [info.pod.name for info in self.gated()],
        }

    def __len__(self) -> int:
        return len(self._active) + len(self._waiting) + len(self._waiting_after_error) + len(self._pool)

    def __contains__(self, pod: Pod) -> bool:
        return self._find(pod_key(pod)) is not None

    def add(self, pod: Pod) -> QueuedPod:
        """Add a new pod to activeQ, or to the pool if it is gated."""
        self._entered += 1
        info = QueuedPod(pod, self._clock.now_ms(), order=self._entered)
        self._to_active(info)
        self.nominator.add(pod)
        return info

    def update(self, pod: Pod, events: Iterable[ClusterEvent], old: Pod | None = None) -> None:
        """Update a waiting pod, and move it if one of the events may make it schedulable.

        Source: PriorityQueue.Update.
        """
        key = pod_key(pod)
        if old is not None:
            self.nominator.update(old, pod)
        for heap in (self._active, self._waiting, self._waiting_after_error):
            info = heap.get(key)
            if info is not None:
                info.pod = pod
                heap.put(info)
                return
        info = self._pool.get(key)
        if info is None:
            # in flight: if the attempt fails, the update may be the event that makes the pod schedulable
            for event in events:
                self.in_flight.note(event, old, pod)
            return
        info.pod = pod
        if info.is_gated:
            del self._pool[key]
            self._to_active(info)
            return
        for event in events:
            strategy = self._worth(info, event, old, pod)
            if strategy is not Strategy.SKIP:
                del self._pool[key]
                self._requeue(info, strategy)
                return

    def delete(self, pod: Pod) -> None:
        """Remove a pod and its nomination."""
        key = pod_key(pod)
        self.nominator.delete(pod)
        for heap in (self._active, self._waiting, self._waiting_after_error):
            heap.remove(key)
        self._pool.pop(key, None)

    def pop(self) -> QueuedPod | None:
        """Pop the next pod and begin its attempt, which ends with `done`; None = no pod may be tried now."""
        info = self.next()
        if info is None:
            return None
        self._active.remove(info.key)
        self._waiting.remove(info.key)  # a pod that is popped early is in backoffQ
        info.attempts += 1
        if info.initial_attempt_ms is None:
            info.initial_attempt_ms = self._clock.now_ms()
        info.backoff_expires_ms, info.sits_out = None, False
        info.unschedulable_plugins = set()
        info.pending_plugins = set()
        self.in_flight.begin(info)
        return info

    def next(self) -> QueuedPod | None:
        """Return the pod that `pop` would return; None = no pod may be tried now."""
        info = self._active.peek()
        # pods after an error are never popped early. Source: backoffQueue.podErrorBackoffQ; KEP-5142
        if info is None and self._pop_from_backoff:
            info = self._waiting.peek()
            if info is not None and info.sits_out:
                info = next((queued_pod for queued_pod in self._waiting if not queued_pod.sits_out), None)
        return info

    def done(self, info: QueuedPod) -> None:
        """End the pod's attempt."""
        self.in_flight.done(info.uid)

    def add_unschedulable(self, info: QueuedPod, message: str = "") -> None:
        """Return a pod to the queue after a failed attempt, which was an error if no plugin refused the pod.

        Events during the attempt count. Source: AddUnschedulableIfNotPresent.
        """
        if self._find(info.key) is not None:
            return
        if info.rejectors:
            info.unschedulable_count += 1
            info.consecutive_errors = 0
        else:
            info.consecutive_errors += 1
        self._entered += 1
        info.timestamp_ms, info.order, info.message = self._clock.now_ms(), self._entered, message
        info.backoff_expires_ms = None  # it is computed again from the new count and time stamp
        self._requeue(info, self._since_popped(info))
        self.nominator.add(info.pod)

    def _since_popped(self, info: QueuedPod) -> Strategy:
        """Return where the events during the attempt move the pod. Source: determineSchedulingHintForInFlightPod."""
        events = self.in_flight.events_since(info.uid)
        if events is None or not info.rejectors:  # after an error no event would move the pod out of the pool
            return Strategy.AFTER_BACKOFF
        found = Strategy.SKIP
        for seen in events:
            strategy = self._worth(info, seen.event, seen.old, seen.new)
            if strategy is Strategy.IMMEDIATELY:
                return strategy
            if strategy is Strategy.AFTER_BACKOFF:
                found = strategy
        return found

    def move_all(
        self, event: ClusterEvent, old: Any = None, new: Any = None, *, besides: Container[str] = ()
    ) -> list[QueuedPod]:
        """Move the pods that an event may help out of the pool. Source: MoveAllToActiveOrBackoffQueue.

        Args:
            event: the event.
            old: the object before; None = it was created.
            new: the object after; None = it was deleted.
            besides: the keys of pods that stay in the pool, such as the one of which the failure is the event.

        Returns:
            The pods that moved.
        """
        moved = self._move([info for info in self._pool.values() if info.key not in besides], event, old, new)
        self.in_flight.note(event, old, new)
        return moved

    def _move(
        self, pods: Iterable[QueuedPod], event: ClusterEvent, old: Any = None, new: Any = None
    ) -> list[QueuedPod]:
        moved = []
        for info in pods:
            if info.is_gated and not any(wanted.covers(event) for wanted in info.gating_events):
                continue
            strategy = self._worth(info, event, old, new)
            if strategy is Strategy.SKIP:
                continue
            del self._pool[info.key]
            self._requeue(info, strategy)
            moved.append(info)
        return moved

    def flush_backoff(self, at_ms: int | None = None) -> list[QueuedPod]:
        """Move pods whose back-off is over to activeQ and return them; kube-scheduler does this every second.

        Args:
            at_ms: the time of the flush, if it was before now; None = now.
        """
        now, moved = self._clock.now_ms() if at_ms is None else at_ms, []
        for heap in (self._waiting, self._waiting_after_error):
            while (info := heap.peek()) is not None and not self.backoff.is_waiting(self._expires(info), now):
                heap.pop()
                self._to_active(info)
                moved.append(info)
        return moved

    def flush_unschedulable(self, at_ms: int | None = None) -> list[QueuedPod]:
        """Move pods that have been in the pool for too long out of it; kube-scheduler does this every 30 seconds.

        Args:
            at_ms: the time of the flush, if it was before now; None = now.
        """
        now = self._clock.now_ms() if at_ms is None else at_ms
        late = [info for info in self._pool.values() if now - info.timestamp_ms > self.max_in_pool_ms]
        if not late:
            return []
        moved = self._move(late, UNSCHEDULABLE_TIMEOUT)
        self.in_flight.note(UNSCHEDULABLE_TIMEOUT)
        return moved

    def _worth(self, info: QueuedPod, event: ClusterEvent, old: Any, new: Any) -> Strategy:
        """Return where an event moves a pod. Source: isPodWorthRequeuing."""
        # without rejecting plugins there are no hints to ask
        if not info.rejectors or event.is_wildcard:
            return Strategy.AFTER_BACKOFF
        found, registered = Strategy.SKIP, self._registrations_of(info.pod)
        for plugin in info.rejectors:
            for wanted, hint in registered.get(plugin, ()):
                if not wanted.covers(event) or (hint is not None and not hint(info.pod, old, new)):
                    continue
                if plugin in info.pending_plugins:
                    return Strategy.IMMEDIATELY
                found = Strategy.AFTER_BACKOFF
        return found

    def _requeue(self, info: QueuedPod, strategy: Strategy) -> None:
        """Put a pod into the pool, backoffQ or activeQ. Source: requeuePodWithQueueingStrategy."""
        if strategy is Strategy.SKIP:
            self._pool[info.key] = info
        elif strategy is Strategy.AFTER_BACKOFF and self.backoff.is_waiting(self._expires(info), self._clock.now_ms()):
            if not self._gate(info):
                (self._waiting if info.rejectors else self._waiting_after_error).put(info)
        else:
            self._to_active(info)

    def _to_active(self, info: QueuedPod) -> None:
        info.sits_out = False
        if not self._gate(info):
            self._active.put(info)

    def _gate(self, info: QueuedPod) -> bool:
        """Ask PreEnqueue; put a refused pod into the pool as gated, and return whether it was refused.

        Source: moveToActiveQ, runPreEnqueuePlugins.
        """
        status = self._pre_enqueue(info.pod) if self._pre_enqueue is not None else None
        if status is None or status.ok:
            info.gating_plugin, info.gating_events = "", ()
            return False
        info.gating_plugin = status.plugin
        info.gating_events = tuple(wanted for wanted, _ in self._registrations_of(info.pod).get(status.plugin, ()))
        info.unschedulable_plugins.add(status.plugin)
        info.message = status.message
        self._pool[info.key] = info
        return True

    def _expires(self, info: QueuedPod) -> int | None:
        """Return the end of the pod's back-off, which is computed once per attempt; None = there is none."""
        if info.backoff_expires_ms is None:
            # errors have a back-off of their own, which starts again after the next refusal. Source: getBackoffTime
            count = info.consecutive_errors or info.unschedulable_count
            info.backoff_expires_ms = self.backoff.expires_ms(count, info.timestamp_ms)
        return info.backoff_expires_ms

    def _backoff_key(self, info: QueuedPod) -> tuple[int, tuple[int, int, int]]:
        # expiry times are truncated to windows, in which pods have the order of activeQ.
        # Source: lessBackoffCompletedWithPriority
        return self._expires(info) or 0, priority_sort_key(info)

    def _find(self, key: str) -> QueuedPod | None:
        for heap in (self._active, self._waiting, self._waiting_after_error):
            found = heap.get(key)
            if found is not None:
                return found
        return self._pool.get(key)
