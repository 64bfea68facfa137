"""`ResourceConfig`, the resources of a cgroup that the kubelet writes itself, and its computation for a pod.

A pod's cgroup is limited to the sum of its containers' limits. CPU shares follow from the pod's CPU request. A CPU
quota and a memory limit exist only where *every* container has such a limit (a container without one may use any
amount, so the sum would be wrong) or where the pod itself declares one.

Sources: kubelet cm.ResourceConfig, cm.ResourceConfigForPod, cgroupCommon.toResources.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kitlib.api.core import Pod, ResourceList
from kitlib.api.podresources import pod_limits, pod_requests
from kitlib.api.release import Release
from kitlib.kubelet.cm.conversions import (
    MIN_SHARES,
    QUOTA_PERIOD,
    milli_cpu_to_quota,
    milli_cpu_to_shares,
    shares_to_weight,
)
from kitlib.kubelet.config.machine import huge_page_limits
from kitlib.kubelet.qos.qos_class import QosClass, get_pod_qos, is_restartable_init, pod_level_resources

UNLIMITED = -1


@dataclass(frozen=True, slots=True)
class ResourceConfig:
    """The resources of one cgroup; a field that is None is not written.

    Attributes:
        cpu_shares: relative weight, 1024 for one CPU (`cpu.shares`; `cpu.weight` through `cpu_weight`).
        cpu_quota: microseconds of CPU time per period; -1 = unlimited.
        cpu_period: microseconds.
        memory: bytes.
        pids_limit: number of processes and threads; -1 = unlimited.
        huge_page_limit: page size in bytes -> bytes.
        cpuset: list of processors, `0-3,8`; "" = not written.
        unified: files of cgroup v2 that have no counterpart on v1, name -> value.

    Source: kubelet cm.ResourceConfig.
    """

    cpu_shares: int | None = None
    cpu_quota: int | None = None
    cpu_period: int | None = None
    memory: int | None = None
    pids_limit: int | None = None
    huge_page_limit: Mapping[int, int] = field(default_factory=dict)
    cpuset: str = ""
    unified: Mapping[str, str] = field(default_factory=dict)

    @property
    def cpu_weight(self) -> int | None:
        """The `cpu.weight` of `cpu_shares`, by the kubelet's linear formula; None if the shares are not set."""
        return None if self.cpu_shares is None else shares_to_weight(self.cpu_shares)


@dataclass(frozen=True, slots=True)
class PodTotals:
    """The sums of a pod from which its cgroup is computed; the explanations of values show them, too.

    Attributes:
        qos: the pod's QoS class.
        cpu_request: milli-CPU.
        cpu_limit: milli-CPU, 0 = none.
        memory_request: bytes.
        memory_limit: bytes, 0 = none.
        cpu_limits_declared: whether the CPU limit covers the whole pod.
        memory_limits_declared: whether the memory limit covers the whole pod.
        huge_pages: page size in bytes -> bytes.
    """

    qos: QosClass
    cpu_request: int
    cpu_limit: int
    memory_request: int
    memory_limit: int
    cpu_limits_declared: bool
    memory_limits_declared: bool
    huge_pages: Mapping[int, int]


def pod_totals(pod: Pod, release: Release | None = None) -> PodTotals:
    """Sum up a pod: requests with overhead, limits, and whether every container has the limit.

    Args:
        pod: the pod, with API defaults.
        release: the release that determines the feature gates; None = the latest.
    """
    release = release or Release.followed()
    requests, limits = pod_requests(pod, release=release), pod_limits(pod, release=release)
    cpu_declared, memory_declared = _limits_declared(pod, release)
    return PodTotals(
        qos=get_pod_qos(pod, release),
        cpu_request=_milli(requests, "cpu"),
        cpu_limit=_milli(limits, "cpu"),
        memory_request=_bytes(requests, "memory"),
        memory_limit=_bytes(limits, "memory"),
        cpu_limits_declared=cpu_declared,
        memory_limits_declared=memory_declared,
        huge_pages=huge_page_limits(requests),
    )


def resource_config_for_pod(
    pod: Pod | PodTotals,
    *,
    enforce_cpu_limits: bool = True,
    cpu_period: int = QUOTA_PERIOD,
    memory_reservation: bool = False,
    pids_limit: int | None = None,
    release: Release | None = None,
) -> ResourceConfig:
    """Return the configuration of a pod's own cgroup.

    Args:
        pod: the pod, with API defaults, or its totals.
        enforce_cpu_limits: `--cpu-cfs-quota`; False replaces a quota by -1 (unlimited).
        cpu_period: `--cpu-cfs-quota-period` in microseconds.
        memory_reservation: whether MemoryQoS is on and `memoryReservationPolicy` is TieredReservation: Guaranteed pods
            get memory.min, Burstable pods memory.low, both of their request. (Before that policy existed: memory.min
            for both.)
        pids_limit: `--pod-max-pids`; None = no limit.
        release: the release that determines the feature gates; None = the latest.

    Source: kubelet cm.ResourceConfigForPod; the process limit: podContainerManagerImpl.EnsureExists.
    """
    totals = pod if isinstance(pod, PodTotals) else pod_totals(pod, release)
    unified = {}
    if memory_reservation and totals.memory_request > 0:
        unified[_reservation_file(totals.qos, release)] = str(totals.memory_request)
    if totals.qos == "BestEffort":
        return ResourceConfig(
            cpu_shares=MIN_SHARES, huge_page_limit=totals.huge_pages, pids_limit=pids_limit, unified=unified
        )
    guaranteed = totals.qos == "Guaranteed"
    has_quota = guaranteed or totals.cpu_limits_declared
    quota = milli_cpu_to_quota(totals.cpu_limit, cpu_period) if enforce_cpu_limits else UNLIMITED
    return ResourceConfig(
        cpu_shares=milli_cpu_to_shares(totals.cpu_request),
        cpu_quota=quota if has_quota else None,
        cpu_period=cpu_period if has_quota else None,
        memory=totals.memory_limit if guaranteed or totals.memory_limits_declared else None,
        huge_page_limit=totals.huge_pages,
        pids_limit=pids_limit,
        unified=unified,
    )


def resource_config_for_list(resources: ResourceList, *, compressible_only: bool = False) -> ResourceConfig:
    """Return the configuration for a list of resources: of all pods together, or of a cgroup for reserved resources.

    The CPU is limited by shares only, never by a quota, so that other cgroups can use idle CPU time.

    Args:
        resources: the amounts; cpu, memory, pid and huge pages are used.
        compressible_only: whether to restrict the configuration to CPU, the only compressible resource
            (`kube-reserved-compressible`).

    Source: kubelet cm.getCgroupConfigInternal.
    """
    shares = milli_cpu_to_shares(resources["cpu"].milli_value()) if "cpu" in resources else None
    if compressible_only:
        return ResourceConfig(cpu_shares=shares)
    return ResourceConfig(
        cpu_shares=shares,
        memory=resources["memory"].value() if "memory" in resources else None,
        pids_limit=resources["pid"].value() if "pid" in resources else None,
        huge_page_limit=huge_page_limits(resources),
    )


def _limits_declared(pod: Pod, release: Release) -> tuple[bool, bool]:
    """Return whether the whole pod is limited, for CPU and for memory."""
    seen: list[bool] = []
    for resource in ("cpu", "memory"):
        pod_limit = pod.spec.resources.limits.get(resource) if pod_level_resources(pod, release) else None  # type: ignore[union-attr]
        if pod_limit is not None and not pod_limit.is_zero():
            seen.append(True)
            continue
        seen.append(all(_limited_in_turn(pod, resource)))
    return seen[0], seen[1]


def _limited_in_turn(pod: Pod, resource: str) -> Iterator[bool]:
    for container in pod.spec.containers:
        yield _is_set(container.resources.limits, resource)
    # Upstream's PodLimits passes an init container's limits to its callback with those of the sidecars before it added,
    # so a sidecar's limit counts for an init container that has none.
    sidecars_limited = False
    for container in pod.spec.init_containers:
        limited = _is_set(container.resources.limits, resource) or sidecars_limited
        if is_restartable_init(container):
            sidecars_limited = limited
        yield limited


def _reservation_file(qos: QosClass, release: Release | None) -> str:
    tiered = (release or Release.followed()).enabled("KitMemoryReservationPolicy")
    return "memory.low" if tiered and qos != "Guaranteed" else "memory.min"


def _is_set(resources: ResourceList, name: str) -> bool:
    quantity = resources.get(name)
    return quantity is not None and not quantity.is_zero()


def _milli(resources: ResourceList, name: str) -> int:
    quantity = resources.get(name)
    return quantity.milli_value() if quantity is not None else 0


def _bytes(resources: ResourceList, name: str) -> int:
    quantity = resources.get(name)
    return quantity.value() if quantity is not None else 0
