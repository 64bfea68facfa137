"""The scheduling queue: pods ready to be tried, pods that back off, pods that nothing has happened for, gated pods.

A pod that was refused waits in the pool of unschedulable pods until an event happens that one of the plugins that
refused it registered for and does not dismiss (its queueing hint); then it goes to backoffQ, or straight to activeQ
where its back-off is over. When activeQ is empty, the next pod is taken from backoffQ early. After five minutes in
the pool a pod is tried again in any case. All times are read from a clock that the caller moves.

Source: pkg/scheduler/backend/queue (scheduling_queue.go, active_queue.go, backoff_queue.go); KEP-4247, KEP-5142.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
"""How long a pod stays unschedulable before it is tried without an event.

Source: DefaultPodMaxInUnschedulablePodsDuration.
"""

SHORT_IN_POOL_MS = 60 * 1000
"""The same in 1.23. Source: unschedulableQTimeInterval; kubernetes/kubernetes#108761."""


def max_in_pool_ms(release: Release) -> int:
    """How long a pod stays unschedulable in a release before it is tried without an event, in milliseconds."""
    return MAX_IN_POOL_MS if release.enabled("KitPoolKeepsFiveMinutes") else SHORT_IN_POOL_MS


Registrations = Mapping[str, Iterable[Registered]]
"""Plugin -> the events that it is interested in, each with its hint; no hint means always."""
RegistrationsOf = Callable[[Pod], Registrations]
"""Pod -> the registrations of the profile that is responsible for it."""


class Strategy(Enum):
    """Where a pod goes after an event."""

    SKIP = "stays"
    AFTER_BACKOFF = "after its back-off"
    IMMEDIATELY = "at once"


class SchedulingQueue:
    """The queue of one scheduler.

    Args:
        clock: read for every time.
        registrations: which plugin waits for which events; for several profiles: pod -> those of its profile.
        pre_enqueue: pod -> status; other than success keeps it out (gates).
        backoff: the rule of waiting.
        pop_from_backoff: take pods from backoffQ when activeQ is empty (SchedulerPopFromBackoffQ).
        max_in_pool_ms: see `MAX_IN_POOL_MS`.
        nominator: shared with the scheduling cycle; None = one of its own.
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
        """activeQ, the next pod first."""
        return list(self._active)

    def backing_off(self) -> list[QueuedPod]:
        """backoffQ, the next pod first; those after an error last."""
        return [*self._waiting, *self._waiting_after_error]

    def unschedulable(self) -> list[QueuedPod]:
        """The pool of unschedulable pods, gated ones among them."""
        return list(self._pool.values())

    def gated(self) -> list[QueuedPod]:
        """Pods that a PreEnqueue plugin keeps out."""
        return [info for info in self._pool.values() if info.is_gated]

    def pending_pods(self) -> dict[str, list[str]]:
        """Where pods wait: `activeQ`, `backoffQ`, `unschedulable`, `gated` -> pod names, the next one first.

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
        """A new pod."""
        self._entered += 1
        info = QueuedPod(pod, self._clock.now_ms(), order=self._entered)
        self._to_active(info)
        self.nominator.add(pod)
        return info

    def update(self, pod: Pod, events: Iterable[ClusterEvent], old: Pod | None = None) -> None:
        """A waiting pod was changed; where the change is one that its plugins wait for, it moves.

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
        """A waiting pod is gone."""
        key = pod_key(pod)
        self.nominator.delete(pod)
        for heap in (self._active, self._waiting, self._waiting_after_error):
            heap.remove(key)
        self._pool.pop(key, None)

    def pop(self) -> QueuedPod | None:
        """The next pod to try; None where there is none. Its attempt is over with `done`."""
        info = self.next()
        if info is None:
            return None
        self._active.remove(info.key)
        self._waiting.remove(info.key)
        info.attempts += 1
        if info.initial_attempt_ms is None:
            info.initial_attempt_ms = self._clock.now_ms()
        info.backoff_expires_ms, info.sits_out = None, False
        info.unschedulable_plugins = set()
        info.pending_plugins = set()
        self.in_flight.begin(info)
        return info

    def next(self) -> QueuedPod | None:
        """The pod that `pop` would give; None where none may be tried now."""
        info = self._active.peek()
        if info is None and self._pop_from_backoff:
            info = self._waiting.peek()
            if info is not None and info.sits_out:
                info = next((one for one in self._waiting if not one.sits_out), None)
        return info

    def done(self, info: QueuedPod) -> None:
        """The pod's attempt is over."""
        self.in_flight.done(info.uid)

    def add_unschedulable(self, info: QueuedPod, message: str = "") -> None:
        """An attempt has failed: `info.unschedulable_plugins` or `pending_plugins` say who refused; nobody = an error.

        Events that happened during the attempt count. Source: AddUnschedulableIfNotPresent.
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
        info.backoff_expires_ms = None
        self._requeue(info, self._since_popped(info))
        self.nominator.add(info.pod)

    def _since_popped(self, info: QueuedPod) -> Strategy:
        """What the events during the attempt mean. Source: determineSchedulingHintForInFlightPod."""
        events = self.in_flight.events_since(info.uid)
        if events is None or not info.rejectors:
            return Strategy.AFTER_BACKOFF
        found = Strategy.SKIP
        for seen in events:
            strategy = self._worth(info, seen.event, seen.old, seen.new)
            if strategy is Strategy.IMMEDIATELY:
                return strategy
            if strategy is Strategy.AFTER_BACKOFF:
                found = strategy
        return found

    def move_all(self, event: ClusterEvent, old: Any = None, new: Any = None, *, besides: str = "") -> list[QueuedPod]:
        """Something has happened: pods that it may help leave the pool.

        Args:
            besides: key of a pod that stays where it is, because the event is of its own making.

        Returns:
            The pods that moved. Source: MoveAllToActiveOrBackoffQueue.
        """
        moved = self._move([info for info in self._pool.values() if info.key != besides], event, old, new)
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
        """Pods whose back-off is over go to activeQ; the real scheduler looks every second.

        Args:
            at_ms: when it looked last, where that was before now.
        """
        now, moved = self._clock.now_ms() if at_ms is None else at_ms, []
        for heap in (self._waiting, self._waiting_after_error):
            while (info := heap.peek()) is not None and not self.backoff.is_waiting(self._expires(info), now):
                heap.pop()
                self._to_active(info)
                moved.append(info)
        return moved

    def flush_unschedulable(self, at_ms: int | None = None) -> list[QueuedPod]:
        """Pods that have been in the pool for five minutes are tried again; the real scheduler looks every 30 s.

        Args:
            at_ms: when it looked last, where that was before now.
        """
        now = self._clock.now_ms() if at_ms is None else at_ms
        late = [info for info in self._pool.values() if now - info.timestamp_ms > self.max_in_pool_ms]
        if not late:
            return []
        moved = self._move(late, UNSCHEDULABLE_TIMEOUT)
        self.in_flight.note(UNSCHEDULABLE_TIMEOUT)
        return moved

    def _worth(self, info: QueuedPod, event: ClusterEvent, old: Any, new: Any) -> Strategy:
        """Whether an event may help a pod. Source: isPodWorthRequeuing."""
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
        """Source: requeuePodWithQueueingStrategy."""
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
        """Ask PreEnqueue; a refused pod stays in the pool as gated. Source: moveToActiveQ, runPreEnqueuePlugins."""
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
        """When the pod's back-off ends; computed once an attempt."""
        if info.backoff_expires_ms is None:
            count = info.consecutive_errors or info.unschedulable_count
            info.backoff_expires_ms = self.backoff.expires_ms(count, info.timestamp_ms)
        return info.backoff_expires_ms

    def _backoff_key(self, info: QueuedPod) -> tuple[int, tuple[int, int, int]]:
        return self._expires(info) or 0, priority_sort_key(info)

    def _find(self, key: str) -> QueuedPod | None:
        for heap in (self._active, self._waiting, self._waiting_after_error):
            found = heap.get(key)
            if found is not None:
                return found
        return self._pool.get(key)
