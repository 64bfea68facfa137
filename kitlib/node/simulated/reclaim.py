"""Reclaim: the choice of page cache to drop and of pages to swap when memory runs short.

Page cache goes first: the inactive list, then the active one, and last the dirty part, which must be written to the
disk first. Then pages that were not used recently are swapped, then pages in use; each in proportion to their amount in
the cgroups. `memory.low` protects a cgroup's part while there is something else to reclaim, `memory.min` always. Swap
is limited by the node's swap and by `memory.swap.max` of all levels; on v1 `memory.memsw.limit_in_bytes` counts memory
and swap together, so that swapping does not help below it.

Sources: mm/vmscan.c (prepare_scan_control: cache_trim_mode, get_scan_count, can_reclaim_anon_pages,
shrink_node_memcgs); mm/memcontrol.c (mem_cgroup_calculate_protection, mem_cgroup_get_nr_swap_pages,
__mem_cgroup_try_charge_swap).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kitlib.node.simulated.cgroupfs import SimulatedCgroupFS
from kitlib.node.simulated.memory import Ledger, upwards
from kitlib.node.simulated.swap import Holder, cold_resident

Amount = Callable[[Holder], int]
"""Returns the bytes of a holder that one round of reclaim may take."""


def _inactive(holder: Holder) -> int:
    return holder.cache - holder.active - holder.dirty


def _active(holder: Holder) -> int:
    return holder.active


def _dirty(holder: Holder) -> int:
    return holder.dirty


def _cold(holder: Holder) -> int:
    return 0 if holder.unswappable else cold_resident(holder)


def _anonymous(holder: Holder) -> int:
    return 0 if holder.unswappable else holder.memory


_CACHE = (_inactive, _active, _dirty)


class Reclaim:
    """The reclaim of one kernel.

    Args:
        ledger: the charged memory.
        cgroups: the cgroup files with the protections.
        holders: returns the holders of memory below a cgroup.
        swapped: function that receives each holder with a swapped page.
    """

    def __init__(
        self,
        ledger: Ledger,
        cgroups: SimulatedCgroupFS,
        holders: Callable[[str], Iterable[Holder]],
        swapped: Callable[[Holder], None],
    ) -> None:
        self._ledger, self._cgroups, self._holders, self._swapped = ledger, cgroups, holders, swapped

    def reclaim(self, path: str, wanted: int, *, swap: bool = True, hot: bool = True, writeback: bool = True) -> int:
        """Reclaim memory of a cgroup and its descendants; memory.low protects until the last round, memory.min always.

        Args:
            path: path of the cgroup.
            wanted: bytes to reclaim.
            swap: whether pages may be swapped.
            hot: whether pages in use may be swapped.
            writeback: whether it may wait until dirty pages are on the disk.

        Returns:
            Reclaimed bytes.
        """
        swap = swap and self._ledger.swap_size > 0
        having = [holder for holder in self._holders(path) if holder.cache or (swap and holder.memory)]
        rounds: list[Amount] = [*(_CACHE if writeback else _CACHE[:-1])]
        rounds += [*((_cold,) if swap else ()), *((_anonymous,) if swap and hot else ())]
        given = 0
        for files in (("memory.min", "memory.low"), ("memory.min",)):
            for amount in rounds:
                if given >= wanted:
                    return given
                took = self._take(path, wanted - given, having, files, amount)
                # The round without memory.low: memory.events counts each cgroup that is reclaimed in spite of its
                # protection.
                if took and len(files) == 1:
                    for where in {
                        holder.charged for holder in having if self._protected(path, holder.charged, "memory.low")
                    }:
                        self._ledger.count(where, "low")
                given += took
        if swap and hot and given < wanted:
            self._note_full(having)
        return given

    def _note_full(self, having: list[Holder]) -> None:
        """Count the failure to swap in cgroups whose swap is used up. Source: __mem_cgroup_try_charge_swap."""
        for charged in {holder.charged for holder in having if holder.memory}:
            if self._ledger.swap(charged) and not self._ledger.free_swap(charged):
                self._ledger.count(charged, "swap_fail")
                if self._ledger.free_swap("/"):
                    self._ledger.count(charged, "swap_max")

    def swappable(self, path: str) -> int:
        """Return the bytes that reclaim at a cgroup could swap now."""
        if not self._ledger.swap_size:
            return 0
        having = [holder for holder in self._holders(path) if holder.memory]
        whole = sum(self._available(path, having, ("memory.min",), _anonymous).values())
        return min(whole, self._ledger.free_swap("/"))

    def inactive(self, path: str) -> list[int]:
        """Return the bytes of unprotected inactive page cache of each cgroup below one."""
        having = [holder for holder in self._holders(path) if holder.cache]
        return list(self._available(path, having, ("memory.min", "memory.low"), _inactive).values())

    def _available(self, path: str, having: list[Holder], files: tuple[str, ...], amount: Amount) -> dict[str, int]:
        """Return the bytes that this round may take of the memory charged to each cgroup, by path."""
        available = {}
        for charged in {holder.charged for holder in having}:
            free = self._ledger.usage(charged) - max(self._protected(path, charged, file) for file in files)
            free = min(free, sum(amount(holder) for holder in having if holder.charged == charged))
            if amount not in _CACHE:
                free = min(free, self._free_swap(path, charged))
            available[charged] = max(free, 0)
        return available

    def _free_swap(self, path: str, charged: str) -> int:
        if self._cgroups.version == 1 and path != "/" and self._cgroups.setting(charged, "memory.swappiness") == "0":
            return 0
        return self._ledger.free_swap(charged)

    def _take(self, path: str, wanted: int, having: list[Holder], files: tuple[str, ...], amount: Amount) -> int:
        available = self._available(path, having, files, amount)
        whole = sum(available.values())
        part = min(wanted, whole)
        if part <= 0:
            return 0
        given = 0
        for charged, free in available.items():
            # Rounded up, so that the shares cover `part`; the last one is cut to the rest.
            share = -(-free * part // whole)
            for holder in having:
                if holder.charged == charged and share > 0 and given < part:
                    taken = self._give_up(path, holder, min(amount(holder), share, part - given), amount)
                    share -= taken
                    given += taken
        return given

    def _give_up(self, path: str, holder: Holder, size: int, amount: Amount) -> int:
        if amount in _CACHE:
            active = holder.active - size if amount is _active else holder.active
            dirty = holder.dirty - size if amount is _dirty else holder.dirty
            self._ledger.hold(holder, holder.memory, holder.cache - size, active=active, dirty=dirty)
            return size
        size = min(size, self._free_swap(path, holder.charged))
        if size > 0:
            self._ledger.hold(holder, holder.memory - size, holder.cache, holder.swapped + size)
            self._ledger.count_swapped(holder.charged, size)
            self._swapped(holder)
        return size

    def _protected(self, top: str, path: str, file: str) -> int:
        """Return the bytes of a cgroup that reclaim at `top` must not take. Source: mem_cgroup_calculate_protection."""
        if self._cgroups.version == 1:
            return 0
        ledger = self._ledger
        way = [upward for upward in upwards(path) if upward != top and (top == "/" or upward.startswith(top + "/"))]
        above: int | None = None
        for one in reversed(way):
            own = min(self._claim(one, file), ledger.usage(one))
            if above is not None:
                siblings = self._cgroups.children(one.rpartition("/")[0] or "/")
                claimed = sum(min(self._claim(other, file), ledger.usage(other)) for other in siblings)
                # Children share a parent's protection in proportion to their protected usage (effective_protection).
                own = own if claimed <= above else own * above // claimed
            above = own
        return above or 0

    def _claim(self, path: str, file: str) -> int:
        found = self._ledger.figure(path, file)
        return 2**63 if found is None and self._cgroups.has(path, file) else found or 0
