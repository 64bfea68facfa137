"""MemoryQoS: a throttling line below the limit (memory.high) and protected memory (memory.min, memory.low); cgroup v2.

`memory.high` slows a container down, by making it reclaim its own pages, before the limit kills it:

    memory.high = ⌊(request + factor × (limit or node allocatable − request)) / page⌋ × page

Protection is a second, separate choice since 1.36, `memoryReservationPolicy: TieredReservation`: what Guaranteed pods
request is memory.min (never reclaimed), what Burstable pods request is memory.low (reclaimed last). Earlier releases
wrote memory.min for both whenever the feature gate was on. Since 1.37 the gate is on and neither is configured by
default, so nothing is written unless the kubelet's configuration asks for it.

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
"""Written where nothing is protected, so that what an earlier policy left is taken back."""

_HIGH = Step("high", "floor((request + (ceiling - request) * factor) / page) * page")
"""The factor is a 64-bit float, as in the kubelet."""


def memory_high(request: int, limit: int, factor: float, node_allocatable: int, page_size: int) -> int:
    """The throttling line of a container in bytes; 0 where it gets none.

    Args:
        request: bytes.
        limit: bytes, 0 = none; then the node's allocatable memory stands in.
        factor: `memoryThrottlingFactor`, above 0, at most 1.
        node_allocatable: bytes; 0 = unknown.
        page_size: bytes.

    Source: kubelet kuberuntime generateLinuxContainerResources, as of 1.27.
    """
    ceiling = limit or node_allocatable
    if request == limit or not ceiling:
        return 0
    high = _HIGH(request, ceiling, factor, page_size)
    return high if high > request else 0


def memory_high_formula(request: int, limit: int, factor: float, node_allocatable: int, page_size: int) -> Formula:
    """Return the arithmetic of `memory_high`, with the same arguments, for a container that gets one."""
    inputs = {"request": request, "ceiling": limit or node_allocatable, "factor": factor, "page": page_size}
    return Formula(inputs, (_HIGH,), "{high}")


def container_memory_qos(pod: Pod, container: Container, context: ContainerContext) -> dict[str, str]:
    """The files of cgroup v2 that MemoryQoS sets on a container; empty while it is off.

    Only the container's own request and limit count, not the pod's.

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
    """memory.min for a Guaranteed pod, memory.low for any other that requests memory, under TieredReservation; else 0.

    Args:
        qos: the pod's class.
        request: bytes of memory requested.
        policy: `memoryReservationPolicy`.
    """
    if policy == TIERED_RESERVATION and request > 0:
        return {MEMORY_MIN if qos == "Guaranteed" else MEMORY_LOW: str(request)}
    return dict(UNPROTECTED)


def _bytes(resources: ResourceList) -> int:
    memory = resources.get("memory")
    return memory.value() if memory is not None else 0
