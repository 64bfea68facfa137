"""The kubelet's settings under their own names, with the kubelet's defaults.

`kitlib.kubelet.config.parsing` parses them from flags and from a KubeletConfiguration file; `kitlib.kubelet.app.read`
also validates them as the kubelet does at its start.

Source: k8s.io/kubelet/config/v1beta1, pkg/kubelet/apis/config/v1beta1/defaults.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from kitlib.api.core import ResourceList
from kitlib.api.errors import KitError
from kitlib.api.release import Release

Driver = Literal["cgroupfs", "systemd"]
"""The component that makes the cgroups: the kubelet itself, or systemd. Source: KubeletConfiguration cgroupDriver."""
DEFAULT_EVICTION_HARD = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
}
"""Source: eviction.DefaultEvictionHard."""
BY_RELEASE = {"memory_throttling_factor": "memoryThrottlingFactor"}
"""Setting -> its row in the table of releases."""


class SettingsError(KitError, ValueError):
    """Invalid settings, with which the kubelet does not start.

    Attributes:
        problems: the kubelet's messages, one for each problem.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__(self.problems[0] if len(self.problems) == 1 else f"[{', '.join(self.problems)}]")


@dataclass(frozen=True)
class ReservedMemory:
    """An entry of `--reserved-memory`: memory of a NUMA node that is reserved for the system."""

    numa_node: int
    limits: ResourceList


@dataclass(frozen=True, kw_only=True)
class KubeletSettings:
    """The settings that affect enforcement, with the kubelet's defaults.

    Durations are in seconds, `cpu_cfs_quota_period` in microseconds. Names are those of the configuration file. A
    default that depends on the release is None here and in the table of releases: see `with_defaults`.

    Attributes:
        cgroups_per_qos: whether to make a cgroup for each QoS class and pod.
        cgroup_root: the parent of "kubepods", as a cgroupfs path; "" or "/" = the root.
        allowed_unsafe_sysctls: names and patterns of sysctls that pods may set besides the safe ones.
        enforce_node_allocatable: any of pods, system-reserved, kube-reserved, their `-compressible` forms, or none.
        system_reserved, kube_reserved: the reservations for system daemons and for Kubernetes' own daemons.
        system_reserved_cgroup, kube_reserved_cgroup: absolute paths of existing cgroups that get these limits.
        system_cgroups, kubelet_cgroups: the cgroups for the processes of the root cgroup and for the kubelet.
        qos_reserved: resource -> percentage of requests that lower classes cannot use; only memory.
        reserved_system_cpus: `--reserved-cpus`, a list of CPUs that replaces the CPU reservations.
        eviction_*: signal -> threshold (a quantity or a percentage), or grace period in seconds.
        memory_throttling_factor: above 0, at most 1; None = the release's default.
        memory_swap_behavior: `memorySwap.swapBehavior`: "", "NoSwap" or "LimitedSwap".
        pod_pids_limit: `--pod-max-pids`; -1 = no limit of a single pod.
        single_process_oom_kill: None = the default of the release and the cgroup version (False on v2
            since 1.28: the whole container is killed).
        crash_loop_back_off_max: the maximum of the restart back-off in seconds.
        back_off_base: the first restart back-off in seconds.
        image_*: thresholds in percent of the images' file system, 0 to 100, and
        ages in seconds; a maximum age of 0 = no
            maximum.
        maximum_dead_containers, maximum_dead_containers_per_container: the numbers of dead containers to keep;
            negative = no limit.
        shutdown_grace_period, shutdown_grace_period_critical_pods: seconds by which pods delay the machine's shutdown,
            and the part of them for critical pods; 0 = no delay.
        shutdown_grace_period_by_pod_priority: (priority, seconds) of each group of pods in place of the two above.
        fail_swap_on: whether not to start on a machine with swap.
        fail_cgroup_v1: whether not to start on cgroup v1. The kubelet's own default is True since 1.35; here it is
            False, so that both versions can be compared.
        extra: the given settings that do not affect enforcement.
    """

    cgroups_per_qos: bool = True
    cgroup_root: str = ""
    cgroup_driver: Driver = "cgroupfs"
    allowed_unsafe_sysctls: tuple[str, ...] = ()
    enforce_node_allocatable: tuple[str, ...] = ("pods",)
    system_reserved: ResourceList = field(default_factory=dict)
    kube_reserved: ResourceList = field(default_factory=dict)
    system_reserved_cgroup: str = ""
    kube_reserved_cgroup: str = ""
    system_cgroups: str = ""
    kubelet_cgroups: str = ""
    qos_reserved: Mapping[str, str] = field(default_factory=dict)
    reserved_system_cpus: str = ""
    eviction_hard: Mapping[str, str] = field(default_factory=lambda: dict(DEFAULT_EVICTION_HARD))
    eviction_soft: Mapping[str, str] = field(default_factory=dict)
    eviction_soft_grace_period: Mapping[str, str] = field(default_factory=dict)
    eviction_minimum_reclaim: Mapping[str, str] = field(default_factory=dict)
    eviction_pressure_transition_period: float = 300
    eviction_max_pod_grace_period: int = 0
    merge_default_eviction_settings: bool = False
    cpu_manager_policy: str = "none"
    cpu_manager_policy_options: Mapping[str, str] = field(default_factory=dict)
    cpu_manager_reconcile_period: float = 10
    node_status_update_frequency: float = 10
    memory_manager_policy: str = "None"
    reserved_memory: tuple[ReservedMemory, ...] = ()
    topology_manager_policy: str = "none"
    topology_manager_scope: str = "container"
    topology_manager_policy_options: Mapping[str, str] = field(default_factory=dict)
    cpu_cfs_quota: bool = True
    cpu_cfs_quota_period: int = 100_000
    pod_pids_limit: int = -1
    max_pods: int = 110
    pods_per_core: int = 0
    oom_score_adj: int = -999
    memory_throttling_factor: float | None = None
    memory_reservation_policy: str = "None"
    memory_swap_behavior: str = ""
    single_process_oom_kill: bool | None = None
    crash_loop_back_off_max: float = 300
    back_off_base: float = 10
    image_gc_high_threshold_percent: int = 85
    image_gc_low_threshold_percent: int = 80
    image_minimum_gc_age: float = 120
    image_maximum_gc_age: float = 0
    maximum_dead_containers: int = -1
    maximum_dead_containers_per_container: int = 1
    minimum_container_ttl_duration: float = 0
    shutdown_grace_period: float = 0
    shutdown_grace_period_critical_pods: float = 0
    shutdown_grace_period_by_pod_priority: tuple[tuple[int, int], ...] = ()
    fail_swap_on: bool = True
    fail_cgroup_v1: bool = False
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    def with_defaults(self, release: Release) -> KubeletSettings:
        """Return the same settings with the release's defaults where none was given."""
        missing: dict[str, Any] = {
            name: release.default(row) for name, row in BY_RELEASE.items() if getattr(self, name) is None
        }
        return replace(self, **missing)

    def gates(self, release: Release) -> Release:
        """Return the release with this kubelet's feature gates."""
        return release.with_gates(self.feature_gates) if self.feature_gates else release
