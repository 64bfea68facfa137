"""Packed assignment of free processors to a request: from as few groups as possible, the fullest groups first.

Whole sockets and NUMA nodes come first, then (with `prefer-align-cpus-by-uncorecache`) whole or partial caches, then
whole cores, then single threads. Among groups of a kind the one with the fewest free processors comes first.

Source: kubelet cpumanager cpuAccumulator, takeByTopologyNUMAPacked.
"""

from __future__ import annotations

from collections.abc import Iterable

from kitlib.kubelet.cm.cpumanager.state import CPUManagerError
from kitlib.kubelet.cm.cpumanager.topology import CPUTopology, Level


class Accumulator:
    """Collects processors one group at a time.

    Args:
        topology: the machine's topology.
        available: the processors that can be assigned.
        needed: the number of requested processors.

    Attributes:
        free: the processors that can still be assigned.
        taken: the collected processors.
        needed: the number of processors that are still missing.
    """

    def __init__(self, topology: CPUTopology, available: Iterable[int], needed: int) -> None:
        self.topology, self.free, self.needed = topology, set(available), needed
        self.taken: set[int] = set()
        # A NUMA node may contain several sockets, or a socket several NUMA nodes (sub-NUMA clustering): the larger
        # groups come first. Upstream: numaFirst and socketsFirst.
        nodes_hold_sockets = len(topology.groups("socket")) >= len(topology.groups("numa"))
        self.outer: Level = "numa" if nodes_hold_sockets else "socket"
        self.inner: Level = "socket" if nodes_hold_sockets else "numa"

    @property
    def done(self) -> bool:
        return self.needed < 1

    def take(self, cpus: Iterable[int]) -> None:
        chosen = set(cpus)
        self.taken |= chosen
        self.free -= chosen
        self.needed -= len(chosen)

    def ordered(self, level: Level) -> list[int]:
        """Return the groups that have free processors, in the order of use.

        Within each group of the level above, the groups are sorted by their number of free processors, then by id.
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
        """Take groups that are entirely free, as long as the request fills one. Source: takeFullNUMANodes etc."""
        free, groups = self.topology.split(level, self.free), self.topology.groups(level)
        # sockets and cores are compared with the machine's average, the others with their own size
        average = self.topology.size(level) if level in ("socket", "core") else 0
        whole = [g for g in self.ordered(level) if len(free[g]) == (average or len(groups[g]))]
        for group in whole:
            if self.needed >= len(groups[group]):
                self.take(groups[group])

    def take_caches(self) -> None:
        """Take whole caches while the request fills one, then the rest from one cache if possible.

        Source: takeUncoreCache.
        """
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
        """Take all of the rest from one cache, or nothing. Source: takePartialUncore, CoresNeededInUncoreCache."""
        threads = self.topology.size("core")
        here = self.topology.split("uncore_cache", self.free).get(cache, [])
        cores = sorted(self.topology.above(here, "core"))[: -(-self.needed // threads)]
        by_core = self.topology.split("core", self.free)
        cpus = sorted(cpu for core in cores for cpu in by_core[core])
        # An odd request does not need both threads of its last core; upstream drops the CPU with the highest number.
        if self.needed % 2 and threads > 1 and len(cpus) > self.needed:
            cpus.pop()
        if len(cpus) == self.needed:
            self.take(cpus)

    def take_single(self, spread: bool) -> None:
        """Take single processors: core by core, or (`spread`) in the order of their numbers socket by socket.

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
    """Return processors for a request, packed.

    Args:
        topology: the machine's topology.
        available: the processors that can be assigned.
        needed: the number of processors, 0 or more.
        spread: `distribute-cpus-across-cores`: do not take whole cores.
        by_cache: `prefer-align-cpus-by-uncorecache`.

    Raises:
        CPUManagerError: fewer processors are available than needed.
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
