"""Parses the kubelet's settings from command line flags and from a KubeletConfiguration.

A flag and its configuration field are one setting: `--kube-reserved cpu=500m` and `kubeReserved: {cpu: 500m}` both
are `kube_reserved`. If both are given, the flag has precedence, as in the kubelet.

Source: cmd/kubelet/app/options/options.go (AddKubeletConfigFlags), k8s.io/kubelet/config/v1beta1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from kitlib.api.errors import shortened
from kitlib.api.go_durations import duration
from kitlib.api.resource import Quantity, QuantityError
from kitlib.kubelet.config.options import FALSE, TRUE
from kitlib.kubelet.config.other_settings import OTHER_FLAGS, OTHER_SWITCHES
from kitlib.kubelet.config.settings import DEFAULT_EVICTION_HARD, KubeletSettings, ReservedMemory, SettingsError


def from_flags(flags: Sequence[str], base: KubeletSettings | None = None) -> KubeletSettings:
    """Return settings from flags `--name=value`, `--name value` and `--switch`; `--config FILE` is read first.

    Raises:
        SettingsError: an unknown flag, or an invalid value.
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
    made = from_configuration(load_file(configured[-1])) if configured else (base or KubeletSettings())
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
            changes[attribute] = _added(changes.get(attribute), _from_text(attribute, value))
        except (ValueError, QuantityError) as error:
            raise SettingsError([f'invalid argument "{value}" for "--{name}" flag: {error}']) from error
    if "feature_gates" in changes:  # gates of the file stay. Source: kubeletConfigFlagPrecedence
        changes["feature_gates"] = {**made.feature_gates, **changes["feature_gates"]}
    return replace(made, **changes, extra=extra)


def _added(before: Any, value: Any) -> Any:
    """Return the value of a flag that may be repeated: maps and lists of all occurrences are joined."""
    if isinstance(before, Mapping):
        return {**before, **value}
    return (*before, *value) if isinstance(before, tuple) else value


def from_configuration(data: Mapping[str, Any]) -> KubeletSettings:
    """Return settings from the fields of a `KubeletConfiguration`; fields that do not affect enforcement go to `extra`.

    Raises:
        SettingsError: another kind of object, or a value of the wrong type.
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
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, QuantityError) as error:
            raise SettingsError([f"{name}: Invalid value: {shortened(repr(value), 200)}: {_words(error)}"]) from error
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
_DEFAULTS = {name: getattr(KubeletSettings(), name) for name in _NAMES}
_FLAGS_ONLY = ("maximum_dead_containers", "maximum_dead_containers_per_container", "minimum_container_ttl_duration")


def field_name(attribute: str) -> str:
    """Return the configuration field of a setting: `cgroupsPerQOS` for `cgroups_per_qos`."""
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
    "shutdown_grace_period": "",
    "shutdown_grace_period_critical_pods": "",
    "shutdown_grace_period_by_pod_priority": "",
}
_FLAGS = {
    _FLAG_EXCEPTIONS.get(name, name.replace("_", "-")): name for name in _NAMES if _FLAG_EXCEPTIONS.get(name, "-")
}
_SWITCHES = ("cgroups-per-qos", "cpu-cfs-quota", "fail-swap-on")
_RESOURCES = ("system_reserved", "kube_reserved")
_LISTS = ("allowed_unsafe_sysctls", "enforce_node_allocatable")
_DURATIONS = (
    *("eviction_pressure_transition_period", "cpu_manager_reconcile_period", "crash_loop_back_off_max"),
    "node_status_update_frequency",
    *("image_minimum_gc_age", "image_maximum_gc_age", "minimum_container_ttl_duration"),
    *("shutdown_grace_period", "shutdown_grace_period_critical_pods"),
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


def _from_text(attribute: str, text: str) -> Any:
    """Convert the text of a flag to the setting's value."""
    if attribute in _LISTS:
        return tuple(part for part in text.split(",") if part)
    if attribute in _INTEGERS:
        return _integer(text)
    if attribute in _BOOLEANS:
        return _boolean(text)
    if attribute.startswith("eviction_") and attribute not in _DURATIONS:
        return _pairs(text, "<" if attribute in ("eviction_hard", "eviction_soft") else "=")
    if attribute == "feature_gates":
        return {name: _gate(name, value) for name, value in _pairs(text, kind="bool").items()}
    if attribute == "reserved_memory":
        return _reserved_memory_flag(text)
    if attribute in _RESOURCES:
        return _from_data(attribute, _pairs(text))
    if attribute in ("qos_reserved", "cpu_manager_policy_options", "topology_manager_policy_options"):
        return _pairs(text)
    return _from_data(attribute, text)


def _from_data(attribute: str, value: Any) -> Any:
    """Convert the value of a configuration field to the setting's value."""
    if isinstance(_DEFAULTS.get(attribute), Mapping) and not isinstance(value, Mapping):
        raise ValueError("a mapping is expected")
    if attribute in _RESOURCES:
        return {name: Quantity(amount) for name, amount in value.items()}
    if attribute in _LISTS:
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
            raise ValueError("a list of strings is expected")
        return tuple(value)
    if attribute in _DURATIONS:
        return duration(value)
    if attribute == "cpu_cfs_quota_period":
        return round(duration(value) * 1e6)
    if attribute == "shutdown_grace_period_by_pod_priority":
        return tuple(
            (int(mapping["priority"]), int(mapping["shutdownGracePeriodSeconds"])) for mapping in _mappings(value)
        )
    if attribute == "reserved_memory":
        value = _mappings(value)
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
    if isinstance(value, Mapping):
        if isinstance(_DEFAULTS.get(attribute), str):
            raise ValueError("a string is expected")
        return {str(k): _plain_text(v) for k, v in value.items()}
    return _plain_text(value)


def _mappings(value: Any) -> Sequence[Mapping[str, Any]]:
    if not isinstance(value, list | tuple) or not all(isinstance(one, Mapping) for one in value):
        raise ValueError("a list of mappings is expected")
    return value


def _plain_text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"a string is expected, found {type(value).__name__}")
    return str(value)


def _words(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else shortened(str(error), 500)


def _integer(text: str) -> int:
    """Source: strconv.ParseInt with base 0: `0x10` and `010` are numbers too."""
    try:
        return int(re.sub(r"^([+-]?)0(?=[0-7])", r"\g<1>0o", text), 0)
    except ValueError:
        raise ValueError(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def _boolean(text: str) -> bool:
    if text not in TRUE + FALSE:
        raise ValueError(f'strconv.ParseBool: parsing "{text}": invalid syntax')
    return text in TRUE


def _gate(name: str, text: str) -> bool:
    """Source: MapStringBool.Set."""
    try:
        return _boolean(text)
    except ValueError as error:
        raise ValueError(f"invalid value of {name}: {text}, err: {error}") from None


def _pairs(text: str, mark: str = "=", kind: str = "string") -> dict[str, str]:
    """Parse `cpu=500m,memory=1Gi`; the separator of eviction thresholds is "<". Source: MapStringString.Set."""
    found: dict[str, str] = {}
    for part in text.split(","):
        if part:
            name, found_mark, value = part.partition(mark)
            if not found_mark:
                raise ValueError(f"malformed pair, expect string{mark}{kind}")
            found[name.strip()] = value.strip()
    return found


def _reserved_memory_flag(text: str) -> tuple[ReservedMemory, ...]:
    """Parse `0:memory=1Gi,hugepages-1M=2Gi;1:memory=2Gi`. Source: ReservedMemoryVar.Set."""
    made = []
    for part in text.split(";") if text else ():
        node, *rest = part.split(":")
        if len(rest) != 1:
            expected = "expected numaNodeID:type=quantity[,type=quantity...]"
            raise ValueError(f"the reserved memory has incorrect format, {expected}, got {part}")
        if not re.fullmatch(r"[+-]?[0-9]+", node):
            raise ValueError(f"failed to convert the NUMA node ID, expected integer, got {node}")
        made.append(ReservedMemory(int(node), dict(_reserved_limit(limit) for limit in rest[0].split(","))))
    return tuple(made)


def _reserved_limit(text: str) -> tuple[str, Quantity]:
    name, *rest = text.split("=")
    if len(rest) != 1:
        raise ValueError(f"the reserved limit has incorrect value, expected type=quantity, got {text}")
    if name != "memory" and not name.startswith("hugepages-"):
        raise ValueError(f'memory type conversion error, unknown type: "{name}"')
    try:
        return name, Quantity(rest[0])
    except QuantityError:
        raise ValueError(f"failed to parse the quantity: {rest[0]}") from None


def load_file(path: str) -> Mapping[str, Any]:
    """Return the fields of a configuration file.

    Raises:
        SettingsError: the file cannot be read, or does not contain a mapping.
    """
    try:
        with open(path, encoding="utf-8") as file:
            return load_text(file.read(), path)
    except OSError as error:
        raise SettingsError([f"failed to load kubelet config file {path}: {error.strerror or error}"]) from error


def load_text(text: str, name: str) -> Mapping[str, Any]:
    """Return the fields of a configuration in YAML; `name` is its name in error messages.

    Raises:
        SettingsError: the text does not contain a mapping.
    """
    from kitlib.api.serialize import load_data

    data = load_data(text, name)
    if not isinstance(data, Mapping):
        raise SettingsError([f"{name}: a mapping of configuration fields is expected"])
    return data
