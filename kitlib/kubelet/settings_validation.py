"""Which settings the kubelet refuses to start with, in its own words.

Sources: pkg/kubelet/apis/config/validation (ValidateKubeletConfiguration, validateKubeletOSConfiguration,
validateReservedMemoryConfiguration); eviction.ParseThresholdConfig; cm.ParseQOSReserved; the policies' constructors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kitlib.api.release import Release
from kitlib.api.resource import Quantity, QuantityError
from kitlib.kubelet.qos_cgroups import QosReservedError, parse_qos_reserved
from kitlib.kubelet.settings import KubeletSettings, duration

PODS, NONE = "pods", "none"
SYSTEM, SYSTEM_COMPRESSIBLE = "system-reserved", "system-reserved-compressible"
KUBE, KUBE_COMPRESSIBLE = "kube-reserved", "kube-reserved-compressible"
TOPOLOGY_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
RESERVABLE = ("cpu", "memory", "ephemeral-storage", "pid")
SIGNALS = (
    "memory.available",
    "allocatableMemory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "containerfs.available",
    "containerfs.inodesFree",
    "pid.available",
)
_ENFORCE = "enforceNodeAllocatable (--enforce-node-allocatable)"


def validate(settings: KubeletSettings, release: Release) -> list[str]:
    """The kubelet's messages about these settings; [] = it starts.

    Args:
        settings: what was asked for. release: whose feature gates hold.
    """
    gates = settings.gates(release)
    return [
        *_ranges(settings),
        *_policies(settings),
        *_swap(settings, gates),
        *_enforcement(settings),
        *_reserved_cpus(settings),
        *_memory_qos(settings, gates),
        *_reservations(settings),
        *_qos_reserved(settings),
        *_eviction(settings),
    ]


def _ranges(s: KubeletSettings) -> Iterator[str]:
    if not s.cgroups_per_qos and s.enforce_node_allocatable:
        yield (
            f"invalid configuration: {_ENFORCE} is not supported unless "
            "cgroupsPerQOS (--cgroups-per-qos) is set to true"
        )
    if s.system_cgroups and not s.cgroup_root:
        yield (
            "invalid configuration: systemCgroups (--system-cgroups) was specified and "
            "cgroupRoot (--cgroup-root) was not specified"
        )
    if not 1_000 <= s.cpu_cfs_quota_period <= 1_000_000:
        yield (
            f"invalid configuration: cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {_go_duration(s.cpu_cfs_quota_period)} "
            "must be between 1ms and 1sec, inclusive"
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
    for value in wanted:
        if value in (SYSTEM, SYSTEM_COMPRESSIBLE):
            if not s.system_reserved_cgroup:
                yield (
                    "invalid configuration: systemReservedCgroup (--system-reserved-cgroup) must be specified when "
                    f'"{SYSTEM}" or "{SYSTEM_COMPRESSIBLE}" contained in {_ENFORCE}'
                )
        elif value in (KUBE, KUBE_COMPRESSIBLE):
            if not s.kube_reserved_cgroup:
                yield (
                    "invalid configuration: kubeReservedCgroup (--kube-reserved-cgroup) must be specified when "
                    f'"{KUBE}" or "{KUBE_COMPRESSIBLE}" contained in {_ENFORCE}'
                )
        elif value == NONE:
            if len(wanted) > 1:
                yield (
                    f"invalid configuration: {_ENFORCE} may not contain additional enforcements "
                    f'when "{NONE}" is specified'
                )
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
    if not re.fullmatch(r"[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*", s.reserved_system_cpus):
        yield (
            "invalid configuration: unable to parse reservedSystemCPUs (--reserved-cpus) "
            f"{s.reserved_system_cpus}, error: not a list of CPUs"
        )


def _memory_qos(s: KubeletSettings, gates: Release) -> Iterator[str]:
    factor = s.memory_throttling_factor
    if factor is None:
        if gates.enabled("MemoryQoS"):
            yield "invalid configuration: memoryThrottlingFactor is required when MemoryQoS feature flag is enabled"
    elif not 0 < factor <= 1:
        yield (
            f"invalid configuration: memoryThrottlingFactor {factor:g} "
            "must be greater than 0 and less than or equal to 1.0"
        )
    if s.memory_reservation_policy not in ("None", "TieredReservation"):
        yield (
            f'invalid configuration: memoryReservationPolicy "{s.memory_reservation_policy}" must be one of: '
            '"None", "TieredReservation"'
        )


def _reservations(s: KubeletSettings) -> Iterator[str]:
    for reserved in (s.system_reserved, s.kube_reserved):
        for name, quantity in reserved.items():
            if name not in RESERVABLE:
                yield f'cannot reserve "{name}" resource'
            elif quantity.sign() < 0:
                yield f'resource quantity for "{name}" cannot be negative: {quantity}'


def _qos_reserved(s: KubeletSettings) -> Iterator[str]:
    try:
        parse_qos_reserved(s.qos_reserved)
    except QosReservedError as error:
        yield str(error)


def _eviction(s: KubeletSettings) -> Iterator[str]:
    for thresholds in (s.eviction_hard, s.eviction_soft):
        for signal, text in thresholds.items():
            if signal not in SIGNALS:
                yield f"unsupported eviction signal {signal}"
                continue
            yield from _threshold(signal, text)
    for signal in s.eviction_soft:
        if signal not in s.eviction_soft_grace_period:
            yield f"grace period must be specified for the soft eviction threshold {signal}"
    for text in s.eviction_soft_grace_period.values():
        try:
            if duration(text) < 0:
                yield f"invalid eviction grace period specified: {text}, must be a positive value"
        except ValueError as error:
            yield str(error)


def _threshold(signal: str, text: str) -> Iterator[str]:
    if text.endswith("%"):
        number = text.removesuffix("%")
        try:
            percent = float(number)
        except ValueError:
            yield f'strconv.ParseFloat: parsing "{number}": invalid syntax'
            return
        if percent < 0:
            yield f"eviction percentage threshold {signal} must be >= 0%: {text}"
        elif percent > 100:
            yield f"eviction percentage threshold {signal} must be <= 100%: {text}"
        return
    try:
        if Quantity(text).sign() < 0:
            yield f"eviction threshold {signal} must be positive: {text}"
    except QuantityError as error:
        yield str(error)


def _go_duration(microseconds: int) -> str:
    """`{100ms}`: how Go prints the field."""
    seconds, rest = divmod(microseconds, 1_000_000)
    if seconds:
        return f"{{{seconds + rest / 1e6:g}s}}"
    return f"{{{microseconds / 1000:g}ms}}" if microseconds >= 1000 else f"{{{microseconds}µs}}"
