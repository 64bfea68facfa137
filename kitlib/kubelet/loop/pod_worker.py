"""One pod on a node: the state of its containers, the order of their starts, their restarts, and the pod's status.

Source: kubelet kuberuntime computePodActions; status/generate.go; getPhase; pod_workers.go.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from math import inf

from kitlib.api.core import TERMINAL_PHASES, Container, EphemeralContainer, Pod, PodStatus
from kitlib.api.meta import Condition
from kitlib.api.podresources import containers_of, field_path, pod_requests
from kitlib.api.release import Release
from kitlib.kubelet.cm.cgroup_levels import container_id
from kitlib.kubelet.cm.container_config import LinuxContainerResources
from kitlib.kubelet.loop.backoff import event_message
from kitlib.kubelet.loop.container_state import ContainerState, Starting, Waiting
from kitlib.kubelet.loop.interfaces import ContainerRuntime, Reports
from kitlib.kubelet.loop.resize import ERROR, IN_PROGRESS, PENDING, with_resources
from kitlib.kubelet.loop.restart_policy import (
    RESTART_ALL_GATE,
    container_should_restart,
    could_restart_all_containers,
    restarts_all_containers,
)
from kitlib.kubelet.loop.status import (
    BY_KUBELET,
    DISRUPTION_TARGET,
    OWNED,
    RESTARTING,
    conditions,
    container_status,
    dated,
    pod_resources,
)
from kitlib.kubelet.qos.qos_class import get_pod_qos, is_restartable_init


@dataclass(frozen=True)
class Ending:
    """The decision of the kubelet to stop a pod: an eviction, a preemption, or the end of its deadline.

    Attributes:
        reason, message: the reason and the message of its status if its phase becomes Failed.
        disruption: the message of its condition DisruptionTarget; "" = it gets none.
        grace: the grace period of its containers in seconds.
        fails: whether its phase becomes Failed whatever its containers' exit codes are.
    """

    reason: str
    message: str
    disruption: str
    grace: float
    fails: bool = False


class PodWorker:
    """A pod with its containers.

    Attributes:
        pod: the last received version of the pod.
        inits, mains, ephemerals: the states of its containers, in the manifest's order.
        rejected: reason and message of its rejection; None = it was admitted.
        ending: the kubelet's decision to stop it; None = no decision.
        given: the grace period of the current stop in seconds; infinite = it is not being stopped.
        leaving: whether it is being deleted.
        victims: the pods that are preempted for it.
        standing: the last reported status.
        asked: resource -> its request at admission, in thousandths.
        counted: whether `asked` is part of the node's sum.
        holds_resources: whether it counts for the QoS cgroups: from its admission until all of its processes end.
        generation: the number of changes of the specification.
        has_sandbox: whether its pause container runs.
        sandbox_changed: whether its pause container has ended without the kubelet.
        address: the pod's IP address; "" = none.
        host: the node's IP address; "" = none.
        not_before: the next try to start it, in seconds on the node's clock.
        allocated: the pod with the allocated resources.
        actual: the pod with the resources of its cgroups; without a resize the same object as `pod` and `allocated`.
        unprepared: the reason why its claims of devices are not prepared.
        restarting_all: whether a container's rule restarts all containers and some are not removed yet.
        resize_pending: reason and message of a resize that is not allocated.
        resize_error: the error of a resize that is not actuated.
        resized_from: the pod with the runtime's old resources during a resize; None = no resize.
    """

    def __init__(self, pod: Pod, now: datetime, host: str = "", release: Release | None = None) -> None:
        self.release = release or Release.followed()
        self.pod, self.began, self.standing, self.host = pod, now, pod.status, host
        self.allocated = self.actual = pod
        self.resize_pending, self.resize_error = ("", ""), ""
        self.resized_from: Pod | None = None
        uid = pod.metadata.uid
        self.sandbox = container_id(uid, "")
        self.inits = [ContainerState(c, container_id(uid, c.name)) for c in pod.spec.init_containers]
        self.mains = [ContainerState(c, container_id(uid, c.name)) for c in pod.spec.containers]
        self.ephemerals: list[ContainerState] = []
        self._add_ephemerals()
        self.leaving = False
        self.rejected: tuple[str, str] | None = None
        self.ending: Ending | None = None
        self.given = inf
        self.victims: list[PodWorker] = []
        self.unprepared = ""
        self.restarting_all = False
        self.terminations: list[Waiting] = []
        self.starting: Starting | None = None
        self.asked: dict[str, int] = {}
        self.counted = self.holds_resources = False
        self.generation = 0
        self.has_sandbox = self.sandbox_changed = False
        self.address, self.not_before = "", 0.0

    def __str__(self) -> str:
        return f"pod {self.pod.key}"

    @property
    def active(self) -> bool:
        """Whether it has cgroups: it is not in a terminal phase and not being stopped."""
        return not self.terminating and self.phase() not in TERMINAL_PHASES

    @property
    def terminating(self) -> bool:
        """Whether its containers are being stopped: it was deleted, evicted or preempted."""
        return self.leaving or self.ending is not None

    @property
    def settled(self) -> bool:
        """Whether it needs no further work: all of its containers run, or none of them will run again."""
        if self.leaving:
            return False
        if self.phase() in TERMINAL_PHASES:
            return not self.has_sandbox and not self.holds_resources
        if self.resizing or self.terminating or self.restarting_all or self.in_hooks:
            return False
        if not self.initialized:
            return False
        return all(s.alive or (s.ended and not self.may_restart(s)) for s in self.states)

    @property
    def in_hooks(self) -> bool:
        """Whether a hook runs, or a container waits for others before its stop."""
        return bool(self.terminations) or self.starting is not None

    def cancel_termination(self, state: ContainerState) -> None:
        """Cancel the stop of a container that waits for its hook or for other containers."""
        for termination in self.terminations:
            if termination.state is state:
                termination.cancel()
        self.terminations = [termination for termination in self.terminations if termination.state is not state]

    @property
    def states(self) -> list[ContainerState]:
        """The states of all containers."""
        return [*self.inits, *self.mains, *self.ephemerals]

    @property
    def running(self) -> bool:
        """Whether any container runs."""
        for some in (self.mains, self.inits, self.ephemerals):
            for state in some:
                if state.alive:
                    return True
        return False

    def update(self, pod: Pod) -> bool:
        """Take over a new version of the pod; its resources, its deletion timestamp and its status may have changed.

        Returns:
            Whether anything has changed.
        """
        before, status = self.pod, self.standing
        self.pod, self.standing = pod, pod.status
        if pod.spec == before.spec:
            # Identity means "no resize": as long as the three references are the same object they move on together.
            self.allocated = pod if self.allocated is before else self.allocated
            self.actual = pod if self.actual is before else self.actual
            dated = pod.metadata.deletion_timestamp != before.metadata.deletion_timestamp
            return dated or pod.status != status
        self.generation += 1
        self.allocated = with_resources(pod, self.allocated)
        self.actual = with_resources(pod, self.actual)
        self._add_ephemerals()
        if not self.resizing:
            self.resize_pending, self.resize_error = ("", ""), ""
        self._take_over()
        return True

    def _add_ephemerals(self) -> None:
        """Add new ephemeral containers; none is ever removed. Source: ValidatePodEphemeralContainersUpdate."""
        known = {state.container.name for state in self.ephemerals}
        for container in self.pod.spec.ephemeral_containers:
            if container.name not in known:
                self.ephemerals.append(ContainerState(container, container_id(self.pod.metadata.uid, container.name)))

    @property
    def resizing(self) -> bool:
        """Whether a resize is not complete: allocated, actual and desired resources differ."""
        return self.actual is not self.pod or self.resized_from is not None

    def allocate(self, pod: Pod) -> None:
        """Allocate the resources of this version of the pod."""
        self.allocated = pod

    def actuate(self) -> None:
        """Make the allocated resources the desired ones of the cgroups."""
        self.actual = self.allocated
        self.generation += 1
        self._take_over()

    def _take_over(self) -> None:
        given = {c.name: c for c in containers_of(self.actual)}
        for state in self.states:
            state.container = given.get(state.container.name, state.container)

    def may_restart(self, state: ContainerState) -> bool:
        """Return whether the policy restarts a container with its last exit code."""
        if isinstance(state.container, EphemeralContainer):
            return False
        if self.restarting_all or state.starts_at_once:
            return True
        if is_restartable_init(state.container):
            return True
        if state in self.inits:  # a failed one may have the exit code 0
            if state.initialized:
                return False
            return container_should_restart(state.container, self.pod.spec, state.exit_code or 1, self.release)
        return container_should_restart(state.container, self.pod.spec, state.exit_code, self.release)

    def has_work(self, now: float) -> bool:
        """Return whether the pod needs work although nothing has happened to it."""
        if self.terminating or self.restarting_all or self.in_hooks:
            return True
        return bool(self.resize_error or self.to_start(now))

    def exited(self, state: ContainerState) -> bool:
        """Apply the rules of an ended container; return whether all containers of the pod are restarted."""
        if state not in self.ephemerals and restarts_all_containers(state.container, state.exit_code, self.release):
            self.restarting_all = self.active
        return self.restarting_all

    def report_back_off(self, state: ContainerState, reports: Reports, now: float) -> None:
        """Report an ended container that waits for its back-off. Source: doBackOff."""
        if state.back_off.not_before > now and self.may_restart(state) and self.active:
            where = field_path(self.pod, state.container)
            reports.event(self.pod, "Warning", "BackOff", event_message(state.container.name, self.pod), where)

    def to_start(self, now: float) -> list[ContainerState]:
        """Return the containers to start: init containers one by one, with sidecars beside them, then the regular ones.

        Source: computePodActions.
        """
        due: list[ContainerState] = []
        if self.rejected is not None or self.terminating or self.restarting_all or self.not_before > now:
            return due
        # Ephemeral containers start even if the initialization is not complete or fails: they may serve to debug it.
        due += [state for state in self.ephemerals if self._is_due(state, now)]
        # Upstream searches backwards from the last init container, because the runtime may have removed earlier ones.
        # Here no state is ever removed, so the first one that is not complete is the next.
        for state in self.inits:
            if is_restartable_init(state.container):
                if self._is_due(state, now):
                    due.append(state)
                if "Startup" in state.probes and not state.has_started:
                    return due  # its startup probe blocks the next container: computeInitContainerActions
                continue
            if state.initialized:
                continue
            if self._is_due(state, now):
                due.append(state)
            return due
        return due + [state for state in self.mains if self._is_due(state, now)]

    def _is_due(self, state: ContainerState, now: float) -> bool:
        if state.alive:
            return False
        if state.problem[0]:
            return state.back_off.not_before <= now
        return not state.ended or (self.may_restart(state) and state.back_off.not_before <= now)

    @property
    def initialized(self) -> bool:
        """Whether every init container has succeeded, and every sidecar has started."""
        return all(s.has_started if is_restartable_init(s.container) else s.initialized for s in self.inits)

    def phase(self) -> str:
        """Return the pod's phase. Source: kubelet getPhase."""
        if self.rejected is not None:
            return "Failed"
        if self.ending is not None and self.ending.fails and not any(s.alive for s in self.states):
            return "Failed"
        # In a pod that is being stopped no container is restarted, so the restart policy plays no part.
        if self.terminating and all(not s.alive and s.ended for s in self.mains):
            return "Succeeded" if all(s.succeeded for s in self.mains) else "Failed"
        if self.inits:
            ended = [s for s in self.inits if s.ended and not s.alive and not s.initialized]
            failed = [s for s in ended if not self.may_restart(s)]
            if failed:
                zero = all(s.succeeded for s in failed)
                return "Pending" if zero and not self.release.default("oomKilledInitFailsPod") else "Failed"
            if not self.initialized and not any(s.alive or s.ended for s in self.mains) and self._initializes:
                return "Pending"
        if all(s.ended and not s.alive and not self.may_restart(s) for s in self.mains):
            return "Succeeded" if all(s.succeeded for s in self.mains) else "Failed"
        return "Running" if any(s.alive or s.ended or s.removed for s in self.mains) else "Pending"

    @property
    def _initializes(self) -> bool:
        """Whether an init container runs or a container waits for its first start; removed ones count as stopped."""
        first = any(not (s.alive or s.ended or s.removed) for s in (*self.inits, *self.mains))
        return first or any(s.alive and not (is_restartable_init(s.container) and s.has_started) for s in self.inits)

    @classmethod
    def of_rejected(cls, pod: Pod, now: datetime, host: str = "") -> PodWorker:
        """Return the worker of a pod that was rejected before the kubelet's restart."""
        made = cls(pod, now, host)
        made.rejected = pod.status.reason, pod.status.message
        made.restarted()
        return made

    def restarted(self) -> None:
        """Reset the accounting after a restart of the kubelet; a rejected pod has no containers.

        Source: TerminatePod.
        """
        self.counted, self.asked = False, {}
        if self.rejected is not None:
            self._mark_unknown()

    def ended(self, now: datetime, exit_code: Callable[[str], int]) -> None:
        """Record the end of a stopped pod after its last process has ended."""
        for state in self.states:
            if state.alive:
                state.stopped(now, exit_code(state.id))
        self._mark_unknown()

    def _mark_unknown(self) -> None:
        from kitlib.kubelet.loop.unknown_status import mark_unknown  # loaded with the first terminated pod

        mark_unknown(self.inits, self.mains)

    def status(
        self,
        seconds: float,
        now: datetime,
        resources: Callable[[Pod, Container], LinuxContainerResources],
        runtime: ContainerRuntime,
        release: Release,
    ) -> PodStatus:
        """Return the pod's status.

        Args:
            seconds: seconds on the node's clock.
            now: the current date.
            resources: returns the runtime's resources of a container.
            runtime: the container runtime.
            release: the release that determines the fields.
        """
        phase, standing = self.phase(), self.standing
        # A set one stays up to date without the gate. Source: podutil.CalculatePodStatusObservedGeneration.
        tracked = release.enabled("PodObservedGenerationTracking") or bool(standing.observed_generation)
        generation = self.pod.metadata.generation or None if tracked else None
        found = PodStatus(
            phase=phase,
            observed_generation=generation,
            start_time=standing.start_time or self.began,
            qos_class=standing.qos_class or get_pod_qos(self.pod, release),
            resource_claim_statuses=list(standing.resource_claim_statuses),  # written by controllers: mergePodStatus
            extended_resource_claim_status=standing.extended_resource_claim_status,
        )
        if self.rejected is not None:  # source: rejectPod
            found.reason, found.message = self.rejected
            found.conditions = [c for c in standing.conditions if c.type not in OWNED]
            if any(state.ended for state in self.mains):
                found.container_statuses = [
                    container_status(
                        self.actual, s, seconds, may_restart=False, resources=None, runtime=runtime, release=release
                    )
                    for s in self.mains
                ]
            return found
        if self.ending is not None and phase == "Failed":
            found.reason, found.message = self.ending.reason, self.ending.message
        self._put_addresses(found)
        held = self.resized_from or self.actual
        own = {c.name: c for c in containers_of(held)}
        found.container_statuses, found.init_container_statuses, found.ephemeral_container_statuses = (
            [
                container_status(
                    self.actual,
                    state,
                    seconds,
                    may_restart=self.may_restart(state) and not self.terminating,
                    resources=resources(held, own.get(state.container.name, state.container)) if state.alive else None,
                    runtime=runtime,
                    release=release,
                )
                for state in some
            ]
            for some in (self.mains, self.inits, self.ephemerals)
        )
        if release.enabled("InPlacePodLevelResourcesVerticalScaling"):
            found.allocated_resources = dict(pod_requests(self.allocated, release=release))
            found.resources = pod_resources(held, release)
        found.conditions = self._conditions(found, now, generation)
        return found

    def _put_addresses(self, status: PodStatus) -> None:
        """Set the addresses; those of an ended pod remain in its status. Source: kubelet generateAPIPodStatus."""
        status.host_ip = self.host
        status.pod_ip = (self.host if self.pod.spec.host_network else self.address) or self.standing.pod_ip
        status.host_ips = [{"ip": self.host}] if self.host else []
        status.pod_ips = [{"ip": status.pod_ip}] if status.pod_ip else []

    def addressed(self) -> Pod:
        """Return the pod with its addresses for the downward API. Source: kubelet makeEnvironmentVariables."""
        if not self.host and not self.address:
            return self.pod
        made = copy(self.pod)
        made.status = copy(made.status)
        self._put_addresses(made.status)
        return made

    def _conditions(self, found: PodStatus, now: datetime, generation: int | None) -> list[Condition]:
        before = {c.type: c for c in self.standing.conditions}
        ended = found.phase in TERMINAL_PHASES and self.release.enabled("PodDisruptionConditions")
        said = self.ending.disruption if ended and self.ending is not None else ""
        mine = (PENDING, IN_PROGRESS, RESTARTING, *OWNED, *([DISRUPTION_TARGET] if said else []))
        made = [c for c in self.standing.conditions if c.type not in mine]  # of other components: mergePodStatus
        own: list[Condition] = []
        if said:
            own.append(Condition(type=DISRUPTION_TARGET, status="True", reason=BY_KUBELET, message=said))
        own += conditions(
            self.pod,
            found.phase,
            found.init_container_statuses,
            found.container_statuses,
            sandbox=self.has_sandbox,
            keeps_initialized=self.release.enabled(RESTART_ALL_GATE),
        )
        if could_restart_all_containers(self.pod.spec, self.release):
            from kitlib.kubelet.loop.restart_condition import restarting_condition

            own.append(restarting_condition(found.phase, restarting=self.restarting_all))
        pending, told = self.resize_pending
        for kind, reason, message in (
            (PENDING, pending, told),
            (IN_PROGRESS, ERROR if self.resize_error else "", self.resize_error),
        ):
            if reason:
                own.append(Condition(type=kind, status="True", reason=reason, message=message))
        return made + [dated(condition, before.get(condition.type), now, generation) for condition in own]
