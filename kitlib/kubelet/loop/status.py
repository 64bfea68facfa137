"""The status of a pod in the API: container statuses with the runtime's resources, conditions with reasons.

Source: kubelet generateAPIPodStatus, convertToAPIContainerStatuses, convertContainerStatusResources;
status.GenerateContainersReadyCondition, GeneratePodReadyCondition, GeneratePodInitializedCondition.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from kitlib.api.core import (
    TERMINAL_PHASES,
    Container,
    ContainerStatus,
    ContainerUser,
    EphemeralContainer,
    Pod,
    ResourceList,
    ResourceRequirements,
    VolumeMountStatus,
)
from kitlib.api.meta import Condition
from kitlib.api.podresources import pod_limits, pod_requests
from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.kubelet.cm.container_config import LinuxContainerResources
from kitlib.kubelet.cm.conversions import MIN_SHARES, quota_to_milli_cpu, shares_to_milli_cpu
from kitlib.kubelet.loop.backoff import CRASH_LOOP, waiting_message
from kitlib.kubelet.loop.container_state import ContainerState
from kitlib.kubelet.loop.interfaces import ContainerRuntime
from kitlib.kubelet.qos.qos_class import is_restartable_init

MIN_MILLI_CPU_LIMIT = 10
"""Milli-CPU: limits up to this value are shown as in the manifest. Source: kubelet cm.MinMilliCPULimit."""
DISRUPTION_TARGET, BY_KUBELET = "DisruptionTarget", "TerminationByKubelet"
READY_TO_START, INITIALIZED = "PodReadyToStartContainers", "Initialized"
READY, CONTAINERS_READY, SCHEDULED = "Ready", "ContainersReady", "PodScheduled"
RESTARTING = "AllContainersRestarting"
OWNED = (READY_TO_START, INITIALIZED, READY, CONTAINERS_READY, SCHEDULED)
"""The conditions that the kubelet always sets, in its order. Source: kubelet types.PodConditionByKubelet."""


def container_status(
    pod: Pod,
    state: ContainerState,
    now: float,
    *,
    may_restart: bool,
    resources: LinuxContainerResources | None,
    runtime: ContainerRuntime,
    release: Release,
) -> ContainerStatus:
    """Return the API's status of a container.

    Args:
        pod: the pod, with its allocated resources.
        state: the state of one of its containers.
        now: seconds on the node's clock.
        may_restart: whether the policy restarts the container.
        resources: the runtime's resources of the container; None = unknown.
        runtime: the container runtime.
        release: the release that determines the fields.
    """
    declared = state.container
    identity = f"{runtime.name}://{state.id}"
    shown = _state(pod, state, now, may_restart)
    # A container in back-off is Waiting, so its end moves to the last state.
    last = {"terminated": state.ended} if "waiting" in shown and state.ended else state.last
    was_made = state.alive or "startedAt" in state.ended
    ephemeral = isinstance(declared, EphemeralContainer)  # it has no probes: neither started nor ready
    # A regular init container is ready after its success, not while it runs. Source: prober.manager.UpdatePodStatus.
    once = declared in pod.spec.init_containers and not is_restartable_init(declared)
    ready = state.succeeded and not may_restart if once else state.is_ready and not ephemeral
    return ContainerStatus(
        name=declared.name,
        image=declared.image,
        ready=ready,
        started=None if ephemeral else state.has_started,
        restart_count=state.restarts,
        state=_named(shown, identity),
        last_state=_named(last, identity),
        allocated_resources=dict(declared.resources.requests) if state.started_once else {},
        resources=_resources(declared, resources if state.alive else None) if state.started_once else None,
        container_id=identity if was_made else "",
        volume_mounts=_mounts(declared, runtime) if release.enabled("RecursiveReadOnlyMounts") else [],
        user=_user(pod, declared, runtime) if was_made and release.enabled("SupplementalGroupsPolicy") else None,
    )


def _named(shown: dict[str, Any], identity: str) -> dict[str, Any]:
    """Return a state with the ID of its ended container; a container that has never run has no ID."""
    ended = shown.get("terminated")
    if ended is None or "startedAt" not in ended:
        return shown
    return {"terminated": {**ended, "containerID": identity}}


def _mounts(declared: Container, runtime: ContainerRuntime) -> list[VolumeMountStatus]:
    """Return the statuses of mounts. Source: kubelet convertToAPIContainerStatuses, resolveRecursiveReadOnly."""
    made = []
    for mount in declared.volume_mounts:
        status = VolumeMountStatus(name=mount.name, mount_path=mount.mount_path, read_only=mount.read_only)
        if mount.read_only:
            wanted = mount.recursive_read_only in ("Enabled", "IfPossible")
            status.recursive_read_only = "Enabled" if wanted and runtime.mounts_recursively else "Disabled"
        made.append(status)
    return made


def _user(pod: Pod, declared: Container, runtime: ContainerRuntime) -> ContainerUser:
    """Return the user of a container's first process. Source: kubelet toKubeContainerUser."""
    return ContainerUser(linux=runtime.user(pod, declared))


def _state(pod: Pod, state: ContainerState, now: float, may_restart: bool) -> dict[str, Any]:
    if state.alive:
        return {"running": state.running}
    if state.problem[0]:
        return {"waiting": {"reason": state.problem[0], "message": state.problem[1]}}
    if state.ended and may_restart and state.back_off.not_before > now:
        message = waiting_message(state.back_off.wait, state.container.name, pod)
        return {"waiting": {"reason": CRASH_LOOP, "message": message}}
    if state.ended:
        return {"terminated": state.ended}
    return {"waiting": {"reason": "PodInitializing" if pod.spec.init_containers else "ContainerCreating"}}


def _resources(declared: Container, held: LinuxContainerResources | None) -> ResourceRequirements:
    """Return the runtime's resources of a running container; for others those of the manifest.

    Source: kubelet convertContainerStatusResources.
    """
    asked = declared.resources
    if held is None:
        return asked
    requests, limits = dict(asked.requests), dict(asked.limits)
    if limits:
        if held.cpu_quota > 0:
            _actual(limits, quota_to_milli_cpu(held.cpu_quota, held.cpu_period), MIN_MILLI_CPU_LIMIT)
        if held.memory_limit:
            limits["memory"] = Quantity.from_int(held.memory_limit, "BinarySI")
    if "cpu" in requests:
        _actual(requests, shares_to_milli_cpu(held.cpu_shares), MIN_SHARES)
    return ResourceRequirements(requests=requests, limits=limits, claims=asked.claims)


def _actual(resources: ResourceList, milli: int, least: int) -> None:
    """Replace the CPU of the manifest by the kernel's, unless both are at the minimum or below."""
    asked = resources["cpu"].milli_value() if "cpu" in resources else 0
    # The kubelet rounds small amounts up to the kernel's minimum; converted
    # back they would show more than the manifest.
    if milli == asked or (milli <= least and asked <= least):
        return
    resources["cpu"] = Quantity.from_milli(milli, "DecimalSI")


def pod_resources(actual: Pod, release: Release) -> ResourceRequirements:
    """Return `status.resources` of a pod: its total requests and limits. Source: generateAPIPodStatus."""
    return ResourceRequirements(
        requests=dict(pod_requests(actual, release=release)), limits=dict(pod_limits(actual, release=release))
    )


def conditions(
    pod: Pod,
    phase: str,
    inits: Sequence[ContainerStatus],
    mains: Sequence[ContainerStatus],
    *,
    sandbox: bool,
    keeps_initialized: bool = False,
) -> list[Condition]:
    """Return the conditions that the kubelet always sets, without dates.

    Args:
        pod: the pod.
        phase: the pod's phase.
        inits: the statuses of its init containers.
        mains: the statuses of its regular containers.
        sandbox: whether its pause container runs.
        keeps_initialized: whether a pod that was initialized stays so while its init containers run again.
    """
    containers = _containers_ready(pod, phase, inits, mains)
    return [
        Condition(type=READY_TO_START, status=_text(sandbox)),
        _initialized(pod, phase, inits, mains, keeps=keeps_initialized),
        _ready(pod, containers),
        containers,
        Condition(type=SCHEDULED, status="True"),
    ]


def _ready(pod: Pod, containers: Condition) -> Condition:
    """Return the condition Ready: all containers are ready, and the conditions of all readiness gates are true.

    Source: GeneratePodReadyCondition.
    """
    if containers.status != "True":
        return Condition(type=READY, status=containers.status, reason=containers.reason, message=containers.message)
    standing = {condition.type: condition.status for condition in pod.status.conditions}
    wrong = []
    for gate in pod.spec.readiness_gates:
        status = standing.get(gate.condition_type)
        if status is None:
            wrong.append(f'corresponding condition of pod readiness gate "{gate.condition_type}" does not exist.')
        elif status != "True":
            wrong.append(f'the status of pod readiness gate "{gate.condition_type}" is not "True", but {status}')
    if not wrong:
        return Condition(type=READY, status="True")
    return Condition(type=READY, status="False", reason="ReadinessGatesNotReady", message=", ".join(wrong))


def _containers_ready(
    pod: Pod, phase: str, inits: Sequence[ContainerStatus], mains: Sequence[ContainerStatus]
) -> Condition:
    """Return the condition ContainersReady. Source: GenerateContainersReadyCondition."""
    if phase in TERMINAL_PHASES:
        reason = "PodCompleted" if phase == "Succeeded" else "PodFailed"
        return Condition(type=CONTAINERS_READY, status="False", reason=reason)
    sidecars = {container.name for container in pod.spec.init_containers if is_restartable_init(container)}
    unready = [status.name for status in (*(s for s in inits if s.name in sidecars), *mains) if not status.ready]
    if not unready:
        return Condition(type=CONTAINERS_READY, status="True")
    message = f"containers with unready status: [{' '.join(unready)}]"
    return Condition(type=CONTAINERS_READY, status="False", reason="ContainersNotReady", message=message)


def _initialized(
    pod: Pod, phase: str, inits: Sequence[ContainerStatus], mains: Sequence[ContainerStatus], *, keeps: bool
) -> Condition:
    """Return the condition Initialized. Source: GeneratePodInitializedCondition."""
    if phase == "Succeeded":
        return Condition(type=INITIALIZED, status="True", reason="PodCompleted")
    # After a regular container has started, a restarting sidecar does not make the pod uninitialized again.
    if any("running" in main.state or "terminated" in main.state for main in mains):
        return Condition(type=INITIALIZED, status="True")
    sidecars = {container.name for container in pod.spec.init_containers if is_restartable_init(container)}
    incomplete = [init.name for init in inits if not (init.started if init.name in sidecars else init.ready)]
    stays = keeps and any(
        condition.type == INITIALIZED and condition.status == "True" for condition in pod.status.conditions
    )
    if not incomplete or stays:
        return Condition(type=INITIALIZED, status="True")
    message = f"containers with incomplete status: [{' '.join(incomplete)}]"
    return Condition(type=INITIALIZED, status="False", reason="ContainersNotInitialized", message=message)


def dated(made: Condition, before: Condition | None, now: datetime, generation: int | None) -> Condition:
    """Set the transition time of a condition, which is that of `before` if the status is the same."""
    same = before is not None and before.status == made.status
    made.last_transition_time = before.last_transition_time if same and before is not None else now
    made.observed_generation = generation
    return made


def _text(holds: bool) -> str:
    return "True" if holds else "False"
