"""How a machine's processors are grouped: threads in cores, cores in caches, NUMA nodes and sockets.

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
    """The processors of a machine and their groups. Nothing here changes.

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
        """Group -> all its processors."""
        return self._members[level]

    def split(self, level: Level, cpus: Iterable[int]) -> dict[int, list[int]]:
        """Group -> those of these processors that are in it."""
        found: dict[int, list[int]] = {}
        for cpu in cpus:
            found.setdefault(getattr(self.cpus[cpu], level), []).append(cpu)
        return found

    def size(self, level: Level) -> int:
        """Processors a group has, taken as equal for all groups of the level. Source: CPUTopology.CPUsPerCore etc."""
        return len(self.cpus) // len(self.groups(level))

    def of(self, level: Level, groups: Iterable[int]) -> frozenset[int]:
        """All processors of these groups; groups that there are not have none."""
        known = self.groups(level)
        return frozenset().union(*(known.get(group, frozenset()) for group in groups))

    def above(self, cpus: Iterable[int], level: Level) -> frozenset[int]:
        """The groups that these processors are in."""
        return frozenset(getattr(self.cpus[cpu], level) for cpu in cpus)
