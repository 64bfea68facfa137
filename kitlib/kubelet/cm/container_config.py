"""The resources that the kubelet sends to the container runtime for a container's cgroup and for the pod's sandbox.

The kubelet does not write a container's cgroup: it sends these values over the CRI and the runtime writes them. The
rules are those of a pod, applied to one container: shares from its request, quota and memory limit from its limits. A
container without a limit gets the pod-level limit.

Sources: kubelet kuberuntime generateLinuxContainerResources, calculateLinuxResources, calculateSandboxResources,
configureContainerSwapResources, GetHugepageLimitsFromResources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kitlib.api.core import Container, Pod
from kitlib.api.podresources import pod_limits, pod_requests
from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.kubelet.cm.cgroup_config import UNLIMITED
from kitlib.kubelet.cm.container_context import ContainerContext
from kitlib.kubelet.cm.conversions import (
    milli_cpu_to_quota,
    milli_cpu_to_shares,
    shares_to_weight,
    shares_to_weight_by_runtime,
)
from kitlib.kubelet.cm.memory_qos import container_memory_qos
from kitlib.kubelet.cm.swap import container_swap
from kitlib.kubelet.config.machine import huge_page_limits, huge_page_unit
from kitlib.kubelet.qos.policy import get_container_oom_score_adjust
from kitlib.kubelet.qos.qos_class import pod_level_resources


@dataclass(frozen=True, slots=True)
class LinuxContainerResources:
    """The CRI message of the same name: the desired resources of a container's cgroup.

    Attributes:
        cpu_shares: relative weight.
        cpu_quota: microseconds per period; 0 = not set, -1 = unlimited.
        cpu_period: microseconds; 0 = not set.
        memory_limit: bytes; 0 = none.
        memory_swap_limit: bytes of memory and swap together (cgroup v1 only); 0 = not set.
        oom_score_adj: the oom_score_adj of the container's processes, -1000 to 1000.
        huge_page_limits: page size as the kernel writes it (`2MB`) -> bytes; every size of the machine, 0 = not
            allowed.
        cpuset_cpus: processors, `0-3`; "" = not set.
        cpuset_mems: NUMA nodes; "" = not set.
        unified: files of cgroup v2 by name.
    """

    cpu_shares: int
    cpu_quota: int = 0
    cpu_period: int = 0
    memory_limit: int = 0
    memory_swap_limit: int = 0
    oom_score_adj: int = 0
    huge_page_limits: Mapping[str, int] = field(default_factory=dict)
    cpuset_cpus: str = ""
    cpuset_mems: str = ""
    unified: Mapping[str, str] = field(default_factory=dict)

    def cpu_weight(self, formula: str = "quadratic") -> int:
        """Return the runtime's `cpu.weight` for the shares, by the "quadratic" or the old "linear" formula."""
        return (
            shares_to_weight(self.cpu_shares) if formula == "linear" else shares_to_weight_by_runtime(self.cpu_shares)
        )


def linux_container_resources(
    pod: Pod, container: Container, context: ContainerContext, *, exclusive_cpus: bool = False
) -> LinuxContainerResources:
    """Return the resources of one container.

    Args:
        pod: the pod, with API defaults.
        container: one of its containers or init containers.
        context: the node's machine, settings and release.
        exclusive_cpus: whether it has exclusive CPUs; then the release may disable its quota.

    Source: kubelet kuberuntime generateLinuxContainerResources.
    """
    unquoted = exclusive_cpus and context.release.enabled("DisableCPUQuotaWithExclusiveCPUs")
    memory_limit = effective_limit(pod, container, "memory", context.release)
    basic = _linux_resources(
        container.resources.requests.get("cpu"),
        effective_limit(pod, container, "cpu", context.release),
        memory_limit,
        context,
        unlimited=unquoted,
    )
    memory_swap, swap_files = container_swap(pod, container, basic.memory_limit, context)
    requested = {huge_page_unit(size): limit for size, limit in _huge_pages(pod, container, context.release).items()}
    # Huge pages: upstream sends every page size of the machine, with 0 for those that the container does not request.
    return LinuxContainerResources(
        cpu_shares=basic.cpu_shares,
        cpu_quota=basic.cpu_quota,
        cpu_period=basic.cpu_period,
        memory_limit=basic.memory_limit,
        memory_swap_limit=memory_swap,
        oom_score_adj=get_container_oom_score_adjust(pod, container, context.memory_capacity, context.release),
        huge_page_limits={unit: requested.get(unit, 0) for unit in map(huge_page_unit, context.huge_page_sizes)},
        unified={**basic.unified, **swap_files, **container_memory_qos(pod, container, context)},
    )


def sandbox_resources(pod: Pod, context: ContainerContext, *, exclusive_cpus: bool = False) -> LinuxContainerResources:
    """Return the resources in the CRI's sandbox configuration: the pod's sums without its overhead.

    Runtimes that start a virtual machine size it by them. Other runtimes ignore them: their pause container gets 2
    shares and no limits.

    Source: kubelet kuberuntime calculateSandboxResources.
    """
    requests = pod_requests(pod, exclude_overhead=True, release=context.release)
    limits = pod_limits(pod, exclude_overhead=True, release=context.release)
    unquoted = exclusive_cpus and context.release.enabled("DisableCPUQuotaWithExclusiveCPUs")
    return _linux_resources(requests.get("cpu"), limits.get("cpu"), limits.get("memory"), context, unlimited=unquoted)


def _linux_resources(
    cpu_request: Quantity | None,
    cpu_limit: Quantity | None,
    memory_limit: Quantity | None,
    context: ContainerContext,
    *,
    unlimited: bool = False,
) -> LinuxContainerResources:
    """Return shares, quota, period and memory limit. Source: kubelet kuberuntime calculateLinuxResources."""
    milli_limit = cpu_limit.milli_value() if cpu_limit is not None else 0
    # Only a missing request defaults to the limit; a request of 0 gives the minimum shares. The API server defaults new
    # pods in the same way; upstream repeats the rule for pods from older API servers.
    milli_request = cpu_request.milli_value() if cpu_request is not None else milli_limit
    quota = period = 0
    if context.cpu_cfs_quota:
        period = context.cpu_cfs_quota_period
        quota = UNLIMITED if unlimited else milli_cpu_to_quota(milli_limit, period)
    oom_group = context.cgroup_version == 2 and context.oom_group
    return LinuxContainerResources(
        cpu_shares=milli_cpu_to_shares(milli_request),
        cpu_quota=quota,
        cpu_period=period,
        memory_limit=memory_limit.value() if memory_limit is not None else 0,
        unified={"memory.oom.group": "1"} if oom_group else {},
    )


def _huge_pages(pod: Pod, container: Container, release: Release) -> dict[int, int]:
    """Return page size -> limit, both in bytes; a size without a limit in the container has the pod's.

    Source: kubelet kuberuntime GetHugepageLimitsFromResources.
    """
    whole: dict[int, int] = {}
    if pod_level_resources(pod, release):
        assert pod.spec.resources is not None
        whole = huge_page_limits(pod.spec.resources.limits)
    return whole | huge_page_limits(container.resources.limits)


def effective_limit(pod: Pod, container: Container, resource: str, release: Release) -> Quantity | None:
    """Return the container's limit, or else the pod's. Source: kubelet kuberuntime getCPULimit, getMemoryLimit."""
    own = container.resources.limits.get(resource)
    if (own is None or own.is_zero()) and pod_level_resources(pod, release):
        assert pod.spec.resources is not None
        return pod.spec.resources.limits.get(resource)
    return own
