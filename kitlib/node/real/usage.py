"""The memory and CPU usage of a cgroup of a real node."""

from __future__ import annotations

from functools import partial

from kitlib.api.errors import KitError
from kitlib.kubelet.util import cgroup_usage
from kitlib.kubelet.util.cgroup_usage import MemoryUse
from kitlib.node.real.cgroupfs import RealCgroupFS


def memory_of(cgroups: RealCgroupFS, path: str) -> MemoryUse:
    """Return a cgroup's memory usage in bytes; 0 for a removed one."""
    try:
        return cgroup_usage.memory_use(partial(cgroups.read, path), cgroups.version)
    except (KitError, ValueError):
        return MemoryUse(0, 0, 0)


def cpu_seconds(cgroups: RealCgroupFS, path: str) -> float:
    """Return the CPU time that a cgroup has used, in seconds."""
    return cgroup_usage.cpu_seconds(partial(cgroups.read, path), cgroups.version)
