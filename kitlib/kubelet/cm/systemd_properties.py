"""The properties of a systemd unit, slice or scope, for the files of its cgroup.

With the systemd driver the kubelet first sets the unit's properties over D-Bus, because systemd owns the tree and may
write its files again at any time. Then the kubelet writes the files as well, because systemd rounds (a quota to whole
percents) and has no property for some of them (huge pages; on cgroup v1 the cpuset).

| file of v1 | file of v2 | property |
|---|---|---|
| cpu.shares | cpu.weight | CPUShares, CPUWeight |
| cpu.cfs_quota_us, cpu.cfs_period_us | cpu.max | CPUQuotaPerSecUSec, CPUQuotaPeriodUSec |
| memory.limit_in_bytes | memory.max | MemoryLimit, MemoryMax |
| | memory.min, low, high, swap.max | MemoryMin, MemoryLow, MemoryHigh, MemorySwapMax |
| pids.max | pids.max | TasksMax |
| cpuset.cpus, cpuset.mems | the same | AllowedCPUs, AllowedMemoryNodes |

Source: opencontainers/cgroups systemd.genV1ResourcesProperties, genV2ResourcesProperties, unifiedResToSystemdProps,
addCPUQuota, addCpuset, RangeToBits; systemd.resource-control(5).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from kitlib.kubelet.cm.cgroup_names import CgroupNameError, OCIRuntime, expand_slice
from kitlib.kubelet.cm.cgroup_tree import CgroupFile, Reason, Version
from kitlib.kubelet.cm.conversions import PERCENTAGE, QUOTA_PERIOD, WHOLE_PERCENTS, whole_percent_quota
from kitlib.kubelet.cm.formula import Formula
from kitlib.kubelet.util.cpuset import parse_cpus

INFINITY = 2**64 - 1
"""The value of systemd for "no limit"."""
_PLAIN: Mapping[Version, Mapping[str, str]] = {
    1: {"cpu.shares": "CPUShares", "memory.limit_in_bytes": "MemoryLimit", "pids.max": "TasksMax"},
    2: {
        "cpu.weight": "CPUWeight",
        "memory.max": "MemoryMax",
        "memory.high": "MemoryHigh",
        "memory.low": "MemoryLow",
        "memory.min": "MemoryMin",
        "memory.swap.max": "MemorySwapMax",
        "pids.max": "TasksMax",
    },
}
_SETS = {"cpuset.cpus": "AllowedCPUs", "cpuset.mems": "AllowedMemoryNodes"}
_QUOTA = ("cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.max")


class Property(NamedTuple):
    """A property of a unit.

    Attributes:
        name: the name in the output of `systemctl show`.
        kind: the D-Bus type.
        value: the value, of this type.
    """

    name: str
    kind: str
    value: int | bool | str | bytes | list[str] | list[int]


def unit_properties(files: Mapping[str, str], version: Version, only: Collection[str] | None = None) -> list[Property]:
    """Return the properties for files and their values.

    Args:
        files: name -> value, all files that are written into the cgroup, as a quota needs its period.
        version: cgroup version, 1 or 2.
        only: the files that change; None = all.
    """
    changing = set(files if only is None else only)
    made = [
        Property(name, "t", _number(files[file]))
        for file, name in _PLAIN[version].items()
        if file in files and file in changing
    ]
    if changing & set(_QUOTA) & set(files):
        made += _quota(files, version)
    made += [
        Property(name, "ay", bits(files[file])) for file, name in _SETS.items() if file in files and file in changing
    ]
    return made


def _quota(files: Mapping[str, str], version: Version) -> list[Property]:
    """Return the quota as CPU time a second, rounded up to whole percents. Source: addCPUQuota."""
    if version == 2:
        quota, _, period = files["cpu.max"].partition(" ")
    else:
        quota, period = files.get("cpu.cfs_quota_us", "max"), files.get("cpu.cfs_period_us", "")
    every, amount = int(period or QUOTA_PERIOD), _number(quota)
    per_second = INFINITY if amount == INFINITY else WHOLE_PERCENTS(amount, every)
    return [Property("CPUQuotaPeriodUSec", "t", every), Property("CPUQuotaPerSecUSec", "t", per_second)]


def slice_quota(quota: int, period: int) -> int:
    """Return the quota in a pod's slice: that of systemd, rounded up to whole percents of a CPU.

    The kubelet writes its own value after it has set the property. systemd writes the slice again, rounded, as soon as
    a container's scope is made in it. A scope keeps the exact value until `systemctl daemon-reload`.

    Args:
        quota: microseconds per period; below 0 = no limit.
        period: microseconds.

    Source: opencontainers/cgroups systemd.addCPUQuota; systemd unit_realize_cgroup_now, cgroup_apply_legacy_cpu_quota.
    """
    return quota if quota < 0 else whole_percent_quota(quota, period)


DEFAULT_TASKS_MAX_PERCENT = 15
"""Percent of the machine's process ids: a unit's default limit. Source: systemd-system.conf(5) DefaultTasksMax=."""


def scope_files(files: Sequence[CgroupFile], version: Version, runtime: OCIRuntime, max_pid: int) -> list[CgroupFile]:
    """Return the files of a container's scope: the values that the runtime requests, as systemd stores them.

    Every scope gets systemd's own limit of tasks. runc then writes its values into the scope: since 1.3.2 the rounded
    quota that it has set as a property, before that the exact one. crun on cgroup v2 writes its values one level below,
    so the scope has the values of systemd for the unit's properties: the quota in whole percents, a swap limit equal to
    the memory limit, no memory.oom.group.

    Args:
        files: the files that the runtime writes.
        version: cgroup version, 1 or 2.
        runtime: the low-level runtime.
        max_pid: the number of process ids of the machine; 0 = unknown.

    Source: systemd-system.conf(5) DefaultTasksMax=; opencontainers/cgroups systemd.UnifiedManager.Set;
    crun cgroup-systemd.c append_resources.
    """
    made = list(files)
    if runtime.rounds_quota:
        made = _with_rounded_quota(files, runtime.label)
    elif runtime.nests and version == 2:
        limit = next((file.value for file in files if file.name == "memory.max"), None)
        made = [_as_unit_property(file, limit) for file in files if file.name != "memory.oom.group"]
    if max_pid and all(file.name != "pids.max" for file in made):
        inputs = {"whole": max_pid, "percent": DEFAULT_TASKS_MAX_PERCENT}
        tasks = Formula(inputs, (PERCENTAGE,), "{part}")
        why = Reason(
            "systemd's DefaultTasksMax of the machine's process ids; the kubelet limits only the pod's slice",
            source="systemd-system.conf(5) DefaultTasksMax=",
            formula=lambda: tasks,
        )
        made.append(CgroupFile("pids.max", tasks.result(), why))
    return made


_AS_SYSTEMD = Reason(
    "what systemd makes of the unit's property; the exact value stands in crun's cgroup below",
    source="crun cgroup-systemd.c append_resources",
)


def _with_rounded_quota(files: Sequence[CgroupFile], label: str) -> list[CgroupFile]:
    """Round the quota of a scope. Source: opencontainers/cgroups systemd.addCPUQuota."""
    # addCPUQuota changes the resources in place, so the file manager then writes the rounded quota.
    why = Reason(
        "what systemd makes of the limit's quota: whole percents of a CPU, rounded up",
        source=f"opencontainers/cgroups systemd.addCPUQuota; {label}",
    )
    period = next((int(file.value) for file in files if file.name == "cpu.cfs_period_us"), 0)
    made = []
    for file in files:
        quota, _, mine = file.value.partition(" ")
        if (file.name == "cpu.max" and quota != "max") or (file.name == "cpu.cfs_quota_us" and int(quota) > 0):
            kept = slice_quota(int(quota), int(mine) if mine else period)
            if kept != int(quota):
                file = file._replace(value=f"{kept} {mine}".rstrip(), why=why)
        made.append(file)
    return made


def _as_unit_property(file: CgroupFile, memory_limit: str | None) -> CgroupFile:
    if file.name == "cpu.max":
        quota, _, period = file.value.partition(" ")
        if quota != "max":
            kept = slice_quota(int(quota), int(period))
            return file._replace(value=f"{kept} {period}", why=_AS_SYSTEMD)
    if file.name == "memory.swap.max" and memory_limit is not None:
        return file._replace(value=memory_limit, why=_AS_SYSTEMD)
    return file


def bits(cpus: str) -> bytes:
    """Return a list of processors in systemd's format: one bit each, the lowest first. Source: RangeToBits."""
    mask = sum(1 << cpu for cpu in parse_cpus(cpus))
    return mask.to_bytes(max(1, -(-mask.bit_length() // 8)), "little")


def slice_properties(parent: str) -> list[Property]:
    """Return the properties of a new slice: accounting of all resources, and a dependency on its parent.

    Args:
        parent: the name of the slice above; "" = the root slice.

    Source: opencontainers/cgroups systemd UnifiedManager.Apply, LegacyManager.Apply.
    """
    counted = ("MemoryAccounting", "CPUAccounting", "IOAccounting", "TasksAccounting")
    return [
        Property("Wants", "as", [parent or "-.slice"]),
        *(Property(name, "b", True) for name in counted),
        Property("DefaultDependencies", "b", False),
    ]


def is_slice(path: str) -> bool:
    """Return whether a path is that of a slice, in which the name of each level contains all levels above it."""
    name = path.rpartition("/")[2]
    try:
        return expand_slice(name) == path
    except CgroupNameError:
        return False


def cgroups_path(path: str) -> str:
    """Return a scope's path in the runtime's format with the systemd driver: `slice:prefix:name`.

    For `/kubepods.slice/kubepods-pod1.slice/cri-containerd-1f.scope`: `kubepods-pod1.slice:cri-containerd:1f`.

    Source: containerd getCgroupsPath; runc libcontainer/specconv CreateCgroupConfig.
    """
    parent, _, leaf = path.rpartition("/")
    prefix, _, identity = leaf.removesuffix(".scope").rpartition("-")
    return f"{parent.rpartition('/')[2]}:{prefix}:{identity}"


def _number(text: str) -> int:
    number = INFINITY if text == "max" else int(text)
    return INFINITY if number < 0 else number
