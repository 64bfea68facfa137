"""Validation of the kubelet's settings, with the kubelet's messages.

`node_validation.py` contains the checks that also depend on the machine.

Sources: pkg/kubelet/apis/config/validation (ValidateKubeletConfiguration, validateReservedMemoryConfiguration); the
kubelet's start (cmd/kubelet/app/server.go); eviction.ParseThresholdConfig; cm.ParseQOSReserved; the policies'
constructors.
"""

from __future__ import annotations

from collections.abc import Iterator

from kitlib.api.go_durations import go_string
from kitlib.api.release import Release
from kitlib.kubelet.cm.conversions import QUOTA_PERIOD
from kitlib.kubelet.cm.qos_container_manager import QosReservedError, parse_qos_reserved
from kitlib.kubelet.config.options import policy_problems
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.eviction.thresholds import ThresholdError, parse_threshold_config
from kitlib.kubelet.util.cpuset import parse_cpus

PODS, NONE = "pods", "none"
SYSTEM, SYSTEM_COMPRESSIBLE = "system-reserved", "system-reserved-compressible"
KUBE, KUBE_COMPRESSIBLE = "kube-reserved", "kube-reserved-compressible"
TOPOLOGY_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
RESERVABLE = ("cpu", "memory", "ephemeral-storage", "pid")
_CONFIGURATION = "invalid configuration: "
_ENFORCE = "enforceNodeAllocatable (--enforce-node-allocatable)"


def validate(settings: KubeletSettings, release: Release) -> list[str]:
    """Return the kubelet's messages about these settings; [] = the kubelet starts.

    Args:
        settings: the settings to validate.
        release: the release that determines the feature gates; the settings' own gates override it.
    """
    gates = settings.gates(release)
    return [
        *_gates(settings, release),
        *_ranges(settings, gates),
        *_policies(settings),
        *policy_problems(
            settings.cpu_manager_policy,
            settings.cpu_manager_policy_options,
            settings.topology_manager_policy,
            settings.topology_manager_policy_options,
            gates,
        ),
        *_swap(settings, gates),
        *_images(settings, gates),
        *_enforcement(settings),
        *_reserved_cpus(settings),
        *_reserved_memory(settings),
        *_memory_qos(settings, gates),
        *_reservations(settings),
        *_qos_reserved(settings),
        *_eviction(settings),
        *_shutdown(settings, gates),
    ]


_BUILDS_ON = {
    "InPlacePodLevelResourcesVerticalScaling": ("InPlacePodVerticalScaling", "PodLevelResources"),
    "InPlacePodVerticalScalingExclusiveCPUs": ("InPlacePodVerticalScaling",),
    "InPlacePodVerticalScalingExclusiveMemory": ("InPlacePodVerticalScaling", "MemoryManager"),
    "PodLevelResourceManagers": ("PodLevelResources",),
}
"""Feature gate -> the gates that it requires. Source: features.defaultKubernetesFeatureGateDependencies."""


def _gates(settings: KubeletSettings, release: Release) -> Iterator[str]:
    """Yield the gates that the release rejects; without any, the gates that lack a gate that they require.

    Source: featureGate.unsafeSetFromMap.
    """
    refused = release.refused(settings.feature_gates)
    yield from refused
    if refused:
        return
    gates = settings.gates(release)
    for gate, needed in _BUILDS_ON.items() if gates.enabled("KitGatesDepend") else ():
        off = [name for name in needed if not gates.enabled(name)]
        if gates.enabled(gate) and off:
            yield f"{gate} is enabled, but depends on features that are disabled: [{' '.join(off)}]"


def _ranges(s: KubeletSettings, gates: Release) -> Iterator[str]:
    if s.system_cgroups and not s.cgroup_root:
        yield (
            "invalid configuration: systemCgroups (--system-cgroups) was specified and "
            "cgroupRoot (--cgroup-root) was not specified"
        )
    period = f"cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {{{go_string(s.cpu_cfs_quota_period / 1e6)}}}"
    if not gates.enabled("CustomCPUCFSQuotaPeriod"):
        if s.cpu_cfs_quota_period != QUOTA_PERIOD:
            yield f"invalid configuration: {period} requires feature gate CustomCPUCFSQuotaPeriod"
    elif not 1_000 <= s.cpu_cfs_quota_period <= 1_000_000:
        yield f"invalid configuration: {period} must be between 1ms and 1sec, inclusive"
    limit = s.crash_loop_back_off_max
    if gates.enabled("KubeletCrashLoopBackOffMax"):
        if not 1 <= limit <= 300:
            yield (
                f"invalid configuration: CrashLoopBackOff.MaxContainerRestartPeriod (got: {limit:g} seconds) "
                "must be set between 1s and 300s"
            )
    elif limit != 300:
        yield (
            "invalid configuration: FeatureGate KubeletCrashLoopBackOffMax not enabled, "
            "CrashLoopBackOff.MaxContainerRestartPeriod must not be set"
        )
    if s.max_pods < 0:
        yield f"invalid configuration: maxPods (--max-pods) {s.max_pods} must not be a negative number"
    if not -1000 <= s.oom_score_adj <= 1000:
        yield (
            f"invalid configuration: oomScoreAdj (--oom-score-adj) {s.oom_score_adj} "
            "must be between -1000 and 1000, inclusive"
        )
    if s.pods_per_core < 0:
        yield f"invalid configuration: podsPerCore (--pods-per-core) {s.pods_per_core} must not be a negative number"


def _policies(s: KubeletSettings) -> Iterator[str]:
    if s.cgroup_driver not in ("cgroupfs", "systemd"):
        yield f'unrecognized cgroup driver "{s.cgroup_driver}": use cgroupfs or systemd'
    if s.topology_manager_policy not in TOPOLOGY_POLICIES:
        listed = " ".join(f'"{name}"' for name in TOPOLOGY_POLICIES)
        yield (
            "invalid configuration: topologyManagerPolicy (--topology-manager-policy) "
            f'"{s.topology_manager_policy}" must be one of: [{listed}]'
        )
    if s.topology_manager_scope not in ("container", "pod"):
        yield (
            "invalid configuration: topologyManagerScope (--topology-manager-scope) "
            f'"{s.topology_manager_scope}" must be one of: "container", or "pod"'
        )
    if s.cpu_manager_policy not in ("none", "static"):
        yield f'unknown policy: "{s.cpu_manager_policy}"'
    if s.memory_manager_policy not in ("None", "Static"):
        yield f'unknown policy: "{s.memory_manager_policy}"'


def _images(s: KubeletSettings, gates: Release) -> Iterator[str]:
    high, low = s.image_gc_high_threshold_percent, s.image_gc_low_threshold_percent
    named = (
        ("imageGCHighThresholdPercent (--image-gc-high-threshold)", high),
        ("imageGCLowThresholdPercent (--image-gc-low-threshold)", low),
    )
    for name, value in named:
        if not 0 <= value <= 100:
            yield f"invalid configuration: {name} {value} must be between 0 and 100, inclusive"
    if low >= high:
        yield f"invalid configuration: {named[1][0]} {low} must be less than {named[0][0]} {high}"
    oldest, youngest = s.image_maximum_gc_age, s.image_minimum_gc_age
    if oldest and not gates.enabled("ImageMaximumGCAge"):
        yield (
            "invalid configuration: ImageMaximumGCAge feature gate is required for Kubelet configuration option "
            "imageMaximumGCAge"
        )
    for name, age in (("imageMinimumGCAge", youngest), ("imageMaximumGCAge", oldest)):
        if age < 0:
            yield f"invalid configuration: {name} {go_string(age)} must not be negative"
    if 0 < oldest <= youngest:
        yield (
            f"invalid configuration: imageMaximumGCAge {go_string(oldest)} must be greater than imageMinimumGCAge "
            f"{go_string(youngest)}"
        )


def _swap(s: KubeletSettings, gates: Release) -> Iterator[str]:
    if not gates.enabled("NodeSwap"):
        if s.memory_swap_behavior:
            yield "invalid configuration: memorySwap.swapBehavior cannot be set when NodeSwap feature flag is disabled"
    elif s.memory_swap_behavior not in ("", "NoSwap", "LimitedSwap"):
        yield (
            f'invalid configuration: memorySwap.swapBehavior "{s.memory_swap_behavior}" must be one of: "", '
            '"LimitedSwap" or "NoSwap"'
        )


def _enforcement(s: KubeletSettings) -> Iterator[str]:
    wanted = s.enforce_node_allocatable
    for whole, part in ((SYSTEM, SYSTEM_COMPRESSIBLE), (KUBE, KUBE_COMPRESSIBLE)):
        if whole in wanted and part in wanted:
            yield (f'invalid configuration: both "{whole}" and "{part}" cannot be specified together in {_ENFORCE}')
    for value, seen in zip(wanted, _seen_before(wanted), strict=True):
        if seen:
            yield f'invalid configuration: duplicated enforcements "{value}" in {_ENFORCE}'
            continue
        if value in (SYSTEM, SYSTEM_COMPRESSIBLE):
            if not s.system_reserved_cgroup:
                yield (
                    "invalid configuration: systemReservedCgroup (--system-reserved-cgroup) must be specified when "
                    f'"{SYSTEM}" or "{SYSTEM_COMPRESSIBLE}" included in {_ENFORCE}'
                )
        elif value in (KUBE, KUBE_COMPRESSIBLE):
            if not s.kube_reserved_cgroup:
                yield (
                    "invalid configuration: kubeReservedCgroup (--kube-reserved-cgroup) must be specified when "
                    f'"{KUBE}" or "{KUBE_COMPRESSIBLE}" included in {_ENFORCE}'
                )
        elif value == NONE:
            if len(wanted) > 1:
                yield (
                    f"invalid configuration: {_ENFORCE} may not contain additional enforcements "
                    f'when "{NONE}" is specified'
                )
            continue
        elif value != PODS:
            yield (
                f'invalid configuration: option "{value}" specified for {_ENFORCE}. Valid options are "{PODS}", '
                f'"{SYSTEM}", "{SYSTEM_COMPRESSIBLE}", "{KUBE}", "{KUBE_COMPRESSIBLE}" or "{NONE}"'
            )
            continue
        if not s.cgroups_per_qos:
            yield (
                "invalid configuration: cgroupsPerQOS (--cgroups-per-qos) must be set to true when "
                f'"{value}" contained in {_ENFORCE}'
            )


def _reserved_cpus(s: KubeletSettings) -> Iterator[str]:
    if not s.reserved_system_cpus:
        return
    if s.system_reserved_cgroup or s.kube_reserved_cgroup:
        yield (
            "invalid configuration: can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup "
            "(--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)"
        )
    try:
        parse_cpus(s.reserved_system_cpus)
    except ValueError as error:
        yield (
            "invalid configuration: unable to parse reservedSystemCPUs (--reserved-cpus) "
            f"{s.reserved_system_cpus}, error: {error}"
        )


def _reserved_memory(s: KubeletSettings) -> Iterator[str]:
    """Source: validateReservedMemoryConfiguration."""
    seen: set[tuple[int, str]] = set()
    for reserved_memory in s.reserved_memory:
        for name, amount in reserved_memory.limits.items():
            if name != "memory" and not name.startswith("hugepages-"):
                yield (
                    f'invalid configuration: the limit type "{name}" for NUMA node {reserved_memory.numa_node} is not '
                    "supported, only [memory hugepages-<HugePageSize>] is accepted"
                )
            if amount.is_zero():
                yield (
                    f"invalid configuration: reserved memory may not be zero for NUMA node {reserved_memory.numa_node} "
                    f'and resource "{name}"'
                )
            if (reserved_memory.numa_node, name) in seen:
                yield (
                    "invalid configuration: the reserved memory has a duplicate value for NUMA node "
                    f'{reserved_memory.numa_node} and resource "{name}"'
                )
            seen.add((reserved_memory.numa_node, name))


def _memory_qos(s: KubeletSettings, gates: Release) -> Iterator[str]:
    factor = s.memory_throttling_factor
    if factor is not None and not 0 < factor <= 1:
        yield (
            f"invalid configuration: memoryThrottlingFactor {factor:g} "
            "must be greater than 0 and less than or equal to 1.0"
        )
    policy = s.memory_reservation_policy
    if policy == "TieredReservation" and not gates.enabled("MemoryQoS"):
        yield f'{_CONFIGURATION}memoryReservationPolicy "{policy}" requires MemoryQoS feature gate to be enabled'
    if policy not in ("None", "TieredReservation"):
        yield (
            f'{_CONFIGURATION}option "{policy}" specified for memoryReservationPolicy. Valid options are "None" or '
            '"TieredReservation"'
        )


def _reservations(s: KubeletSettings) -> Iterator[str]:
    """Source: cmd/kubelet/app parseResourceList."""
    for flag, reserved in (("kube-reserved", s.kube_reserved), ("system-reserved", s.system_reserved)):
        for name, quantity in reserved.items():
            if name not in RESERVABLE:
                yield f'--{flag} value failed to parse: cannot reserve "{name}" resource'
            elif quantity.sign() < 0:
                yield f'--{flag} value failed to parse: resource quantity for "{name}" cannot be negative: {quantity}'


def _qos_reserved(s: KubeletSettings) -> Iterator[str]:
    try:
        parse_qos_reserved(s.qos_reserved)
    except QosReservedError as error:
        yield f"--qos-reserved value failed to parse: {error}"


def _eviction(s: KubeletSettings) -> Iterator[str]:
    try:
        parse_threshold_config(
            s.enforce_node_allocatable,
            s.eviction_hard,
            s.eviction_soft,
            s.eviction_soft_grace_period,
            s.eviction_minimum_reclaim,
        )
    except ThresholdError as error:
        yield str(error)


def _shutdown(s: KubeletSettings, gates: Release) -> Iterator[str]:
    given = s.shutdown_grace_period, s.shutdown_grace_period_critical_pods, s.shutdown_grace_period_by_pod_priority
    if any(given):
        from kitlib.kubelet.config.shutdown import shutdown_problems

        yield from shutdown_problems(s, gates)


def _seen_before(values: tuple[str, ...]) -> list[bool]:
    return [value in values[:i] for i, value in enumerate(values)]
