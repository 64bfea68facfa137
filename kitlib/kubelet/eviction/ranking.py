"""The order in which pods are evicted, and the message of an evicted pod.

* memory: pods that use more than they request come first, then lower priority, then the larger use above the request;
* disk: the same with ephemeral storage;
* process ids: lower priority, then more processes.

A pod without statistics comes first. The QoS class itself has no effect: BestEffort pods come early because any use
exceeds a request of 0.

Source: kubelet eviction.rankMemoryPressure, rankPIDPressure, rankDiskPressureFunc, evictionMessage;
v1resource.GetResourceRequestQuantity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kitlib.api.core import Pod
from kitlib.api.podresources import containers_of, is_pod_level_resources_set, pod_requests, supports_pod_level
from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.kubelet.eviction.thresholds import Observation, Threshold
from kitlib.kubelet.qos.qos_class import pod_level_resources

MEMORY, EPHEMERAL_STORAGE = "memory", "ephemeral-storage"
SIGNAL_RESOURCES = {
    "memory.available": MEMORY,
    "allocatableMemory.available": MEMORY,
    "imagefs.available": EPHEMERAL_STORAGE,
    "imagefs.inodesFree": "inodes",
    "containerfs.available": EPHEMERAL_STORAGE,
    "containerfs.inodesFree": "inodes",
    "nodefs.available": EPHEMERAL_STORAGE,
    "nodefs.inodesFree": "inodes",
    "pid.available": "pids",
}
"""Signal -> the resource that is low. Source: kubelet eviction.signalToResource."""
REASON = "Evicted"
STARVED_RESOURCE = "starved_resource"
OFFENDING_CONTAINERS = "offending_containers"
OFFENDING_CONTAINERS_USAGE = "offending_containers_usage"
OFFENDING_POD = "offending_pod"
OFFENDING_POD_USAGE = "offending_pod_usage"


@dataclass(frozen=True, slots=True)
class ContainerStats:
    """The usage of a container in bytes; None = not measured."""

    name: str
    memory: int | None = None
    rootfs: int | None = None
    logs: int | None = None


@dataclass(frozen=True, slots=True)
class PodStats:
    """The usage of a pod.

    Attributes:
        memory: the working set in bytes; None = not measured.
        processes: the number of processes; None = not measured.
        containers: the usage of its containers, in the order of the summary.
        volumes: bytes in local volumes.
        inodes: the number of files in layers, logs and volumes.
    """

    memory: int | None = None
    processes: int | None = None
    containers: Sequence[ContainerStats] = field(default_factory=tuple)
    volumes: int = 0
    inodes: int = 0

    def disk(self, *, rootfs: bool = True, logs: bool = True, volumes: bool = True) -> int:
        """Return the sum of the selected parts on disk in bytes. Source: kubelet eviction.podDiskUsage."""
        used = self.volumes if volumes else 0
        for container in self.containers:
            used += (container.rootfs or 0) if rootfs else 0
            used += (container.logs or 0) if logs else 0
        return used


Stats = Mapping[str, PodStats]
"""Pod UID -> its usage; a missing pod has no statistics."""
Key = tuple[Any, ...]


def resource_request(pod: Pod, resource: str, release: Release | None = None) -> Quantity:
    """Return the request of a pod that eviction compares with its usage.

    Pod-level resources (`spec.resources`, more than `{}`) replace the containers' requests, even for a resource that
    they do not name.

    Source: v1resource.GetResourceRequestQuantity.
    """
    level = pod_level_resources(pod, release) and is_pod_level_resources_set(pod)
    if level and pod.spec.resources is not None:
        own = pod.spec.resources.requests if supports_pod_level(resource) else {}
        total = own.get(resource)
    else:
        total = pod_requests(pod, exclude_overhead=True, release=release).get(resource)
    if total is None or total.is_zero():
        return Quantity.from_int(0, "BinarySI")
    # Upstream adds the overhead only to a request above 0, so the overhead of a BestEffort pod does not protect it.
    overhead = pod.spec.overhead.get(resource)
    return total + overhead if overhead is not None else total


def rank_memory_pressure(pods: Iterable[Pod], stats: Stats, release: Release | None = None) -> list[list[Pod]]:
    """Return groups of pods in the order of eviction; the pods of a group have the same rank.

    Source: kubelet eviction.rankMemoryPressure.
    """
    return _rank(pods, lambda pod: _against_request(pod, stats, MEMORY, lambda s: s.memory or 0, release))


def rank_pid_pressure(pods: Iterable[Pod], stats: Stats) -> list[list[Pod]]:
    """Rank pods for pressure on process ids. Source: kubelet eviction.rankPIDPressure."""

    def key(pod: Pod) -> Key:
        found = stats.get(pod.metadata.uid)
        # Here the priority comes before missing statistics, and requests play no part: pids cannot be requested.
        return (pod.spec.priority or 0, found is not None, -((found.processes or 0) if found else 0))

    return _rank(pods, key)


def rank_disk_pressure(
    pods: Iterable[Pod],
    stats: Stats,
    *,
    rootfs: bool = True,
    logs: bool = True,
    volumes: bool = True,
    release: Release | None = None,
) -> list[list[Pod]]:
    """Rank pods for pressure on ephemeral storage.

    Args:
        pods: the pods to rank.
        stats: the pods' usage.
        rootfs: whether layers of containers are on the disk that is low.
        logs: whether logs are on it.
        volumes: whether local volumes are on it.
        release: the release that determines the feature gates; None = the latest.

    Source: kubelet eviction.rankDiskPressureFunc.
    """

    def used(found: PodStats) -> int:
        return found.disk(rootfs=rootfs, logs=logs, volumes=volumes)

    return _rank(pods, lambda pod: _against_request(pod, stats, EPHEMERAL_STORAGE, used, release))


def rank_inode_pressure(pods: Iterable[Pod], stats: Stats, release: Release | None = None) -> list[list[Pod]]:
    """Rank pods for pressure on inodes, which cannot be requested.

    Source: kubelet eviction.rankDiskPressureFunc (resourceInodes).
    """
    return _rank(pods, lambda pod: _against_request(pod, stats, "inodes", lambda s: s.inodes, release))


def eviction_message(
    resource: str,
    pod: Pod,
    stats: PodStats | None,
    thresholds: Iterable[Threshold] = (),
    observations: Mapping[str, Observation] | None = None,
    release: Release | None = None,
) -> tuple[str, dict[str, str]]:
    """Return the status message of an evicted pod, and the annotations of its event.

    Args:
        resource: the resource that is low: memory, ephemeral-storage, inodes or pids.
        pod: the evicted pod.
        stats: the pod's usage; None = unknown.
        thresholds: the thresholds that are met.
        observations: signal -> its observation.
        release: the release that determines the feature gates; None = the latest.

    Source: kubelet eviction.evictionMessage.
    """
    message = f"The node was low on resource: {resource}. "
    for threshold in thresholds:
        seen = (observations or {}).get(threshold.signal)
        if SIGNAL_RESOURCES[threshold.signal] == resource and seen is not None:
            limit = threshold.value.quantity or _bytes(threshold.value.of(seen.capacity))
            message += f"Threshold quantity: {limit}, available: {_amount(threshold.signal, seen.available)}. "
            break
    if stats is None:
        return message, {}
    annotations: dict[str, str] = {}
    if resource == MEMORY and pod_level_resources(pod, release) and pod.spec.resources is not None:
        requested = pod.spec.resources.requests.get(resource)
        if requested is not None and stats.memory is not None:
            used = _bytes(stats.memory)
            message += _consumption("Pod", pod.metadata.name, used, requested, resource)
            annotations |= {OFFENDING_POD: pod.metadata.name, OFFENDING_POD_USAGE: str(used)}
    over: dict[str, str] = {}
    # Ephemeral containers cannot request resources, so any usage would exceed their request: upstream ignores them.
    declared = {c.name: c for c in containers_of(pod)}
    for container in stats.containers:
        amount = _container_usage(resource, container)
        if container.name not in declared or amount is None:
            continue
        requested = declared[container.name].resources.requests.get(resource, Quantity.from_int(0, "DecimalSI"))
        used = _bytes(amount)
        if used > requested:
            message += _consumption("Container", container.name, used, requested, resource)
            over[container.name] = str(used)
    annotations[OFFENDING_CONTAINERS] = ",".join(over)
    annotations[OFFENDING_CONTAINERS_USAGE] = ",".join(over.values())
    annotations[STARVED_RESOURCE] = resource
    return message, annotations


def _against_request(
    pod: Pod, stats: Stats, resource: str, used: Callable[[PodStats], int], release: Release | None
) -> Key:
    priority = pod.spec.priority or 0
    found = stats.get(pod.metadata.uid)
    if found is None:
        return (0, 0, priority, 0)
    usage, request = _bytes(used(found)), resource_request(pod, resource, release)
    # Upstream's three comparisons as one key: exceedMemoryRequests, priority, memory. The first one already puts a pod
    # without statistics before all others, regardless of its priority.
    return (1, not usage > request, priority, request - usage)


def _rank(pods: Iterable[Pod], key: Callable[[Pod], Key]) -> list[list[Pod]]:
    groups: list[tuple[Key, list[Pod]]] = []
    for one, pod in sorted(((key(pod), pod) for pod in pods), key=lambda pair: pair[0]):
        if groups and groups[-1][0] == one:
            groups[-1][1].append(pod)
        else:
            groups.append((one, [pod]))
    return [group for _, group in groups]


def _container_usage(resource: str, stats: ContainerStats) -> int | None:
    if resource == MEMORY:
        return stats.memory
    if resource == EPHEMERAL_STORAGE and stats.rootfs is not None and stats.logs is not None:
        return stats.rootfs + stats.logs
    return None


def _consumption(what: str, name: str, used: Quantity, requested: Quantity, resource: str) -> str:
    return f"{what} {name} was using {used}, request is {requested}, has larger consumption of {resource}. "


def _bytes(number: int) -> Quantity:
    return Quantity.from_int(number, "BinarySI")


def _amount(signal: str, number: int) -> Quantity:
    in_bytes = signal.endswith(".available") and signal != "pid.available"
    return Quantity.from_int(number, "BinarySI" if in_bytes else "DecimalSI")
