"""The rules of in-place resizes, with the kubelet's messages.

A resize is first allocated (the pod's new requests must fit on the node), then actuated (the cgroup files are written).
A resize that can never fit is Infeasible; one that does not fit now is Deferred and tried again when another pod ends,
and every three minutes. A memory limit is not lowered below the usage.

Source: kubelet allocation.manager.canAdmitPod, retryPendingResizes; kuberuntime validateMemoryResizeAction,
doPodResizeAction.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from kitlib.api.core import Container, Pod
from kitlib.api.podresources import containers_of, pod_requests
from kitlib.api.release import Release
from kitlib.api.serialize import deepcopy, to_dict
from kitlib.kubelet.cm.container_config import effective_limit
from kitlib.kubelet.cm.node_allocatable import node_allocatable_absolute
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.qos.qos_class import get_pod_qos

RETRY = 180.0
"""Seconds between two tries of a deferred resize. Source: allocation.retryDelay."""
INFEASIBLE, DEFERRED, ERROR = "Infeasible", "Deferred", "Error"
PENDING, IN_PROGRESS = "PodResizePending", "PodResizeInProgress"
"""Conditions of the pod."""


def same_resources(pod: Pod, other: Pod) -> bool:
    """Return whether two versions of a pod have the same resources."""
    theirs = {c.name: c.resources for c in containers_of(other)}
    if pod.spec.resources != other.spec.resources:
        return False
    return all(c.resources == theirs.get(c.name) for c in containers_of(pod))


def with_resources(pod: Pod, of: Pod) -> Pod:
    """Return the pod with the resources of another version of it; the same object if they are equal."""
    if same_resources(pod, of):
        return pod
    made = deepcopy(pod)
    theirs = {c.name: c.resources for c in containers_of(of)}
    for container in containers_of(made):
        if container.name in theirs:
            container.resources = theirs[container.name]
    made.spec.resources = of.spec.resources
    return made


def infeasible(wanted: Pod, allocated: Pod, config: NodeConfig) -> str:
    """Return the reason why a resize is infeasible on this node; "" = it is feasible."""
    gates = config.gates
    conflict = static_policy_conflict(wanted, allocated, config.settings, gates)
    if conflict:
        return conflict
    capacity = node_allocatable_absolute(config.machine.capacity(), config.reservations)
    requests = pod_requests(wanted, release=gates)
    for resource in ("memory", "cpu"):
        if resource in requests:
            milli = resource == "cpu"
            asked = requests[resource].milli_value() if milli else requests[resource].value()
            most = capacity[resource].milli_value() if milli else capacity[resource].value()
            if asked > most:
                return f"Node didn't have enough capacity: {resource}, requested: {asked}, capacity: {most}"
    return ""


def static_policy_conflict(wanted: Pod, allocated: Pod, settings: KubeletSettings, gates: Release) -> str:
    """Return the reason why a static policy makes the resize of a Guaranteed pod infeasible; "" = none does."""
    if get_pod_qos(wanted, gates) == "Guaranteed":
        for resource, policy, static, gate, manager in (
            ("cpu", settings.cpu_manager_policy, "static", "InPlacePodVerticalScalingExclusiveCPUs", "CPU"),
            ("memory", settings.memory_manager_policy, "Static", "InPlacePodVerticalScalingExclusiveMemory", "Memory"),
        ):
            if policy == static and not gates.enabled(gate) and changes_request(wanted, allocated, resource):
                return f'Resize is infeasible for Guaranteed Pods alongside {manager} Manager policy "{static}"'
    return ""


def changes_request(wanted: Pod, allocated: Pod, resource: str) -> bool:
    """Return whether a resize changes the requests of a resource, of a container or of the pod as a whole."""
    before = {c.name: c.resources.requests.get(resource) for c in containers_of(allocated)}
    whole = [pod.spec.resources.requests if pod.spec.resources is not None else {} for pod in (wanted, allocated)]
    if whole[0].get(resource) != whole[1].get(resource):
        return True
    return any(c.resources.requests.get(resource) != before.get(c.name) for c in containers_of(wanted))


def restarting(wanted: Pod, actual: Pod, release: Release) -> list[str]:
    """Return the containers whose resize policy requires a restart.

    A container without a limit of its own has the pod's, so that a change of the pod's limit restarts it, too.

    Source: containerResizePolicy RestartContainer; KEP-5419, Resize Restart Policy.
    """
    before = {c.name: c for c in containers_of(actual)}
    found = []
    for container in containers_of(wanted):
        old = before[container.name]
        for name in (p.resource_name for p in container.resize_policy if p.restart_policy == "RestartContainer"):
            limits = (effective_limit(actual, old, name, release), effective_limit(wanted, container, name, release))
            requests = (old.resources.requests.get(name), container.resources.requests.get(name))
            if limits[0] != limits[1] or requests[0] != requests[1]:
                found.append(container.name)
                break
    return found


def below_usage(
    limits: Mapping[str, int | None], before: Mapping[str, int | None], usage: Mapping[str, int], pod_name: str = ""
) -> str:
    """Return the reason why memory limits cannot be lowered; "" = they can.

    Args:
        limits: container -> new limit in bytes, and `pod_name` -> that of the whole pod; None = no limit.
        before: the same names -> old limit in bytes; None = no limit.
        usage: the same names -> used bytes, with page cache.
        pod_name: the key of the whole pod.

    Source: validateMemoryResizeAction.
    """
    errors = []
    for name, limit in limits.items():
        old = before.get(name)
        if limit is None or (old is not None and limit >= old) or usage.get(name, 0) < limit:
            continue
        who = "pod" if name == pod_name else f'container "{name}"'
        errors.append(f"attempting to set {who} memory limit ({limit}) below current usage ({usage[name]})")
    if not errors:
        return ""
    told = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
    return f"cannot decrease memory limits: {told}"


def event_message(what: str, pod: Pod, error: str = "") -> str:
    """Return the message of an event: `Pod resize started: {"containers":[…],"generation":2}`.

    Source: podResizeSource.
    """

    def listed(some: Iterable[Container]) -> list[dict[str, object]]:
        return [{"name": c.name, "resources": _sorted(to_dict(c.resources))} for c in some]

    data: dict[str, object] = {}
    if pod.spec.init_containers:
        data["initContainers"] = listed(pod.spec.init_containers)
    data["containers"] = listed(pod.spec.containers)
    if pod.metadata.generation:
        data["generation"] = pod.metadata.generation
    if error:
        data["error"] = error
    return f"Pod resize {what}: {json.dumps(data, separators=(',', ':'))}"


def _sorted(resources: dict[str, object]) -> dict[str, object]:
    return {
        name: dict(sorted(value.items())) if isinstance(value, dict) else value
        for name, value in sorted(resources.items())
    }
