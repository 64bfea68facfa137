"""What a cgroup has used, read from its files on cgroup v1 and v2: CPU time, and memory as cAdvisor counts it.

Source: cadvisor container/libcontainer handler.go (setCPUStats, setMemoryStats): the working set is the usage without
the inactive page cache of the whole subtree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kitlib.kubelet.util.memory_files import MEMORY_USAGE

Read = Callable[[str], str]
"""A file of one cgroup -> what it says."""


class MemoryUse(NamedTuple):
    """Bytes that a cgroup and those below it use.

    Attributes:
        working_set: without inactive page cache, not below 0.
        anonymous: of the processes themselves.
        usage: everything that is charged.
    """

    working_set: int
    anonymous: int
    usage: int


def memory_use(read: Read, version: int) -> MemoryUse:
    """What a cgroup's memory files say."""
    usage = int(read(MEMORY_USAGE[version]))
    stat = dict(line.split() for line in read("memory.stat").splitlines())
    inactive, anonymous = ("total_inactive_file", "total_rss") if version == 1 else ("inactive_file", "anon")
    return MemoryUse(max(0, usage - int(stat.get(inactive, 0))), int(stat.get(anonymous, 0)), usage)


def cpu_seconds(read: Read, version: int) -> float:
    """Seconds of CPU time that a cgroup has used."""
    if version == 1:
        return int(read("cpuacct.usage")) / 1e9
    stat = dict(line.split() for line in read("cpu.stat").splitlines())
    return int(stat["usage_usec"]) / 1e6
