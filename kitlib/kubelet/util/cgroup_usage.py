"""The usage of a cgroup, read from its files on cgroup v1 and v2: CPU time, and memory as in cAdvisor.

Source: cadvisor container/libcontainer handler.go (setCPUStats, setMemoryStats): the working set is the usage without
the inactive page cache of the whole subtree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kitlib.kubelet.util.memory_files import MEMORY_USAGE

Read = Callable[[str], str]
"""Reads a file of one cgroup by its name."""


class MemoryUse(NamedTuple):
    """The memory usage of a cgroup and those below it in bytes.

    Attributes:
        working_set: the usage without the inactive page cache, 0 or more.
        anonymous: the anonymous memory of the processes.
        usage: all charged memory.
    """

    working_set: int
    anonymous: int
    usage: int


def memory_use(read: Read, version: int) -> MemoryUse:
    usage = int(read(MEMORY_USAGE[version]))
    stat = dict(line.split() for line in read("memory.stat").splitlines())
    # On v1 the values without "total_" exclude the cgroups below; on v2 all values include them.
    inactive, anonymous = ("total_inactive_file", "total_rss") if version == 1 else ("inactive_file", "anon")
    return MemoryUse(max(0, usage - int(stat.get(inactive, 0))), int(stat.get(anonymous, 0)), usage)


def cpu_seconds(read: Read, version: int) -> float:
    """Return the CPU time that a cgroup has used in seconds."""
    if version == 1:
        return int(read("cpuacct.usage")) / 1e9
    stat = dict(line.split() for line in read("cpu.stat").splitlines())
    return int(stat["usage_usec"]) / 1e6
