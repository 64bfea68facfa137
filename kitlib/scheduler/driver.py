"""The scheduler at work: a queue, one cycle after the other, and a clock that somebody moves.

    driver = Driver(nodes)
    driver.add_pod(pod)
    driver.step()            # the next thing that happens: a cycle, or time passing until something is due
    driver.run(60)           # everything that happens in a minute

A pod that is placed is bound and counts as running; one that is refused waits in the queue until an event that one of
its refusing plugins registered for; one that preempts is nominated to its node, its victims leave after their grace,
and a second cycle places it. Everything leaves events as kube-scheduler writes them.

Source: schedule_one.go (ScheduleOne, handleSchedulingFailure, bindingCycle), eventhandlers.go, preemption
prepareCandidate; scheduling_queue.go Run (1 s and 30 s timers).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from kitlib.api.claims import is_reserved_for, without_users
from kitlib.api.core import Node, Pod
from kitlib.api.errors import AlreadyExists, NotFound
from kitlib.api.meta import Condition
from kitlib.api.release import Release
from kitlib.api.serialize import deepcopy
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.framework.events import (
    ASSIGNED_POD,
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    NODE_DELETE,
    RESOURCE_CLAIM,
    UNSCHEDULED_POD_DELETE,
    Action,
    ClusterEvent,
    node_change_events,
    pod_change_events,
)
from kitlib.scheduler.framework.status import Code
from kitlib.scheduler.plugins.dynamicresources.claims import Known
from kitlib.scheduler.profile import Profile
from kitlib.scheduler.queue.clock import VirtualClock
from kitlib.scheduler.queue.hints import registrations
from kitlib.scheduler.queue.queued_pod_info import QueuedPod, pod_key
from kitlib.scheduler.queue.scheduling_queue import MAX_IN_POOL_MS, SchedulingQueue, max_in_pool_ms
from kitlib.scheduler.scheduler import Scheduler

FLUSH_BACKOFF_MS = 1_000
FLUSH_POOL_MS = 30_000
EPOCH = datetime(2026, 1, 5, 8, tzinfo=UTC)
"""What the clock's zero stands for in time stamps."""


@dataclass(frozen=True)
class Happening:
    """One entry of the log.

    Attributes:
        time_ms: on the driver's clock. kind: `Normal`, `Warning` (events of the API) or `Queue` (the queue's own).
        reason: `Scheduled`, `FailedScheduling`, `Preempted`, … pod: `namespace/name`, or a node's name.
        message: as the event says it.
    """

    time_ms: int
    kind: str
    reason: str
    pod: str
    message: str

    def __str__(self) -> str:
        return f"{self.time_ms / 1000:>8.3f} s  {self.kind:<8} {self.reason:<18} {self.pod:<24} {self.message}"


class Driver:
    """A scheduler with its queue on a virtual clock.

    Args:
        nodes, pods: as they stand at the start; pods without a node wait, in their order.
        release, profile, seed, settings: as of `Scheduler`.
        exit_after_s: how long a victim takes to end, unless its own grace period is shorter.
        clock: shared with others, or None for one of its own.

    Attributes:
        queue, scheduler, clock: the parts. log: everything that happened.
        decisions: pod key -> its last Decision. pods: pod key -> pod, placed or waiting.
    """

    def __init__(
        self,
        nodes: Iterable[Node],
        pods: Iterable[Pod] = (),
        *,
        release: Release | str | None = None,
        profile: Profile | None = None,
        seed: int | None = None,
        exit_after_s: float = 1.0,
        clock: VirtualClock | None = None,
        **settings: Any,
    ) -> None:
        listed = list(pods)
        placed = [pod for pod in listed if pod.spec.node_name]
        self.scheduler = Scheduler(nodes, placed, release=release, profile=profile, seed=seed, **settings)
        self.release = self.scheduler.release
        self.clock = clock or VirtualClock()
        self.queue = SchedulingQueue(
            self.clock,
            registrations(self.scheduler.profile, self.release, self.scheduler.context.claims),
            pre_enqueue=self.scheduler.pre_enqueue,
            pop_from_backoff=self.release.enabled("SchedulerPopFromBackoffQ"),
            max_in_pool_ms=max_in_pool_ms(self.release),
        )
        self.pods: dict[str, Pod] = {pod_key(pod): pod for pod in placed}
        self.decisions: dict[str, Decision] = {}
        self.log: list[Happening] = []
        self._exit_after_ms = int(exit_after_s * 1000)
        self._leaving: dict[str, int] = {}
        for pod in listed:
            if not pod.spec.node_name:
                self.add_pod(pod)

    # ------------------------------------------------------------------------------------------------ what users do

    def add_pod(self, pod: Pod) -> Pod:
        """A pod is created; it is copied.

        Raises:
            AlreadyExists: there is one of that name.
        """
        key = pod_key(pod)
        if key in self.pods:
            raise AlreadyExists("pods", pod.name)
        mine = deepcopy(pod)
        self.pods[key] = mine
        if mine.spec.node_name:
            self.scheduler.add_pod(mine)
            self._event(ASSIGNED_POD_ADD, None, mine)
        else:
            info = self.queue.add(mine)
            self._note("Queue", "Gated" if info.is_gated else "Added", key, info.message or "goes to activeQ")
        return mine

    def update_pod(self, pod: Pod) -> Pod:
        """A pod is changed: its labels, gates, tolerations, requests.

        Raises:
            NotFound: there is none.
        """
        old, new = self.pod(pod_key(pod)), deepcopy(pod)
        self.pods[pod_key(new)] = new
        events = pod_change_events(new, old)
        if new.spec.node_name:
            self.scheduler.remove_pod(old)
            self.scheduler.add_pod(new)
            for event in events:
                self._event(event, old, new)
        else:
            self.queue.update(new, events, old)
            self._note("Queue", "Updated", pod_key(new), ", ".join(event.label for event in events))
        return new

    def delete_pod(self, name: str, *, now: bool = True) -> None:
        """A pod is deleted; with `now` it is gone at once, otherwise after its grace.

        Raises:
            NotFound: there is none.
        """
        pod = self.pod(name)
        if pod.spec.node_name and not now:
            self._leave(pod)
            return
        self._gone(pod)

    def add_node(self, node: Node) -> None:
        """A node joins."""
        self.scheduler.add_node(node)
        self._event(NODE_ADD, None, node, node.name)

    def update_node(self, node: Node) -> None:
        """A node changes: labels, taints, allocatable, cordon."""
        old = next((one for one in self.scheduler.snapshot.nodes if one.name == node.name), None)
        self.scheduler.update_node(node)
        for event in node_change_events(node, old) if old is not None else [NODE_ADD]:
            self._event(event, old, node, node.name)

    def remove_node(self, name: str) -> None:
        """A node and its pods are gone.

        Raises:
            NotFound: there is none.
        """
        node = next((one for one in self.scheduler.snapshot.nodes if one.name == name), None)
        if node is None:
            raise NotFound("nodes", name)
        for pod in [one for one in self.pods.values() if one.spec.node_name == name]:
            self._gone(pod)
        self.scheduler.remove_node(name)
        self._event(NODE_DELETE, node, None, name)

    def put(self, obj: Known) -> None:
        """A claim, a device class or a slice of devices has come, or has changed."""
        old = self.scheduler.context.claims.put(obj)
        self._event(ClusterEvent(obj.kind, Action.ADD if old is None else Action.UPDATE), old, obj, obj.name)

    def pod(self, name: str) -> Pod:
        """A pod by `namespace/name`, or `name` in `default`.

        Raises:
            NotFound: there is none.
        """
        found = self.pods.get(name if "/" in name else f"default/{name}")
        if found is None:
            raise NotFound("pods", name)
        return found

    # ------------------------------------------------------------------------------------------------ what happens

    def cycle(self) -> Decision | None:
        """Pop a pod and try it; None where no pod may be tried now."""
        info = self.queue.pop()
        if info is None:
            return None
        pod = self.pods[info.key]
        decision = self.scheduler.schedule(pod)
        self.decisions[info.key] = decision
        if decision.suggested_host and decision.binding is not None and not decision.binding.waits:
            self._bound(info, pod, decision)
        elif decision.suggested_host:
            self._note(
                "Queue", "WaitingOnPermit", info.key, decision.binding.status.message if decision.binding else ""
            )
        else:
            self._failed(info, pod, decision)
        return decision

    def allow(self, name: str) -> Decision:
        """Let a pod go on that a Permit plugin holds."""
        return self._after_permit(self.pod(name), self.scheduler.allow(self.pod(name)))

    def reject(self, name: str, reason: str = "rejected while waiting on permit") -> Decision:
        """Refuse a pod that a Permit plugin holds: it loses its place and waits again."""
        return self._after_permit(self.pod(name), self.scheduler.reject(self.pod(name), reason))

    def _after_permit(self, pod: Pod, decision: Decision) -> Decision:
        info = next(one for one in self.queue.in_flight.pods() if one.key == pod_key(pod))
        (self._bound if decision.suggested_host else self._failed)(info, pod, decision)
        return decision

    def step(self) -> str:
        """The next thing: a cycle if a pod may be tried, otherwise time passes until something is due.

        Returns:
            What happened, in words; "" where nothing is left to happen.
        """
        decision = self.cycle()
        if decision is not None:
            where = f"goes to {decision.suggested_host}" if decision.suggested_host else decision.message
            return f"{decision.pod.key}: {where}"
        due = self._next_due()
        if due is None:
            return ""
        seen = len(self.log)
        self._pass_to(due)
        said = "; ".join(entry.message for entry in self.log[seen:]) or "time passes, nothing changes"
        return f"{due / 1000:g} s: {said}"

    def run(self, seconds: float = 0.0, *, most: int = 100_000) -> list[Decision]:
        """Everything that happens within a time, cycles first.

        Args:
            seconds: 0 = only what may be tried at once. most: cycles, so that a mistake ends.

        Returns:
            The decisions made, in order.
        """
        end = self.clock.now_ms() + int(seconds * 1000)
        made: list[Decision] = []
        while len(made) < most:
            decision = self.cycle()
            if decision is not None:
                made.append(decision)
                continue
            due = self._next_due()
            if due is None or due > end:
                break
            self._pass_to(due)
        if end > self.clock.now_ms():
            self.clock.set_ms(end)
        return made

    def pass_time(self, seconds: float) -> None:
        """Let time pass without trying any pod: back-offs end, victims leave, the pool is flushed."""
        end = self.clock.now_ms() + int(seconds * 1000)
        while (due := self._next_due()) is not None and due <= end:
            self._pass_to(due)
        self.clock.set_ms(max(end, self.clock.now_ms()))

    def waiting(self) -> Mapping[str, list[str]]:
        """Where pods wait: the queues' names as the scheduler calls them -> pod names, the next one first."""
        gated = {info.key for info in self.queue.gated()}
        return {
            "activeQ": [info.pod.name for info in self.queue.active()],
            "backoffQ": [info.pod.name for info in self.queue.backing_off()],
            "unschedulable": [info.pod.name for info in self.queue.unschedulable() if info.key not in gated],
            "gated": [info.pod.name for info in self.queue.gated()],
        }

    # ------------------------------------------------------------------------------------------------ outcomes

    def _bound(self, info: QueuedPod, pod: Pod, decision: Decision) -> None:
        new = deepcopy(pod)
        new.spec.node_name, new.status.nominated_node_name = decision.suggested_host, ""
        new.status.start_time = self._date()
        self.pods[info.key] = new
        self.scheduler.remove_pod(pod)  # the copy that the cycle assumed gives way to the bound pod
        self.scheduler.add_pod(new)
        self.queue.nominator.delete(pod)
        self.queue.done(info)
        self._note("Normal", "Scheduled", info.key, f"Successfully assigned {info.key} to {decision.suggested_host}")
        self._event(ASSIGNED_POD_ADD, None, new)

    def _failed(self, info: QueuedPod, pod: Pod, decision: Decision) -> None:
        self.scheduler.forget_nomination(pod)
        answer = decision.preemption
        if answer is not None and answer.code is not Code.Error and answer.eligible:
            # PostFilter's answer replaces an older nomination, by nothing too
            pod.status.nominated_node_name = decision.nominated
        if pod.status.nominated_node_name:
            self.scheduler.nominate(pod, pod.status.nominated_node_name)
        failed = Condition(type="PodScheduled", status="False", reason="Unschedulable", message=decision.message)
        pod.status.conditions = [*(c for c in pod.status.conditions if c.type != "PodScheduled"), failed]
        self._note("Warning", "FailedScheduling", info.key, decision.message)
        refused = decision.binding
        info.unschedulable_plugins = (
            {refused.status.plugin} - {""} if refused is not None else set(decision.unschedulable_plugins)
        )
        info.pod = pod
        self.queue.add_unschedulable(info, decision.message)
        self.queue.done(info)
        if refused is not None:  # the place that it held is free again: for others
            self._event(ASSIGNED_POD_DELETE, pod, None, besides=info.key)
        if decision.freed is not None:
            claims = self.scheduler.context.claims
            now = claims.find(decision.freed.namespace, decision.freed.name)
            self._event(ClusterEvent(RESOURCE_CLAIM, Action.UPDATE), decision.freed, now, decision.freed.key)
        if decision.nominated:
            self._clear_less_important(pod, decision.nominated)
        for victim in decision.victims:
            standing = self.pods.get(pod_key(victim))
            if standing is not None:
                by, node = pod.metadata.uid or info.key, decision.nominated
                self._note("Normal", "Preempted", pod_key(victim), f"Preempted by pod {by} on node {node}")
                self._leave(standing, by=pod)

    def _clear_less_important(self, pod: Pod, node: str) -> None:
        """Less important pods that were promised the node lose their promise. Source: prepareCandidate."""
        for other in self.queue.nominator.pods_on(node):
            mine = self.pods.get(pod_key(other))
            if mine is None or mine is pod or (mine.spec.priority or 0) >= (pod.spec.priority or 0):
                continue
            mine.status.nominated_node_name = ""
            self.scheduler.forget_nomination(mine)
            self.queue.nominator.delete(mine)
            self._note("Queue", "NominationCleared", pod_key(mine), f"{pod_key(pod)} is promised {node} instead")

    def _leave(self, pod: Pod, by: Pod | None = None) -> None:
        """A placed pod is told to end; it stands until its grace is over."""
        if pod_key(pod) in self._leaving:
            return
        own = pod.spec.termination_grace_period_seconds
        grace = min(self._exit_after_ms, own * 1000 if own is not None else self._exit_after_ms)
        new = deepcopy(pod)
        new.metadata.deletion_timestamp = self._date()
        if by is not None:
            text = f"{by.spec.scheduler_name or 'default-scheduler'}: preempting to accommodate a higher priority pod"
            reason = Condition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler", message=text)
            new.status.conditions = [*new.status.conditions, reason]
        if grace <= 0:
            self._gone(pod)
            return
        self.pods[pod_key(new)] = new
        self.scheduler.remove_pod(pod)
        self.scheduler.add_pod(new)
        self._leaving[pod_key(new)] = self.clock.now_ms() + grace

    def _gone(self, pod: Pod) -> None:
        key = pod_key(pod)
        self.pods.pop(key, None)
        self._leaving.pop(key, None)
        self.decisions.pop(key, None)
        if pod.spec.node_name:
            self.scheduler.remove_pod(pod)
            self._event(ASSIGNED_POD_DELETE, pod, None)
            for claim in [c for c in self.scheduler.context.claims.claims.values() if is_reserved_for(c, pod)]:
                self.put(without_users(claim, pod.metadata.uid))  # as the claims' controller does
            return
        self.scheduler.forget_nomination(pod)
        self.queue.delete(pod)
        self._event(UNSCHEDULED_POD_DELETE, pod, None)

    # ------------------------------------------------------------------------------------------------ time

    def _next_due(self) -> int | None:
        """When something happens by itself next: a victim leaves, a back-off ends, the pool is flushed."""
        now = self.clock.now_ms()
        due = list(self._leaving.values())
        for info in self.queue.backing_off():
            due.append(self.queue.backoff.flush_due_ms(info.backoff_expires_ms, now))
        for info in self.queue.unschedulable():
            if not info.is_gated:
                over = info.timestamp_ms + self.queue.max_in_pool_ms + 1
                due.append(-(-max(over, now) // FLUSH_POOL_MS) * FLUSH_POOL_MS)
        return min(due) if due else None

    def _pass_to(self, time_ms: int) -> None:
        self.clock.set_ms(max(time_ms, self.clock.now_ms()))
        now = self.clock.now_ms()
        for key in [key for key, end in self._leaving.items() if end <= now]:
            self._gone(self.pods[key])
        if now % FLUSH_BACKOFF_MS == 0:
            for info in self.queue.flush_backoff():
                self._note("Queue", "BackoffComplete", info.key, f"back-off of {info.key} is over: goes to activeQ")
        if now % FLUSH_POOL_MS == 0:
            for info in self.queue.flush_unschedulable():
                minutes = "five minutes" if self.queue.max_in_pool_ms == MAX_IN_POOL_MS else "a minute"
                self._note("Queue", "UnschedulableTimeout", info.key, f"{info.key} has waited for {minutes}")

    def _event(self, event: ClusterEvent, old: Any, new: Any, name: str = "", *, besides: str = "") -> None:
        moved = self.queue.move_all(event, old, new, besides=besides)
        about = name or pod_key(new if new is not None else old)
        if event.resource != ASSIGNED_POD or moved or event.action.name == "DELETE":
            brought = ", ".join(info.key for info in moved)
            self._note("Queue", event.label, about, f"may help {brought}" if brought else "helps nobody who waits")

    def _note(self, kind: str, reason: str, pod: str, message: str) -> None:
        self.log.append(Happening(self.clock.now_ms(), kind, reason, pod, message))

    def _date(self) -> datetime:
        return EPOCH + timedelta(milliseconds=self.clock.now_ms())
