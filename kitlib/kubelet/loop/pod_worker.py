"""One pod on a node: its containers are started in order, watched, restarted with back-off, and reported.

Source: kubelet kuberuntime computePodActions, doBackOff; status/generate.go; getPhase.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from typing import Any

from kitlib.api.core import Container, ContainerStatus, Pod, PodStatus, ResourceRequirements
from kitlib.api.meta import Condition
from kitlib.api.podresources import containers_of
from kitlib.kubelet.cm.desired import container_id
from kitlib.kubelet.loop.interfaces import Ended
from kitlib.kubelet.loop.resize import ERROR, IN_PROGRESS, PENDING, with_resources
from kitlib.kubelet.qos.qos_class import is_restartable_init

OVER = ("Succeeded", "Failed")
"""Phases of a pod that has ended."""
DISRUPTION = "DisruptionTarget"
_KUBELETS = (DISRUPTION, PENDING, IN_PROGRESS)
PULL_FAILED = "ErrImagePull"
PULL_BACK_OFF, PULL_BACK_OFF_MAX = 10.0, 300.0
"""Seconds. Source: kubelet imageBackOffPeriod, MaxImageBackOff."""
START_AGAIN = 10.0
"""Seconds until what could not be started is tried again. Source: kubelet backOffPeriod (without its jitter)."""
FORGIVEN_AFTER = 600.0
"""Seconds of running after which a container's failures are forgotten. Source: backOff's 2 × MaxContainerBackOff."""


@dataclass
class State:
    """One container.

    Attributes:
        container: which. id: its name in the runtime. alive: whether it runs. since: seconds, when it started.
        restarts: so far. failures: since it last ran for long.
        wait: seconds of back-off after its last end; not_before: when they are over.
        running, ended, last: the states as the API shows them; {} = none.
        problem: why it cannot start: reason and message. pulls: how often its image could not be pulled.
    """

    container: Container
    id: str
    alive: bool = False
    since: float = 0.0
    restarts: int = 0
    failures: int = 0
    wait: float = 0.0
    not_before: float = 0.0
    running: dict[str, Any] = field(default_factory=dict)
    ended: dict[str, Any] = field(default_factory=dict)
    last: dict[str, Any] = field(default_factory=dict)
    problem: tuple[str, str] = ("", "")
    pulls: int = 0

    @property
    def succeeded(self) -> bool:
        """Whether it has ended with code 0."""
        return not self.alive and self.ended.get("exitCode") == 0

    def started(self, seconds: float, now: datetime) -> None:
        """It runs."""
        if self.ended:
            self.last = {"terminated": self.ended}
            self.restarts += 1
        self.alive, self.since, self.ended, self.problem, self.pulls = True, seconds, {}, ("", ""), 0
        self.running = {"startedAt": _text(now)}

    def exited(self, gone: Ended, now: datetime, base: float, most: float) -> None:
        """It has ended; the next start waits 0, 10, 20, 40, … seconds, at most 300."""
        if gone.at - self.since >= FORGIVEN_AFTER:
            self.failures = 0
        wait = min(base * 2 ** (self.failures - 1), most) if self.failures else 0.0
        self.failures += 1
        self.wait, self.not_before = wait, gone.at + wait
        reason = "OOMKilled" if gone.oom else "Completed" if gone.code == 0 else "Error"
        self.ended = {"exitCode": gone.code, "reason": reason, **self.running, "finishedAt": _text(now)}
        if gone.message:
            self.ended["message"] = gone.message
        self.alive, self.running = False, {}

    def pull_failed(self, seconds: float) -> None:
        """Its image could not be pulled: the next try is in 10, 20, 40, … seconds, at most 300."""
        self.wait = min(PULL_BACK_OFF * 2**self.pulls, PULL_BACK_OFF_MAX)
        self.pulls, self.not_before = self.pulls + 1, seconds + self.wait

    def start_failed(self, seconds: float) -> None:
        """It could not be started: the next try comes soon, whatever the cause. Source: podWorkers.completeWork."""
        self.not_before = seconds + START_AGAIN

    def stopped(self, now: datetime, grace: float) -> None:
        """The kubelet has ended it: in its own time where it was given some, else it was killed."""
        code = 143 if grace > 1 else 137
        self.ended = {"exitCode": code, "reason": "Error", **self.running, "finishedAt": _text(now)}
        self.alive, self.running = False, {}

    def status(
        self, now: float, *, may_restart: bool, allocated: ResourceRequirements | None = None
    ) -> ContainerStatus:
        """As the API shows it; `allocated`: the resources that were granted."""
        state: dict[str, Any]
        if self.alive:
            state = {"running": self.running}
        elif self.problem[0]:
            state = {"waiting": {"reason": self.problem[0], "message": self.problem[1]}}
        elif self.ended and may_restart and self.not_before > now:
            left = f"back-off {self.wait:.0f}s restarting failed container={self.container.name}"
            state = {"waiting": {"reason": "CrashLoopBackOff", "message": left}}
        elif self.ended:
            state = {"terminated": self.ended}
        else:
            state = {"waiting": {"reason": "PodInitializing"}}
        waiting = "waiting" in state and bool(self.ended)
        return ContainerStatus(
            name=self.container.name,
            image=self.container.image,
            ready=bool(self.alive) or (self.succeeded and not may_restart),
            started=bool(self.alive),
            restart_count=self.restarts,
            state=state,
            last_state={"terminated": self.ended} if waiting else self.last,
            allocated_resources=dict(allocated.requests) if allocated is not None else {},
            resources=self.container.resources if self.alive else None,
        )


class PodWorker:
    """A pod's containers.

    Attributes:
        pod: as it was last seen. inits, mains: their states, in the manifest's order.
        final: the phase, reason and message that end it, where the kubelet ended it itself; disruption: the message of
            its condition DisruptionTarget; grace: seconds that its containers then get.
        given: seconds that its containers got when they were last told to end; infinite = they were not.
        leaving: whether it is being deleted. standing: the status that was reported last.
        asked: what it requests, in thousandths; the kubelet admits by it. counted: whether that still counts.
        generation: grows with every change of the specification.
        has_sandbox: whether its pause container runs; not_before: when it may be tried again.
        allocated: the pod with the resources that were granted; actual: with those that its cgroups follow. All three
            are the same object where no resize is under way.
        unprepared: why its claims of devices are not ready.
        resize_pending: reason and message of a resize that was not granted; resize_error: why one is not carried out.
    """

    def __init__(self, pod: Pod, now: datetime) -> None:
        self.pod, self.began, self.standing = pod, now, pod.status
        self.allocated = self.actual = pod
        self.resize_pending, self.resize_error = ("", ""), ""
        uid = pod.metadata.uid
        self.sandbox = container_id(uid, "")
        self.inits = [State(c, container_id(uid, c.name)) for c in pod.spec.init_containers]
        self.mains = [State(c, container_id(uid, c.name)) for c in pod.spec.containers]
        self.leaving = False
        self.final: tuple[str, str, str] | None = None
        self.disruption, self.grace, self.given = "", 0.0, inf
        self.unprepared = ""
        self.asked: dict[str, int] = {}
        self.counted = False
        self.generation = 0
        self.has_sandbox, self.not_before = False, 0.0

    @property
    def active(self) -> bool:
        """Whether it has cgroups: it is neither over nor on its way out."""
        return not self.leaving and self.phase() not in OVER

    @property
    def settled(self) -> bool:
        """Whether nothing happens to it by itself: all of it runs, or nothing of it will run again."""
        if self.leaving:
            return False
        if self.phase() in OVER:
            return not self.has_sandbox
        if self.resizing:
            return False
        if not self.initialized:
            return False
        return all(s.alive or (s.ended and not self.may_restart(s)) for s in self.states)

    @property
    def states(self) -> list[State]:
        """All of them."""
        return [*self.inits, *self.mains]

    @property
    def running(self) -> bool:
        """Whether any container runs."""
        for some in (self.mains, self.inits):
            for state in some:
                if state.alive:
                    return True
        return False

    def of_id(self, identity: str) -> State | None:
        """The container with that id."""
        return next((state for state in self.states if state.id == identity), None)

    def update(self, pod: Pod) -> bool:
        """The manifest may have changed: what the containers may use, the time of deletion, the status.

        Returns:
            Whether anything has.
        """
        before, status = self.pod, self.standing
        self.pod, self.standing = pod, pod.status
        if pod.spec == before.spec:
            self.allocated = pod if self.allocated is before else self.allocated
            self.actual = pod if self.actual is before else self.actual
            dated = pod.metadata.deletion_timestamp != before.metadata.deletion_timestamp
            return dated or pod.status != status
        self.generation += 1
        self.allocated = with_resources(pod, self.allocated)
        self.actual = with_resources(pod, self.actual)
        if not self.resizing:
            self.resize_pending, self.resize_error = ("", ""), ""
        self._take_over()
        return True

    @property
    def resizing(self) -> bool:
        """Whether its containers should get other resources than they have."""
        return self.actual is not self.pod

    def allocate(self, pod: Pod) -> None:
        """These resources are granted."""
        self.allocated = pod

    def actuate(self) -> None:
        """The cgroups are to follow what was granted."""
        self.actual = self.allocated
        self.generation += 1
        self._take_over()

    def _take_over(self) -> None:
        given = {c.name: c for c in containers_of(self.actual)}
        for state in self.states:
            state.container = given.get(state.container.name, state.container)

    def may_restart(self, state: State) -> bool:
        """Whether the policy starts a container again that has ended so."""
        policy = self.pod.spec.restart_policy
        if is_restartable_init(state.container):
            return True
        if state in self.inits:
            return policy != "Never" and not state.succeeded
        return policy == "Always" or (policy == "OnFailure" and not state.succeeded)

    def to_start(self, now: float) -> list[State]:
        """The containers whose turn it is: init containers one by one, sidecars beside them, then all others."""
        due: list[State] = []
        if self.final is not None or self.leaving or self.not_before > now:
            return due
        for state in self.inits:
            if is_restartable_init(state.container):
                if self._is_due(state, now):
                    due.append(state)
                continue
            if state.succeeded:
                continue
            if self._is_due(state, now):
                due.append(state)
            return due
        return due + [state for state in self.mains if self._is_due(state, now)]

    def _is_due(self, state: State, now: float) -> bool:
        if state.alive:
            return False
        if state.problem[0]:
            return state.not_before <= now
        return not state.ended or (self.may_restart(state) and state.not_before <= now)

    @property
    def initialized(self) -> bool:
        """Whether every init container has done its part."""
        return all(bool(s.alive) if is_restartable_init(s.container) else s.succeeded for s in self.inits)

    def phase(self) -> str:
        """Source: kubelet getPhase."""
        if self.final is not None:
            return self.final[0]
        if self.inits:
            if any(s.ended and not s.alive and not s.succeeded and not self.may_restart(s) for s in self.inits):
                return "Failed"
            if not self.initialized and not any(s.alive or s.ended for s in self.mains):
                return "Pending"
        over = [s for s in self.mains if s.ended and not s.alive and not self.may_restart(s)]
        if len(over) == len(self.mains):
            return "Succeeded" if all(s.succeeded for s in over) else "Failed"
        return "Running" if any(s.alive or s.ended for s in self.mains) else "Pending"

    def status(self, seconds: float, now: datetime) -> PodStatus:
        """The pod's status as the kubelet reports it."""
        phase, standing = self.phase(), self.standing
        granted = {c.name: c.resources for c in containers_of(self.allocated)}
        mains, inits = (
            [s.status(seconds, may_restart=self.may_restart(s), allocated=granted.get(s.container.name)) for s in some]
            for some in (self.mains, self.inits)
        )
        ready = phase == "Running" and all(s.ready for s in mains)
        found = PodStatus(
            phase=phase,
            reason=self.final[1] if self.final else "",
            message=self.final[2] if self.final else "",
            start_time=standing.start_time or self.began,
            qos_class=standing.qos_class,
            container_statuses=mains,
            init_container_statuses=inits,
            resources=standing.resources,
        )
        ours = {
            "PodReadyToStartContainers": phase in ("Pending", "Running"),
            "Initialized": self.initialized,
            "ContainersReady": ready,
            "Ready": ready,
        }
        found.conditions = [c for c in standing.conditions if c.type not in ours and c.type not in _KUBELETS]
        before = {c.type: c for c in standing.conditions}
        for kind, holds in ours.items():
            value = "True" if holds else "False"
            old = before.get(kind)
            since = old.last_transition_time if old is not None and old.status == value else now
            found.conditions.append(Condition(type=kind, status=value, last_transition_time=since))
        pending, told = self.resize_pending
        for kind, reason, message in (
            (PENDING, pending, told),
            (IN_PROGRESS, ERROR if self.resize_error else "", self.resize_error),
        ):
            if reason:
                old = before.get(kind)
                since = old.last_transition_time if old is not None else now
                found.conditions.append(
                    Condition(type=kind, status="True", reason=reason, message=message, last_transition_time=since)
                )
        if self.disruption:
            old = before.get(DISRUPTION)
            since = old.last_transition_time if old is not None else now
            found.conditions.append(
                Condition(
                    type=DISRUPTION,
                    status="True",
                    reason="TerminationByKubelet",
                    message=self.disruption,
                    last_transition_time=since,
                )
            )
        return found


def _text(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")
