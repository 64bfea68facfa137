"""A scheduler on a virtual clock, in a small cluster whose pods end and whose claims are written.

    driver = Driver(nodes)
    driver.add_pod(pod)
    driver.step()            # one cycle if a pod may be tried, else the clock moves to the next timer
    driver.run(60)           # all cycles and timers of a minute

`SchedulingLoop` is the scheduler; the driver carries out its actions and keeps a log. A pod that is placed counts as
running; a victim ends after its grace period.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from kitlib.api.clock import EPOCH, VirtualClock
from kitlib.api.core import Node, Pod
from kitlib.api.errors import AlreadyExists, NotFound
from kitlib.api.meta import Condition
from kitlib.api.release import Release
from kitlib.api.serialize import deepcopy
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.profile import Profile
from kitlib.scheduler.queue.queued_pod_info import pod_key, pod_uid
from kitlib.scheduler.schedule_one import SchedulingLoop
from kitlib.scheduler.scheduler import Scheduler

if TYPE_CHECKING:  # loaded with the first claim
    from kitlib.api.devices import ResourceClaim
    from kitlib.scheduler.framework.dra_manager import DRAManager, Known


@dataclass(frozen=True)
class Happening:
    """One entry of the log.

    Attributes:
        time_ms: the time on the driver's clock, in milliseconds.
        kind: `Normal`, `Warning` (events of the API) or `Queue` (events of the queue).
        reason: the event's reason: `Scheduled`, `FailedScheduling`, `Preempted`, …
        pod: `namespace/name`, or a node's name.
        message: the event's message.
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
        nodes: the nodes at the start.
        pods: the pods at the start; pods without a node enter the queue in this order.
        release: the release that is followed, as in `Scheduler`.
        profile: the profile or profiles, as in `Scheduler`.
        seed: the seed of the choice between equal nodes, as in `Scheduler`.
        exit_after_s: seconds until a victim has ended, unless its own grace period is shorter.
        arrivals: pods that are created later, each with its time on the clock in seconds.
        clock: a clock that is shared with other components; None = a new one.
        settings: further arguments of `Scheduler`.

    Attributes:
        loop: the scheduling loop.
        scheduler: the loop's scheduler.
        queue: the loop's queue.
        clock: the virtual clock.
        log: all events so far.
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
        arrivals: Iterable[tuple[float, Pod]] = (),
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
        self.scheduler.context.connect(devices=self._connect_claims)
        self.pods: dict[str, Pod] = {pod_key(pod): pod for pod in placed}
        self._exit_after_ms = int(exit_after_s * 1000)
        self._leaving: dict[str, int] = {}
        self._arriving = [(int(seconds * 1000), pod) for seconds, pod in arrivals]
        for pod in listed:
            if not pod.spec.node_name:
                self.add_pod(pod)

    @property
    def decisions(self) -> Mapping[str, Decision]:
        """Pod key -> its last Decision."""
        found = self.loop.decisions
        return {key: found[pod_uid(pod)] for key, pod in self.pods.items() if pod_uid(pod) in found}

    # The user's actions.

    def add_pod(self, pod: Pod) -> Pod:
        """Create a copy of a pod and return it.

        Raises:
            AlreadyExists: a pod of that name exists.
        """
        key = pod_key(pod)
        if key in self.pods:
            raise AlreadyExists("pods", pod.name)
        mine = deepcopy(pod)
        self.pods[key] = mine
        self.loop.handlers.add_pod(mine)
        return mine

    def update_pod(self, pod: Pod) -> Pod:
        """Change a pod's labels, gates, tolerations or requests, and return the new pod.

        Raises:
            NotFound: no pod of that name exists.
        """
        return self._change(self.pod(pod_key(pod)), deepcopy(pod))

    def delete_pod(self, name: str, *, now: bool = True) -> None:
        """Delete a pod: at once with `now` or if it has no node, else after its grace period.

        Raises:
            NotFound: no pod of that name exists.
        """
        pod = self.pod(name)
        if pod.spec.node_name and not now:
            self._terminate(pod)
        else:
            self._remove(pod)

    def add_node(self, node: Node) -> None:
        """Add a node.

        Raises:
            AlreadyExists: a node of that name exists.
        """
        if self.scheduler.node(node.name) is not None:
            raise AlreadyExists("nodes", node.name)
        self.loop.handlers.add_node(node)

    def update_node(self, node: Node) -> None:
        """Change a node's labels, taints, allocatable or cordon; add a node that is not known."""
        old = self.scheduler.node(node.name)
        if old is None:
            self.loop.handlers.add_node(node)
        else:
            self.loop.handlers.update_node(old, node)

    def remove_node(self, name: str) -> None:
        """Remove a node and its pods.

        Raises:
            NotFound: no node of that name exists.
        """
        node = self.scheduler.node(name)
        if node is None:
            raise NotFound("nodes", name)
        for pod in [one for one in self.pods.values() if one.spec.node_name == name]:
            self._remove(pod)
        self.loop.handlers.delete_node(node)

    def put(self, obj: Known) -> None:
        """Add or replace a claim, a device class, a resource slice or a device taint rule."""
        self.loop.handlers.put_device_object(obj)

    def pod(self, name: str) -> Pod:
        """Return a pod by `namespace/name`, or by its name in `default`.

        Raises:
            NotFound: no pod of that name exists.
        """
        found = self.pods.get(name if "/" in name else f"default/{name}")
        if found is None:
            raise NotFound("pods", name)
        return found

    # Cycles and time.

    def cycle(self) -> Decision | None:
        """Pop a pod and try it; return None if no pod may be tried now."""
        return self.loop.schedule_one()

    def allow(self, name: str) -> Decision:
        """Approve a pod that a Permit plugin holds, so that it is bound."""
        return self.loop.allow(self.pod(name))

    def reject(self, name: str, reason: str = "rejected while waiting on permit") -> Decision:
        """Reject a pod that a Permit plugin holds: its reservations are undone and it returns to the queue."""
        return self.loop.reject(self.pod(name), reason)

    def step(self) -> str:
        """Run one cycle if a pod may be tried; otherwise move the clock to the next timer.

        Returns:
            A description of the result; "" = no timer is left.
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
        """Run all cycles and timers of a period; at any time cycles come first.

        Args:
            seconds: the length of the period; 0 = only the cycles that are possible now.
            most: the maximum number of cycles, which ends an endless sequence.

        Returns:
            The decisions, in order.
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
        """Let time pass without trying any pod: back-offs end, victims leave, the unschedulable pool is flushed."""
        end = self.clock.now_ms() + int(seconds * 1000)
        while (due := self._next_due()) is not None and due <= end:
            self._pass_to(due)
        self.clock.set_ms(max(end, self.clock.now_ms()))

    def waiting(self) -> Mapping[str, list[str]]:
        """Return kube-scheduler's name of each queue -> names of the pods in it, the next one first."""
        return self.queue.pending_pods()

    # The loop's sink.

    def bind(self, pod: Pod, node: str) -> None:
        """Bind the pod; it counts as running from now on."""
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

    def _connect_claims(self, claims: DRAManager) -> None:
        claims.write = self._write_claim

    def _write_claim(self, claim: ResourceClaim) -> ResourceClaim:
        self.loop.handlers.put_device_object(claim)
        return claim

    # The cluster.

    def _change(self, old: Pod, new: Pod) -> Pod:
        self.pods[pod_key(new)] = new
        self.loop.handlers.update_pod(old, new)
        return new

    def _terminate(self, pod: Pod, condition: Condition | None = None) -> None:
        """Begin the deletion of a placed pod, which stays on its node until its grace period is over."""
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
        """Remove a pod and release its claims, as the resource claim controller does."""
        key = pod_key(pod)
        self.pods.pop(key, None)
        self._leaving.pop(key, None)
        self.loop.decisions.pop(pod_uid(pod), None)
        self.loop.handlers.delete_pod(pod)
        devices = self.scheduler.context.devices
        if pod.spec.node_name and devices is not None:
            from kitlib.api.claims import is_reserved_for, without_users

            for claim in [c for c in devices.claims.values() if is_reserved_for(c, pod)]:
                self.put(without_users(claim, pod.metadata.uid))

    # Time.

    def _next_due(self) -> int | None:
        """Return when a pod leaves or arrives or a timer of the loop is due next, in milliseconds; None = never."""
        timer = self.loop.next_timer_ms()
        due = [*self._leaving.values(), *(at for at, _ in self._arriving), *(() if timer is None else (timer,))]
        return min(due) if due else None

    def _pass_to(self, time_ms: int) -> None:
        self.clock.set_ms(max(time_ms, self.clock.now_ms()))
        now = self.clock.now_ms()
        for key in [key for key, end in self._leaving.items() if end <= now]:
            self._remove(self.pods[key])
        for pod in [pod for at, pod in self._arriving if at <= now]:
            self._note("Normal", "Created", pod_key(pod), f"{pod.name} arrives")
            self.add_pod(pod)
        self._arriving = [(at, pod) for at, pod in self._arriving if at > now]
        self.loop.run_timers()

    def _note(self, kind: str, reason: str, pod: str, message: str) -> None:
        self.log.append(Happening(self.clock.now_ms(), kind, reason, pod, message))

    def _date(self) -> datetime:
        return EPOCH + timedelta(milliseconds=self.clock.now_ms())
