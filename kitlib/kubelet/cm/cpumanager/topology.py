"""The grouping of a machine's processors: threads in cores, cores in caches, NUMA nodes and sockets.

Source: kubelet cpumanager topology.CPUTopology, CPUDetails.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Literal

from kitlib.kubelet.config.machine import CPU

Level = Literal["core", "uncore_cache", "numa", "socket"]
"""A kind of group; the names are the fields of `CPU`."""


class CPUTopology:
    """The processors of a machine and their groups; immutable.

    Args:
        cpus: every processor once.
    """

    def __init__(self, cpus: Iterable[CPU]) -> None:
        self.cpus = {cpu.id: cpu for cpu in cpus}
        self.ids = frozenset(self.cpus)

    @cached_property
    def _members(self) -> dict[Level, dict[int, frozenset[int]]]:
        levels: tuple[Level, ...] = ("core", "uncore_cache", "numa", "socket")
        return {level: {g: frozenset(ids) for g, ids in self.split(level, self.ids).items()} for level in levels}

    def groups(self, level: Level) -> dict[int, frozenset[int]]:
        """Return group -> all of its processors."""
        return self._members[level]

    def split(self, level: Level, cpus: Iterable[int]) -> dict[int, list[int]]:
        """Return group -> its part of these processors, without empty groups."""
        found: dict[int, list[int]] = {}
        for cpu in cpus:
            found.setdefault(getattr(self.cpus[cpu], level), []).append(cpu)
        return found

    def size(self, level: Level) -> int:
        """Return the average number of processors in a group of the level, rounded down.

        Upstream assumes that all groups have the same size. Source: CPUTopology.CPUsPerCore etc.
        """
        return len(self.cpus) // len(self.groups(level))

    def of(self, level: Level, groups: Iterable[int]) -> frozenset[int]:
        """Return all processors of these groups; an unknown group has none."""
        known = self.groups(level)
        return frozenset().union(*(known.get(group, frozenset()) for group in groups))

    def above(self, cpus: Iterable[int], level: Level) -> frozenset[int]:
        """Return the groups of these processors."""
        return frozenset(getattr(self.cpus[cpu], level) for cpu in cpus)
