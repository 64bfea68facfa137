"""MemoryQoS: throttling below the memory limit (memory.high) and protected memory (memory.min, memory.low); cgroup v2.

Above `memory.high` the kernel slows a container down and reclaims its pages, before it reaches the limit and is killed:

    memory.high = ⌊(request + factor × (limit or node allocatable − request)) / page⌋ × page

Since 1.36 protection has a setting of its own, `memoryReservationPolicy: TieredReservation`: the memory request of
Guaranteed pods becomes memory.min (never reclaimed), that of Burstable pods memory.low (reclaimed last). Earlier
releases wrote memory.min for both whenever the feature gate was on. Since 1.37 the gate is on by default and neither
setting is, so nothing is written unless the kubelet's configuration sets one of them.

Source: kubelet kuberuntime generateLinuxContainerResources, qosContainerManagerImpl.setMemoryQoS; KEP-2570.
"""

from __future__ import annotations

from kitlib.api.core import Container, Pod, ResourceList
from kitlib.kubelet.cm.container_context import ContainerContext
from kitlib.kubelet.cm.formula import Formula, Step
from kitlib.kubelet.qos.qos_class import QosClass, get_pod_qos

MEMORY_MIN = "memory.min"
MEMORY_LOW = "memory.low"
MEMORY_HIGH = "memory.high"

NO_RESERVATION = "None"
TIERED_RESERVATION = "TieredReservation"

UNPROTECTED = {MEMORY_MIN: "0", MEMORY_LOW: "0"}
"""The values without protection; they are written to reset the values of an earlier policy."""

_HIGH = Step("high", "floor((request + (ceiling - request) * factor) / page) * page")
"""The factor is a 64-bit float, as in the kubelet."""


def memory_high(request: int, limit: int, factor: float, node_allocatable: int, page_size: int) -> int:
    """Return a container's memory.high in bytes; 0 = it is not set.

    Args:
        request: the memory request in bytes.
        limit: the memory limit in bytes; 0 = none, so that the node's allocatable memory is used.
        factor: `memoryThrottlingFactor`, above 0, at most 1.
        node_allocatable: the node's allocatable memory in bytes; 0 = unknown.
        page_size: bytes of a page.

    Source: kubelet kuberuntime generateLinuxContainerResources, as of 1.27.
    """
    ceiling = limit or node_allocatable
    # Upstream does not throttle a container whose request equals its limit: its memory is guaranteed.
    if request == limit or not ceiling:
        return 0
    high = _HIGH(request, ceiling, factor, page_size)
    return high if high > request else 0


def memory_high_formula(request: int, limit: int, factor: float, node_allocatable: int, page_size: int) -> Formula:
    """Return the arithmetic of `memory_high`, with the same arguments, for a container with a memory.high."""
    inputs = {"request": request, "ceiling": limit or node_allocatable, "factor": factor, "page": page_size}
    return Formula(inputs, (_HIGH,), "{high}")


def container_memory_qos(pod: Pod, container: Container, context: ContainerContext) -> dict[str, str]:
    """Return the files of cgroup v2 that MemoryQoS sets on a container; {} if it is off.

    Only the container's own request and limit are used, not the pod's.

    Source: kubelet kuberuntime generateLinuxContainerResources.
    """
    if not context.memory_qos or context.cgroup_version != 2:
        return {}
    request = _bytes(container.resources.requests)
    limit = _bytes(container.resources.limits)
    qos = get_pod_qos(pod, context.release)
    files = protection(qos, request, context.memory_reservation_policy)
    if context.memory_throttling_factor is not None:
        high = memory_high(
            request, limit, context.memory_throttling_factor, context.node_allocatable_memory, context.page_size
        )
        if high:
            files[MEMORY_HIGH] = str(high)
    return files


def protection(qos: QosClass, request: int, policy: str) -> dict[str, str]:
    """Return the files of protected memory; values of 0 without TieredReservation or without a memory request.

    Args:
        qos: the pod's QoS class; Guaranteed gets memory.min, the others memory.low.
        request: the memory request in bytes.
        policy: `memoryReservationPolicy`.
    """
    if policy == TIERED_RESERVATION and request > 0:
        return {MEMORY_MIN if qos == "Guaranteed" else MEMORY_LOW: str(request)}
    return dict(UNPROTECTED)


def _bytes(resources: ResourceList) -> int:
    memory = resources.get("memory")
    return memory.value() if memory is not None else 0
