"""The kubelet's settings under their own names, from flags and from a KubeletConfiguration file.

A flag and its configuration field are one setting: `--kube-reserved cpu=500m` and `kubeReserved: {cpu: 500m}` both
are `kube_reserved`. Where both are given the flag wins, as in the kubelet. What the kubelet refuses is refused with
its own message (`settings_validation.py` in this room).

Source: cmd/kubelet/app/options/options.go (AddKubeletConfigFlags), k8s.io/kubelet/config/v1beta1,
pkg/kubelet/apis/config/v1beta1/defaults.go.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from kitlib.api.core import ResourceList
from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.api.resource import Quantity, QuantityError
from kitlib.kubelet.cm.cgroup_names import Driver
from kitlib.kubelet.config.durations import duration
from kitlib.kubelet.config.other_settings import OTHER_FLAGS, OTHER_SWITCHES

DEFAULT_EVICTION_HARD = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
}
"""Source: eviction.DefaultEvictionHard."""


class SettingsError(KitError, ValueError):
    """Settings that the kubelet would not start with.

    Attributes:
        problems: its messages, one a problem.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__(self.problems[0] if len(self.problems) == 1 else f"[{', '.join(self.problems)}]")


@dataclass(frozen=True)
class ReservedMemory:
    """One entry of `--reserved-memory`: memory of a NUMA node that is not given to pods."""

    numa_node: int
    limits: ResourceList


@dataclass(frozen=True, kw_only=True)
class KubeletSettings:
    """Every setting that enforcement depends on; defaults are the kubelet's.

    Durations are seconds, `cpu_cfs_quota_period` microseconds. Names are those of the configuration file.

    Attributes:
        cgroups_per_qos: make a cgroup for each QoS class and pod.
        cgroup_root: below which "kubepods" stands, as a cgroupfs path; "" or "/" = the root.
        enforce_node_allocatable: of pods, system-reserved, kube-reserved, their `-compressible` forms, none.
        system_reserved, kube_reserved: kept for system daemons and for Kubernetes' own.
        system_reserved_cgroup, kube_reserved_cgroup: existing cgroups that get these limits, absolute paths.
        system_cgroups, kubelet_cgroups: where processes that stand in no cgroup, and the kubelet, are moved to.
        qos_reserved: resource -> percent text of requests that lower classes cannot use; only memory.
        reserved_system_cpus: `--reserved-cpus`, a list of CPUs that replaces the CPU reservations.
        eviction_*: thresholds by signal, quantities or percentages; grace periods in seconds.
        memory_swap_behavior: `memorySwap.swapBehavior`: "", "NoSwap" or "LimitedSwap".
        pod_pids_limit: `--pod-max-pids`; -1 = no limit of a pod's own.
        single_process_oom_kill: None = the kubelet's default (False on cgroup v2: the whole container is killed).
        crash_loop_back_off_max: seconds. back_off_base: seconds before the first restart.
        image_*: thresholds in percent of the images' file system, and ages in seconds; 0 = no greatest age.
        maximum_dead_containers, maximum_dead_containers_per_container: that stay; negative = any number.
        fail_swap_on: refuse to start on a machine that has swap.
        fail_cgroup_v1: refuse to start on cgroup v1. The kubelet's own default is True since 1.35; here it is False, so
            that both versions can be compared.
        extra: settings that were given and that enforcement does not depend on.
    """

    cgroups_per_qos: bool = True
    cgroup_root: str = ""
    cgroup_driver: Driver = "cgroupfs"
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
    memory_throttling_factor: float | None = 0.9
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
    fail_swap_on: bool = True
    fail_cgroup_v1: bool = False
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, source: Any = (), *, release: Release | None = None) -> KubeletSettings:
        """Settings from whatever the user has: flags, a KubeletConfiguration, both, or settings.

        Args:
            source: a list of flags (or one string of them), a mapping or YAML text with configuration fields, the
                path of such a file, or `KubeletSettings`.
            release: whose rules are applied.

        Raises:
            SettingsError: with the kubelet's messages.
        """
        from kitlib.kubelet.config.validation import validate

        if isinstance(source, KubeletSettings):
            made = source
        elif isinstance(source, Mapping):
            made = from_configuration(source)
        elif isinstance(source, os.PathLike):
            made = from_configuration(_load_file(os.fspath(source)))
        elif isinstance(source, str):
            text = source.strip()
            if text.startswith("--") or not text:
                made = from_flags(text.split())
            elif "\n" in text or ": " in text or text.startswith("{"):
                made = from_configuration(_load_text(text, "KubeletConfiguration"))
            else:
                made = from_configuration(_load_file(text))
        else:
            made = from_flags(list(source))
        problems = validate(made, release or Release.latest())
        if problems:
            raise SettingsError(problems)
        return made

    def gates(self, release: Release) -> Release:
        """The release with this kubelet's feature gates on top."""
        return release.with_gates(self.feature_gates) if self.feature_gates else release


def from_flags(flags: Sequence[str], base: KubeletSettings | None = None) -> KubeletSettings:
    """Settings from command line flags: `--name=value`, `--name value`, `--switch`; `--config FILE` is read first.

    Raises:
        SettingsError: for a flag that the kubelet does not have, or a value that it cannot read.
    """
    given: list[tuple[str, str]] = []
    rest = list(flags)
    while rest:
        flag = rest.pop(0)
        if not flag.startswith("--"):
            raise SettingsError([f"unknown command {flag}"])
        name, equals, value = flag.removeprefix("--").partition("=")
        if not equals:
            takes_value = name not in _SWITCHES and name not in OTHER_SWITCHES
            if takes_value and not rest:
                raise SettingsError([f"flag needs an argument: --{name}"])
            value = rest.pop(0) if takes_value else "true"
        given.append((name, value))
    configured = [value for name, value in given if name == "config"]
    made = from_configuration(_load_file(configured[-1])) if configured else (base or KubeletSettings())
    changes: dict[str, Any] = {}
    extra = dict(made.extra)
    for name, value in given:
        if name == "config":
            continue
        attribute = _FLAGS.get(name)
        if attribute is None:
            if name not in OTHER_FLAGS and name not in OTHER_SWITCHES:
                raise SettingsError([f"unknown flag: --{name}"])
            extra[f"--{name}"] = value
            continue
        try:
            changes[attribute] = _from_text(attribute, value)
        except (ValueError, QuantityError) as error:
            raise SettingsError([f'invalid argument "{value}" for "--{name}" flag: {error}']) from error
    return replace(made, **changes, extra=extra)


def from_configuration(data: Mapping[str, Any]) -> KubeletSettings:
    """Settings from the fields of a `KubeletConfiguration`; fields that enforcement does not need go to `extra`.

    Raises:
        SettingsError: for another kind of object, or a value of the wrong type.
    """
    kind = data.get("kind", "KubeletConfiguration")
    if kind != "KubeletConfiguration":
        raise SettingsError([f"kind: Invalid value: {kind!r}: a KubeletConfiguration is expected"])
    changes: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for name, value in data.items():
        if name in ("kind", "apiVersion") or value is None:
            continue
        try:
            if name == "memorySwap":
                changes["memory_swap_behavior"] = str(value.get("swapBehavior", ""))
            elif name == "crashLoopBackOff":
                changes["crash_loop_back_off_max"] = duration(value.get("maxContainerRestartPeriod", "5m"))
            elif name in _FIELDS:
                changes[_FIELDS[name]] = _from_data(_FIELDS[name], value)
            else:
                extra[name] = value
        except (ValueError, TypeError, AttributeError, QuantityError) as error:
            raise SettingsError([f"{name}: Invalid value: {value!r}: {error}"]) from error
    merge = changes.get("merge_default_eviction_settings", False)
    if "eviction_hard" in changes and merge:
        changes["eviction_hard"] = {**DEFAULT_EVICTION_HARD, **changes["eviction_hard"]}
    return KubeletSettings(**changes, extra=extra)


_NAMES = [f.name for f in fields(KubeletSettings) if f.name not in ("extra", "memory_swap_behavior", "back_off_base")]
_CAMEL_EXCEPTIONS = {
    "cgroups_per_qos": "cgroupsPerQOS",
    "reserved_system_cpus": "reservedSystemCPUs",
    "cpu_cfs_quota": "cpuCFSQuota",
    "cpu_cfs_quota_period": "cpuCFSQuotaPeriod",
    "single_process_oom_kill": "singleProcessOOMKill",
    "oom_score_adj": "oomScoreAdj",
    "qos_reserved": "qosReserved",
    "fail_cgroup_v1": "failCgroupV1",
    "image_gc_high_threshold_percent": "imageGCHighThresholdPercent",
    "image_gc_low_threshold_percent": "imageGCLowThresholdPercent",
    "image_minimum_gc_age": "imageMinimumGCAge",
    "image_maximum_gc_age": "imageMaximumGCAge",
}
_FLAGS_ONLY = ("maximum_dead_containers", "maximum_dead_containers_per_container", "minimum_container_ttl_duration")


def field_name(attribute: str) -> str:
    """The configuration field of a setting: `cgroups_per_qos` is `cgroupsPerQOS`."""
    if attribute in _CAMEL_EXCEPTIONS:
        return _CAMEL_EXCEPTIONS[attribute]
    first, *others = attribute.split("_")
    return first + "".join(word.capitalize() for word in others)


_FIELDS = {field_name(name): name for name in _NAMES if name not in _FLAGS_ONLY}
_FLAG_EXCEPTIONS = {
    "reserved_system_cpus": "reserved-cpus",
    "pod_pids_limit": "pod-max-pids",
    "memory_throttling_factor": "",
    "memory_reservation_policy": "",
    "merge_default_eviction_settings": "",
    "single_process_oom_kill": "",
    "fail_cgroup_v1": "",
    "crash_loop_back_off_max": "",
    "image_gc_high_threshold_percent": "image-gc-high-threshold",
    "image_gc_low_threshold_percent": "image-gc-low-threshold",
    "image_minimum_gc_age": "minimum-image-ttl-duration",
    "image_maximum_gc_age": "",
}
_FLAGS = {
    _FLAG_EXCEPTIONS.get(name, name.replace("_", "-")): name for name in _NAMES if _FLAG_EXCEPTIONS.get(name, "-")
}
_SWITCHES = ("cgroups-per-qos", "cpu-cfs-quota", "fail-swap-on")
_RESOURCES = ("system_reserved", "kube_reserved")
_LISTS = ("enforce_node_allocatable",)
_DURATIONS = (
    *("eviction_pressure_transition_period", "cpu_manager_reconcile_period", "crash_loop_back_off_max"),
    *("image_minimum_gc_age", "image_maximum_gc_age", "minimum_container_ttl_duration"),
)
_INTEGERS = (
    *("pod_pids_limit", "max_pods", "pods_per_core", "oom_score_adj", "eviction_max_pod_grace_period"),
    *("image_gc_high_threshold_percent", "image_gc_low_threshold_percent"),
    *("maximum_dead_containers", "maximum_dead_containers_per_container"),
)
_BOOLEANS = (
    "cgroups_per_qos",
    "cpu_cfs_quota",
    "single_process_oom_kill",
    "merge_default_eviction_settings",
    "fail_swap_on",
    "fail_cgroup_v1",
)


def flag_name(attribute: str) -> str:
    """The flag of a setting, `--kube-reserved`; "" where there is none."""
    name = _FLAG_EXCEPTIONS.get(attribute, attribute.replace("_", "-"))
    return f"--{name}" if name else ""


def _from_text(attribute: str, text: str) -> Any:
    """The value of a flag."""
    if attribute in _LISTS:
        return tuple(part for part in text.split(",") if part)
    if attribute in _INTEGERS:
        return int(text)
    if attribute in _BOOLEANS:
        return _boolean(text)
    if attribute.startswith("eviction_") and attribute not in _DURATIONS:
        return _pairs(text, "<" if attribute in ("eviction_hard", "eviction_soft") else "=")
    if attribute == "feature_gates":
        return {name: _boolean(value) for name, value in _pairs(text).items()}
    if attribute == "reserved_memory":
        return _reserved_memory_flag(text)
    if attribute in _RESOURCES:
        return _from_data(attribute, _pairs(text))
    if attribute in ("qos_reserved", "cpu_manager_policy_options", "topology_manager_policy_options"):
        return _pairs(text)
    return _from_data(attribute, text)


def _from_data(attribute: str, value: Any) -> Any:
    """The value of a configuration field."""
    if attribute in _RESOURCES:
        return {name: Quantity(amount) for name, amount in value.items()}
    if attribute in _LISTS:
        return tuple(value)
    if attribute in _DURATIONS:
        return duration(value)
    if attribute == "cpu_cfs_quota_period":
        return round(duration(value) * 1e6)
    if attribute == "reserved_memory":
        return tuple(
            ReservedMemory(int(one["numaNode"]), {k: Quantity(v) for k, v in one["limits"].items()}) for one in value
        )
    if attribute in _INTEGERS:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError("a whole number is expected")
        return value
    if attribute in _BOOLEANS:
        if not isinstance(value, bool):
            raise ValueError("true or false is expected")
        return value
    if attribute == "memory_throttling_factor":
        return float(value)
    if attribute == "feature_gates":
        return {str(name): bool(on) for name, on in value.items()}
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, Mapping) else str(value)


def _boolean(text: str) -> bool:
    if text.lower() in ("true", "t", "1"):
        return True
    if text.lower() in ("false", "f", "0"):
        return False
    raise ValueError(f'strconv.ParseBool: parsing "{text}": invalid syntax')


def _pairs(text: str, mark: str = "=") -> dict[str, str]:
    """`cpu=500m,memory=1Gi`; thresholds are written with "<"."""
    found: dict[str, str] = {}
    for part in text.split(","):
        if part:
            name, found_mark, value = part.partition(mark)
            if not found_mark:
                raise ValueError(f"malformed pair, expect string{mark}string: {part}")
            found[name.strip()] = value.strip()
    return found


def _reserved_memory_flag(text: str) -> tuple[ReservedMemory, ...]:
    """`0:memory=1Gi,hugepages-1M=2Gi;1:memory=2Gi`."""
    made = []
    for part in text.split(";"):
        node, colon, limits = part.partition(":")
        if not colon or not node.strip().isdigit():
            raise ValueError(f'"{part}" is not in the format N1:type1=value1,type2=value2')
        made.append(ReservedMemory(int(node), {k: Quantity(v) for k, v in _pairs(limits).items()}))
    return tuple(made)


def _load_file(path: str) -> Mapping[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            return _load_text(file.read(), path)
    except OSError as error:
        raise SettingsError([f"failed to load kubelet config file {path}: {error.strerror or error}"]) from error


def _load_text(text: str, name: str) -> Mapping[str, Any]:
    from kitlib.api.serialize import load_data

    data = load_data(text, name)
    if not isinstance(data, Mapping):
        raise SettingsError([f"{name}: a mapping of configuration fields is expected"])
    return data
