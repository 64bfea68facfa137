"""The cgroup files for a `ResourceConfig` and for the resources that the kubelet sends to the runtime.

cgroup v1 and v2 have different files for the same setting, and v2 some of its own. A file that is not written shows
the kernel's default. A comparison of a tree with a node's files needs both.

Sources: kubelet cgroupCommon.toResources, cgroupV1impl and cgroupV2impl; opencontainers/cgroups fs and fs2;
the kernel's Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst for the defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kitlib.kubelet.cm.cgroup_config import UNLIMITED, ResourceConfig
from kitlib.kubelet.cm.cgroup_names import Runtime
from kitlib.kubelet.cm.cgroup_tree import NO_REASON, UNLIMITED_V1, CgroupFile, Reason, Version
from kitlib.kubelet.cm.container_config import LinuxContainerResources
from kitlib.kubelet.cm.conversions import DEFAULT_WEIGHT, QUOTA_PERIOD, SHARES_PER_CPU
from kitlib.kubelet.config.machine import huge_page_unit
from kitlib.kubelet.util.memory_files import MEMORY_LIMIT

Why = Mapping[str, Reason]
"""Subject -> reason; a subject is "cpu", "quota", "memory", "swap", "pids", "hugepages", "cpuset", or a v2 file."""

DEFAULT = Reason("the kernel's default: nobody writes this file")
PERIOD = Reason("--cpu-cfs-quota-period, in microseconds", source="kubelet cm.ResourceConfigForPod")
UNBOUNDED_HUGE_PAGES = 2**62
"""Bytes: the value that the kubelet writes for unlimited huge pages. Source: kubelet setHugePagesUnbounded."""


def kubelet_files(
    config: ResourceConfig, version: Version, *, huge_page_sizes: Sequence[int] = (), why: Why | None = None
) -> list[CgroupFile]:
    """Return the files that the kubelet writes into a cgroup that it manages itself.

    Args:
        config: the configuration; a field that is None is not written.
        version: cgroup version, 1 or 2.
        huge_page_sizes: the machine's page sizes in bytes; a size without a limit in the configuration is limited to 0.
        why: the reasons of the values.

    Source: kubelet cgroupCommon.toResources.
    """
    reasons = why or {}
    made: list[CgroupFile] = []
    if config.cpu_shares is not None:
        made.append(_weight(config.cpu_shares, config.cpu_weight or 1, version, reasons.get("cpu", NO_REASON)))
    made += _bandwidth(config.cpu_quota, config.cpu_period, version, reasons.get("quota", NO_REASON))
    if config.memory is not None:
        name = MEMORY_LIMIT[version]
        made.append(CgroupFile(name, _limit(config.memory, version), reasons.get("memory", NO_REASON)))
    if config.pids_limit is not None:
        pids = "max" if config.pids_limit < 0 else str(config.pids_limit)
        made.append(CgroupFile("pids.max", pids, reasons.get("pids", NO_REASON)))
    for size in huge_page_sizes:
        limit = config.huge_page_limit.get(size, 0)
        made += _huge_pages(huge_page_unit(size), limit, version, reasons.get("hugepages", NO_REASON))
    if config.cpuset:
        made.append(CgroupFile("cpuset.cpus", config.cpuset, reasons.get("cpuset", NO_REASON)))
    if version == 2:
        made += [CgroupFile(name, value, reasons.get(name, NO_REASON)) for name, value in config.unified.items()]
    return made


def runtime_files(
    resources: LinuxContainerResources,
    version: Version,
    runtime: Runtime,
    *,
    why: Why | None = None,
) -> list[CgroupFile]:
    """Return the files that the container runtime writes into a container's cgroup.

    Args:
        resources: the CRI message from the kubelet.
        version: cgroup version, 1 or 2.
        runtime: the runtime, with its formula of cpu.weight and its handling of huge pages.
        why: the reasons of the values.

    Source: opencontainers/cgroups fs.CpuGroup, fs.MemoryGroup, fs2.setCpu, fs2.setMemory; crun cgroup-resources
    write_cpu_resources.
    """
    reasons = why or {}
    weight = resources.cpu_weight(runtime.low_level.weight_formula)
    made = [_weight(resources.cpu_shares, weight, version, reasons.get("cpu", NO_REASON))]
    # The runtimes write the period even without a quota, so an unlimited container shows the kubelet's period.
    if resources.cpu_quota or resources.cpu_period:
        quota = resources.cpu_quota or None
        made += _bandwidth(quota, resources.cpu_period, version, reasons.get("quota", NO_REASON))
    if resources.memory_limit:
        name = MEMORY_LIMIT[version]
        made.append(CgroupFile(name, str(resources.memory_limit), reasons.get("memory", NO_REASON)))
    if version == 1 and resources.memory_swap_limit:
        swap = str(resources.memory_swap_limit)
        made.append(CgroupFile("memory.memsw.limit_in_bytes", swap, reasons.get("swap", NO_REASON)))
    for unit, limit in resources.huge_page_limits.items() if runtime.limits_huge_pages else ():
        made += _huge_pages(unit, limit, version, reasons.get("hugepages", NO_REASON))
    if resources.cpuset_cpus:
        made.append(CgroupFile("cpuset.cpus", resources.cpuset_cpus, reasons.get("cpuset", NO_REASON)))
    if resources.cpuset_mems:
        made.append(CgroupFile("cpuset.mems", resources.cpuset_mems, reasons.get("cpuset", NO_REASON)))
    if version == 2:
        made += [CgroupFile(name, value, reasons.get(name, NO_REASON)) for name, value in resources.unified.items()]
    return made


def with_defaults(files: Sequence[CgroupFile], version: Version, *, root: bool = False) -> dict[str, CgroupFile]:
    """Return the files by name, with the kernel's defaults of the main files that are not written.

    Args:
        files: the files that are written.
        version: cgroup version, 1 or 2.
        root: whether it is the root cgroup, which has no limits on v2, and on v1 no quota that can be set.
    """
    found = {file.name: file for file in files}
    if version == 1:
        defaults = {
            "cpu.shares": str(SHARES_PER_CPU),
            "cpu.cfs_quota_us": "-1",
            "cpu.cfs_period_us": str(QUOTA_PERIOD),
            "memory.limit_in_bytes": str(UNLIMITED_V1),
        }
    elif root:
        defaults = {}
    else:
        defaults = {
            "cpu.weight": str(DEFAULT_WEIGHT),
            "cpu.max": f"max {QUOTA_PERIOD}",
            "memory.max": "max",
        }
    ordered = {
        name: found.pop(name, CgroupFile(name, value, DEFAULT, written=False)) for name, value in defaults.items()
    }
    return ordered | found


def memory_order(files: Sequence[CgroupFile], read: Callable[[str], str]) -> list[CgroupFile]:
    """Return the files in an order that the kernel accepts.

    Args:
        files: the files of one cgroup.
        read: reads a file of this cgroup by its name.

    Source: kernel admin-guide/cgroup-v1/memory.rst; runc's memory controller (setMemoryAndSwap).
    """
    both = next((file for file in files if file.name == "memory.memsw.limit_in_bytes"), None)
    if both is None:
        return list(files)
    # On v1 the kernel rejects a memory limit above the limit of memory and swap together (EINVAL), at every moment: so
    # the latter is written first if it rises, and last if it falls.
    rises = both.value == "-1" or int(both.value) > int(read(both.name))
    if not rises:
        return list(files)
    return sorted(files, key=lambda file: file is not both)


def _weight(shares: int, weight: int, version: Version, why: Reason) -> CgroupFile:
    return CgroupFile("cpu.shares", str(shares), why) if version == 1 else CgroupFile("cpu.weight", str(weight), why)


def _bandwidth(quota: int | None, period: int | None, version: Version, why: Reason) -> list[CgroupFile]:
    if quota is None and period is None:
        return []
    shown_period = QUOTA_PERIOD if period is None else period
    if version == 2:
        limit = "max" if quota is None or quota == UNLIMITED else str(quota)
        return [CgroupFile("cpu.max", f"{limit} {shown_period}", why)]
    made = [CgroupFile("cpu.cfs_period_us", str(shown_period), PERIOD)]
    return made if quota is None else [*made, CgroupFile("cpu.cfs_quota_us", str(quota), why)]


def _limit(memory: int, version: Version) -> str:
    return str(memory) if memory >= 0 else ("max" if version == 2 else "-1")


def _huge_pages(unit: str, limit: int, version: Version, why: Reason) -> list[CgroupFile]:
    """Return the limit of used huge pages and the equal limit of reserved ones.

    Source: opencontainers/cgroups fs.HugetlbGroup, fs2.setHugeTlb.
    """
    ending = "limit_in_bytes" if version == 1 else "max"
    return [CgroupFile(f"hugetlb.{unit}.{part}{ending}", str(limit), why) for part in ("", "rsvd.")]
