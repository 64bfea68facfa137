"""The swap limit of a container: 0, or a part of the machine's swap in proportion to its memory request.

With `memorySwap.swapBehavior: LimitedSwap` (cgroup v2 only) a container of a Burstable pod may swap

    swap limit = container memory request / machine memory × machine swap

unless its request equals its limit, it has neither request nor limit, or the pod is critical. All other containers get
0. On cgroup v1 "no swap" is memory.memsw.limit_in_bytes = memory.limit_in_bytes.

Source: kubelet kuberuntime GetContainerSwapBehavior, calcSwapForBurstablePods; KEP-2400.
"""

from __future__ import annotations

from kitlib.api.core import Container, Pod
from kitlib.api.release import Release
from kitlib.kubelet.cm.container_context import ContainerContext
from kitlib.kubelet.cm.formula import Formula, Step
from kitlib.kubelet.qos.qos_class import get_pod_qos, is_critical_pod

NO_SWAP = "NoSwap"
LIMITED_SWAP = "LimitedSwap"
SWAP_MAX = "memory.swap.max"
_PART = Step("part", "floor(request / memory * swap)")


def container_swap(
    pod: Pod, container: Container, memory_limit: int, context: ContainerContext
) -> tuple[int, dict[str, str]]:
    """Return a container's limits of swap.

    Args:
        pod: the pod, with API defaults.
        container: one of its containers.
        memory_limit: the container's memory limit in bytes; 0 = none.
        context: the inputs that belong to the node.

    Returns:
        The limit of memory and swap together in bytes for cgroup v1 (0 = not set), and the files for cgroup v2.

    Source: kubelet kuberuntime configureContainerSwapResources.
    """
    if not context.swap_controller or not context.release.enabled("NodeSwap"):
        return 0, {}
    # On v1 the limit covers memory and swap together: equal to the memory limit, it means no swap. LimitedSwap is not
    # supported there.
    if context.cgroup_version == 1:
        return memory_limit, {}
    limit = 0
    if swap_behavior(pod, container, context.swap_behavior, context.release) == LIMITED_SWAP:
        limit = limited_swap(_bytes(container, "requests"), context.memory_capacity, context.swap_capacity)
    return 0, {SWAP_MAX: str(limit)}


def swap_behavior(pod: Pod, container: Container, configured: str, release: Release | None = None) -> str:
    """Return "LimitedSwap" if the container may swap on cgroup v2, else "NoSwap".

    Source: kubelet kuberuntime GetContainerSwapBehavior.
    """
    if configured != LIMITED_SWAP or is_critical_pod(pod) or get_pod_qos(pod, release) != "Burstable":
        return NO_SWAP
    request, limit = container.resources.requests.get("memory"), container.resources.limits.get("memory")
    zero_request, zero_limit = request is None or request.is_zero(), limit is None or limit.is_zero()
    if (zero_request and zero_limit) or (not zero_request and request == limit):
        return NO_SWAP
    return LIMITED_SWAP


def limited_swap(memory_request: int, machine_memory: int, machine_swap: int) -> int:
    """Return a container's swap limit in bytes, rounded down; 0 if it requests more memory than the machine has.

    Source: kubelet kuberuntime calcSwapForBurstablePods.
    """
    if machine_memory <= 0 or memory_request > machine_memory:
        return 0
    return _PART(memory_request, machine_memory, machine_swap)


def limited_swap_formula(memory_request: int, machine_memory: int, machine_swap: int) -> Formula:
    """Return the arithmetic of `limited_swap`, with the same arguments."""
    return Formula({"request": memory_request, "memory": machine_memory, "swap": machine_swap}, (_PART,), "{part}")


def _bytes(container: Container, which: str) -> int:
    memory = getattr(container.resources, which).get("memory")
    return memory.value() if memory is not None else 0
