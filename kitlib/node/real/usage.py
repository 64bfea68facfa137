"""What a cgroup of a real node uses: memory and CPU time."""

from __future__ import annotations

from functools import partial

from kitlib.api.errors import KitError
from kitlib.kubelet.util import cgroup_usage
from kitlib.kubelet.util.cgroup_usage import MemoryUse
from kitlib.node.real.cgroupfs import RealCgroupFS


def memory_of(cgroups: RealCgroupFS, path: str) -> MemoryUse:
    """Bytes that a cgroup uses; 0 for one that has gone."""
    try:
        return cgroup_usage.memory_use(partial(cgroups.read, path), cgroups.version)
    except (KitError, ValueError):
        return MemoryUse(0, 0, 0)


def cpu_seconds(cgroups: RealCgroupFS, path: str) -> float:
    """Seconds of CPU time that a cgroup has used."""
    return cgroup_usage.cpu_seconds(partial(cgroups.read, path), cgroups.version)
