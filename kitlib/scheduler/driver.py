"""A scheduler on a virtual clock, with a small cluster around it: pods that end, claims that are written.

    driver = Driver(nodes)
    driver.add_pod(pod)
    driver.step()            # the next thing that happens: a cycle, or time passing until something is due
    driver.run(60)           # everything that happens in a minute

What the scheduler does is done by `SchedulingLoop`; the driver carries its actions out and keeps a log. A pod that is
placed counts as running; victims leave after their grace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from kitlib.api.claims import is_reserved_for, without_users
from kitlib.api.clock import EPOCH, VirtualClock
from kitlib.api.core import Node, Pod
from kitlib.api.devices import ResourceClaim
from kitlib.api.errors import AlreadyExists, NotFound
from kitlib.api.meta import Condition
from kitlib.api.release import Release
from kitlib.api.serialize import deepcopy
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.framework.dra_manager import Known
from kitlib.scheduler.profile import Profile
from kitlib.scheduler.queue.queued_pod_info import pod_key, pod_uid
from kitlib.scheduler.schedule_one import SchedulingLoop
from kitlib.scheduler.scheduler import Scheduler

"""What the clock's zero stands for in time stamps."""


@dataclass(frozen=True)
class Happening:
    """One entry of the log.

    Attributes:
        time_ms: on the driver's clock.
        kind: `Normal`, `Warning` (events of the API) or `Queue` (the queue's own).
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
        nodes, pods: as they stand at the start; pods without a node wait, in their order. release, profile, seed,
            settings: as of `Scheduler`.
        exit_after_s: how long a victim takes to end, unless its own grace period is shorter.
        clock: shared with others, or None for one of its own.

    Attributes:
        loop, scheduler, queue, clock: the parts.
        log: everything that happened.
        pods: pod key -> pod, placed or waiting.
    """

    def __init__(
        self,
        nodes: Iterable[Node],
        pods: Iterable[Pod] = (),
        *,
        release: Release | str | None = None,
        profile: Profile | Mapping[str, Profile] | None = None,
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
        self.log: list[Happening] = []
        self.loop = SchedulingLoop(self.scheduler, self, self.clock)
        self.queue = self.loop.queue
        self.scheduler.context.claims.write = self._write_claim
        self.pods: dict[str, Pod] = {pod_key(pod): pod for pod in placed}
        self._exit_after_ms = int(exit_after_s * 1000)
        self._leaving: dict[str, int] = {}
        for pod in listed:
            if not pod.spec.node_name:
                self.add_pod(pod)

    @property
    def decisions(self) -> Mapping[str, Decision]:
        """Pod key -> its last Decision."""
        found = self.loop.decisions
        return {key: found[pod_uid(pod)] for key, pod in self.pods.items() if pod_uid(pod) in found}

    # What users do.

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
        self.loop.handlers.add_pod(mine)
        return mine

    def update_pod(self, pod: Pod) -> Pod:
        """A pod is changed: its labels, gates, tolerations, requests.

        Raises:
            NotFound: there is none.
        """
        return self._change(self.pod(pod_key(pod)), deepcopy(pod))

    def delete_pod(self, name: str, *, now: bool = True) -> None:
        """A pod is deleted; with `now` it is gone at once, otherwise after its grace.

        Raises:
            NotFound: there is none.
        """
        pod = self.pod(name)
        if pod.spec.node_name and not now:
            self._terminate(pod)
        else:
            self._remove(pod)

    def add_node(self, node: Node) -> None:
        """A node joins.

        Raises:
            AlreadyExists: there is one of that name.
        """
        if self.scheduler.node(node.name) is not None:
            raise AlreadyExists("nodes", node.name)
        self.loop.handlers.add_node(node)

    def update_node(self, node: Node) -> None:
        """A node changes: labels, taints, allocatable, cordon; one that was not known joins."""
        old = self.scheduler.node(node.name)
        if old is None:
            self.loop.handlers.add_node(node)
        else:
            self.loop.handlers.update_node(old, node)

    def remove_node(self, name: str) -> None:
        """A node and its pods are gone.

        Raises:
            NotFound: there is none.
        """
        node = self.scheduler.node(name)
        if node is None:
            raise NotFound("nodes", name)
        for pod in [one for one in self.pods.values() if one.spec.node_name == name]:
            self._remove(pod)
        self.loop.handlers.delete_node(node)

    def put(self, obj: Known) -> None:
        """A claim, a device class or a slice of devices has come, or has changed."""
        self.loop.handlers.put_device_object(obj)

    def pod(self, name: str) -> Pod:
        """A pod by `namespace/name`, or `name` in `default`.

        Raises:
            NotFound: there is none.
        """
        found = self.pods.get(name if "/" in name else f"default/{name}")
        if found is None:
            raise NotFound("pods", name)
        return found

    # What happens.

    def cycle(self) -> Decision | None:
        """Pop a pod and try it; None where no pod may be tried now."""
        return self.loop.schedule_one()

    def allow(self, name: str) -> Decision:
        """Let a pod go on that a Permit plugin holds."""
        return self.loop.allow(self.pod(name))

    def reject(self, name: str, reason: str = "rejected while waiting on permit") -> Decision:
        """Refuse a pod that a Permit plugin holds: it loses its place and waits again."""
        return self.loop.reject(self.pod(name), reason)

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
            seconds: 0 = only what may be tried at once.
            most: cycles, so that a mistake ends.

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
        return self.queue.pending_pods()

    # What the loop asks for.

    def bind(self, pod: Pod, node: str) -> None:
        """The pod runs from now on."""
        new = deepcopy(pod)
        new.spec.node_name, new.status.nominated_node_name = node, ""
        new.status.start_time = self._date()
        scheduled = Condition(type="PodScheduled", status="True")
        new.status.conditions = [*(c for c in pod.status.conditions if c.type != scheduled.type), scheduled]
        self._change(pod, new)

    def patch_pod_status(self, pod: Pod, condition: Condition | None, nominated_node_name: str) -> None:
        new = deepcopy(pod)
        new.status.nominated_node_name = nominated_node_name
        if condition is not None:
            new.status.conditions = [*(c for c in pod.status.conditions if c.type != condition.type), condition]
        self._change(pod, new)

    def preempt_pod(self, victim: Pod, condition: Condition) -> None:
        standing = self.pods.get(pod_key(victim))
        if standing is not None:
            self._terminate(standing, condition)

    def record_event(self, pod: Pod, kind: str, reason: str, message: str) -> None:
        self._note(kind, reason, pod_key(pod), message)

    def trace(self, reason: str, about: str, message: str) -> None:
        self._note("Queue", reason, about, message)

    def _write_claim(self, claim: ResourceClaim) -> ResourceClaim:
        self.loop.handlers.put_device_object(claim)
        return claim

    # The cluster.

    def _change(self, old: Pod, new: Pod) -> Pod:
        self.pods[pod_key(new)] = new
        self.loop.handlers.update_pod(old, new)
        return new

    def _terminate(self, pod: Pod, condition: Condition | None = None) -> None:
        """A placed pod is told to end; it stands until its grace is over."""
        key = pod_key(pod)
        if key in self._leaving:
            return
        own = pod.spec.termination_grace_period_seconds
        grace = min(self._exit_after_ms, own * 1000 if own is not None else self._exit_after_ms)
        if grace <= 0:
            self._remove(pod)
            return
        new = deepcopy(pod)
        new.metadata.deletion_timestamp = self._date()
        if condition is not None:
            new.status.conditions = [*new.status.conditions, condition]
        self._leaving[key] = self.clock.now_ms() + grace
        self._change(pod, new)

    def _remove(self, pod: Pod) -> None:
        """A pod is gone, and gives its claims back, as the claims' controller does."""
        key = pod_key(pod)
        self.pods.pop(key, None)
        self._leaving.pop(key, None)
        self.loop.decisions.pop(pod_uid(pod), None)
        self.loop.handlers.delete_pod(pod)
        if pod.spec.node_name:
            for claim in [c for c in self.scheduler.context.claims.claims.values() if is_reserved_for(c, pod)]:
                self.put(without_users(claim, pod.metadata.uid))

    # Time.

    def _next_due(self) -> int | None:
        """When something happens by itself next: a victim leaves, a back-off ends, the pool is flushed."""
        timer = self.loop.next_timer_ms()
        due = [*self._leaving.values(), *(() if timer is None else (timer,))]
        return min(due) if due else None

    def _pass_to(self, time_ms: int) -> None:
        self.clock.set_ms(max(time_ms, self.clock.now_ms()))
        now = self.clock.now_ms()
        for key in [key for key, end in self._leaving.items() if end <= now]:
            self._remove(self.pods[key])
        self.loop.run_timers()

    def _note(self, kind: str, reason: str, pod: str, message: str) -> None:
        self.log.append(Happening(self.clock.now_ms(), kind, reason, pod, message))

    def _date(self) -> datetime:
        return EPOCH + timedelta(milliseconds=self.clock.now_ms())
