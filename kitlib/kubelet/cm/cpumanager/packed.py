"""Which free processors a request gets: as few groups as possible, and those that are fullest already.

Whole sockets and NUMA nodes come first, then (with `prefer-align-cpus-by-uncorecache`) whole or single caches, then
whole cores, then single threads. Among groups of a kind the one with the fewest free processors is used up first.

Source: kubelet cpumanager cpuAccumulator, takeByTopologyNUMAPacked.
"""

from __future__ import annotations

from collections.abc import Iterable

from kitlib.kubelet.cm.cpumanager.state import CPUManagerError
from kitlib.kubelet.cm.cpumanager.topology import CPUTopology, Level


class Accumulator:
    """Collects processors one group at a time.

    Args:
        topology: of the machine.
        available: what may be taken.
        needed: how many are wanted.

    Attributes:
        free: what is left.
        taken: what was collected.
        needed: how many are still wanted.
    """

    def __init__(self, topology: CPUTopology, available: Iterable[int], needed: int) -> None:
        self.topology, self.free, self.needed = topology, set(available), needed
        self.taken: set[int] = set()
        nodes_hold_sockets = len(topology.groups("socket")) >= len(topology.groups("numa"))
        self.outer: Level = "numa" if nodes_hold_sockets else "socket"
        self.inner: Level = "socket" if nodes_hold_sockets else "numa"

    @property
    def done(self) -> bool:
        return self.needed < 1

    def take(self, cpus: Iterable[int]) -> None:
        """Collect these."""
        chosen = set(cpus)
        self.taken |= chosen
        self.free -= chosen
        self.needed -= len(chosen)

    def ordered(self, level: Level) -> list[int]:
        """The groups that have free processors, in the order of use.

        Within each group of the level above the one with the fewest free processors comes first, then the lower id.
        Source: sortAvailableNUMANodes, sortAvailableSockets, sortAvailableCores, sortAvailableUncoreCaches.
        """
        if level == self.outer:
            return self._by_free(level, self.free)
        above: Level = self.outer if level == self.inner else "numa" if level == "uncore_cache" else self.inner
        inside = self.topology.split(above, self.free)
        return [group for parent in self.ordered(above) for group in self._by_free(level, inside[parent])]

    def _by_free(self, level: Level, within: Iterable[int]) -> list[int]:
        free = self.topology.split(level, self.free)
        return sorted(self.topology.split(level, within), key=lambda group: (len(free[group]), group))

    def take_whole(self, level: Level) -> None:
        """Take groups that are entirely free, as long as what is needed fills one. Source: takeFullNUMANodes etc."""
        free, groups = self.topology.split(level, self.free), self.topology.groups(level)
        # sockets and cores are compared with the machine's average, the others with their own size
        average = self.topology.size(level) if level in ("socket", "core") else 0
        whole = [g for g in self.ordered(level) if len(free[g]) == (average or len(groups[g]))]
        for group in whole:
            if self.needed >= len(groups[group]):
                self.take(groups[group])

    def take_caches(self) -> None:
        """Whole caches where one is filled, else one cache that can hold all the rest. Source: takeUncoreCache."""
        size = self.topology.size("uncore_cache")
        for cache in self.ordered("uncore_cache"):
            if self.needed >= size:
                self.take_whole("uncore_cache")
            if self.done:
                return
            self._take_within(cache)
            if self.done:
                return

    def _take_within(self, cache: int) -> None:
        """All the rest from one cache, or nothing.

        Of an odd number the last core gives one thread. Source: takePartialUncore, CoresNeededInUncoreCache.
        """
        threads = self.topology.size("core")
        here = self.topology.split("uncore_cache", self.free).get(cache, [])
        cores = sorted(self.topology.above(here, "core"))[: -(-self.needed // threads)]
        by_core = self.topology.split("core", self.free)
        cpus = sorted(cpu for core in cores for cpu in by_core[core])
        if self.needed % 2 and threads > 1 and len(cpus) > self.needed:
            cpus.pop()
        if len(cpus) == self.needed:
            self.take(cpus)

    def take_single(self, spread: bool) -> None:
        """One processor after the other: core by core, or (`spread`) socket by socket in the order of their numbers.

        Source: takeRemainingCPUs, sortAvailableCPUsPacked, sortAvailableCPUsSpread.
        """
        level: Level = "socket" if spread else "core"
        by_group = self.topology.split(level, self.free)
        for cpu in [cpu for group in self.ordered(level) for cpu in sorted(by_group[group])]:
            if self.done:
                return
            self.take([cpu])


def take_by_topology_numa_packed(
    topology: CPUTopology, available: Iterable[int], needed: int, *, spread: bool = False, by_cache: bool = False
) -> frozenset[int]:
    """Processors for a request, packed.

    Args:
        topology: of the machine.
        available: what may be taken.
        needed: how many.
        spread: `distribute-cpus-across-cores`: no whole cores.
        by_cache: `prefer-align-cpus-by-uncorecache`.

    Raises:
        CPUManagerError: there are too few.
    """
    found = Accumulator(topology, available, needed)
    if found.done:
        return frozenset()
    if found.needed > len(found.free):
        raise too_few(needed, len(found.free))
    for level in (found.outer, found.inner):
        found.take_whole(level)
        if found.done:
            return frozenset(found.taken)
    if by_cache:
        found.take_caches()
    if not found.done and not spread:
        found.take_whole("core")
    if not found.done:
        found.take_single(spread)
    if not found.done:
        raise CPUManagerError("failed to allocate cpus")
    return frozenset(found.taken)


def too_few(needed: int, available: int) -> CPUManagerError:
    return CPUManagerError(f"not enough cpus available to satisfy request: requested={needed}, available={available}")
