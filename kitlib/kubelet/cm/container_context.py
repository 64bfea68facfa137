"""The inputs of a container's resources besides its pod: the machine, the kubelet's settings, the release.

Source: kubelet kuberuntime.kubeGenericRuntimeManager (machineInfo, cpuCFSQuota, memoryThrottlingFactor, …).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kitlib.api.release import Release
from kitlib.kubelet.cm.conversions import QUOTA_PERIOD
from kitlib.kubelet.config.machine import PAGE_SIZE


@dataclass(frozen=True, slots=True)
class ContainerContext:
    """The inputs of a container's resources besides its pod.

    Attributes:
        memory_capacity: the machine's memory in bytes.
        swap_capacity: bytes of swap.
        cgroup_version: 1 or 2.
        cpu_cfs_quota: `--cpu-cfs-quota`.
        cpu_cfs_quota_period: microseconds.
        memory_qos: whether MemoryQoS is on (feature gate, cgroup v2).
        memory_reservation_policy: "None" or "TieredReservation".
        memory_throttling_factor: 0 to 1; None = no throttling.
        node_allocatable_memory: bytes; replaces a missing memory limit in the formula of memory.high. 0 = unknown.
        swap_behavior: "NoSwap" or "LimitedSwap".
        swap_controller: whether the kubelet assumes that the kernel can limit swap.
        oom_group: whether the kernel kills the whole container (memory.oom.group, singleProcessOOMKill: false).
        huge_page_sizes: bytes of the machine's huge pages.
        page_size: bytes of an ordinary page.
        release: the release that determines the feature gates.
    """

    memory_capacity: int
    swap_capacity: int = 0
    cgroup_version: int = 2
    cpu_cfs_quota: bool = True
    cpu_cfs_quota_period: int = QUOTA_PERIOD
    memory_qos: bool = False
    memory_reservation_policy: str = "None"
    memory_throttling_factor: float | None = None
    node_allocatable_memory: int = 0
    swap_behavior: str = "NoSwap"
    swap_controller: bool = False
    oom_group: bool = False
    huge_page_sizes: Sequence[int] = ()
    page_size: int = PAGE_SIZE
    release: Release = field(default_factory=Release.followed)
