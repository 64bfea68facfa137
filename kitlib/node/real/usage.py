"""What a cgroup of a real node uses: memory and CPU time."""

from __future__ import annotations

from kitlib.api.errors import KitError
from kitlib.kubelet.util.memory_files import MEMORY_USAGE
from kitlib.node.real.cgroupfs import RealCgroupFS


def memory_of(cgroups: RealCgroupFS, path: str) -> tuple[int, int, int]:
    """Bytes that a cgroup uses: the working set, anonymous memory, everything.

    Source: cadvisor setMemoryStats: the working set is the usage without the inactive file cache.
    """
    v1 = cgroups.version == 1
    try:
        usage = int(cgroups.read(path, MEMORY_USAGE[cgroups.version]))
        stat = dict(line.split() for line in cgroups.read(path, "memory.stat").splitlines())
    except (KitError, ValueError):
        return 0, 0, 0
    inactive = int(stat.get("total_inactive_file" if v1 else "inactive_file", 0))
    anonymous = int(stat.get("total_rss" if v1 else "anon", 0))
    return max(0, usage - inactive), anonymous, usage


def cpu_seconds(cgroups: RealCgroupFS, path: str) -> float:
    """Seconds of CPU time that a cgroup has used."""
    if cgroups.version == 1:
        return int(cgroups.read(path, "cpuacct.usage")) / 1e9
    stat = dict(line.split() for line in cgroups.read(path, "cpu.stat").splitlines())
    return int(stat["usage_usec"]) / 1e6
