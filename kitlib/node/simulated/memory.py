"""Memory and swap of cgroups: the charged bytes at every level, and the limits that a charge exceeds.

Above `memory.high` no process is killed, but a process that allocates more is throttled: for every 64 pages it sleeps
64 · o² seconds, at most 2, where o is the excess as a share of `memory.high`. This gives its rate of growth (`growth`).
On v2 swap is counted separately (`memory.swap.max`), on v1 together with memory (`memory.memsw.limit_in_bytes`).

Sources: mm/memcontrol.c (try_charge_memcg, calculate_overage, calculate_high_delay, MEMCG_CHARGE_BATCH,
MEMCG_DELAY_SCALING_SHIFT, mem_cgroup_get_nr_swap_pages).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from kitlib.kubelet.cm.cgroup_tree import UNLIMITED_V1
from kitlib.kubelet.util.memory_files import MEMORY_LIMIT
from kitlib.node.simulated.cgroupfs import SimulatedCgroupFS
from kitlib.node.simulated.swap import Holder

PAGE = 4096
SWAP_CLUSTER_MAX = 32
"""Minimum pages of one reclaim."""
BATCH = 64 * PAGE
"""Bytes of one charge. Source: MEMCG_CHARGE_BATCH."""
LONGEST_SLEEP = 2.0
"""Maximum sleep of a throttled process in seconds. Source: MEMCG_MAX_HIGH_DELAY_JIFFIES."""
_SLEEP = 64.0
"""Seconds of sleep for a batch if the usage is twice memory.high: (1 << 20)² >> 20 >> 14."""
_LINEAR = (LONGEST_SLEEP / _SLEEP) ** 0.5


SWAP_MAX = "memory.swap.max"


class Excess(NamedTuple):
    """A cgroup whose limit is exceeded.

    Attributes:
        path: path of the cgroup.
        size: bytes above its limit.
        swap: whether swapping helps: false for the common limit of memory and swap.
    """

    path: str
    size: int
    swap: bool = True


@dataclass
class Counters:
    """The memory and process counters of a cgroup, including its descendants."""

    low: int = 0
    high: int = 0
    max: int = 0
    oom: int = 0
    oom_kill: int = 0
    oom_group_kill: int = 0
    failures: int = 0
    peak: int = 0
    swap_max: int = 0
    swap_fail: int = 0
    swap_peak: int = 0
    swap_failures: int = 0
    swapped_out: int = 0
    swapped_in: int = 0
    forks_refused: int = 0
    most_processes: int = 0
    local: dict[str, int] = field(default_factory=dict)


@lru_cache(maxsize=8192)
def upwards(path: str) -> tuple[str, ...]:
    """Return the paths of a cgroup and its ancestors, up to the root."""
    found = []
    while path != "/":
        found.append(path)
        path = path.rpartition("/")[0] or "/"
    return (*found, "/")


class Ledger:
    """The memory charged to each cgroup.

    Args:
        cgroups: the cgroup files with the limits.
        machine_memory: memory of the machine in bytes.
        swap_size: swap of the machine in bytes.

    Attributes:
        counters: counters by path.
    """

    def __init__(self, cgroups: SimulatedCgroupFS, machine_memory: int, swap_size: int = 0) -> None:
        self._cgroups, self._machine_memory, self.swap_size = cgroups, machine_memory, swap_size
        self._anonymous: dict[str, int] = defaultdict(int)
        self._swapped: dict[str, int] = defaultdict(int)
        self._cache: dict[str, int] = defaultdict(int)
        self._active: dict[str, int] = defaultdict(int)
        self._dirty: dict[str, int] = defaultdict(int)
        self.counters: dict[str, Counters] = defaultdict(Counters)

    def anonymous(self, path: str) -> int:
        """Return the bytes without a file in a cgroup and its descendants: only swap can reclaim them."""
        return self._anonymous.get(path, 0)

    def cache(self, path: str) -> int:
        """Return the bytes of page cache of a cgroup and its descendants."""
        return self._cache.get(path, 0)

    def active(self, path: str) -> int:
        """Return the bytes of active page cache of a cgroup and its descendants; cAdvisor's working set includes it."""
        return self._active.get(path, 0)

    def dirty(self, path: str) -> int:
        """Return the bytes of page cache that are not yet on the disk, of a cgroup and its descendants."""
        return self._dirty.get(path, 0)

    def working_set(self, path: str) -> int:
        """Return the bytes without inactive page cache. Source: cAdvisor setMemoryStats."""
        return self.anonymous(path) + self.active(path)

    def usage(self, path: str) -> int:
        """Return the bytes charged to a cgroup and its descendants."""
        return self._anonymous.get(path, 0) + self._cache.get(path, 0)

    def swap(self, path: str) -> int:
        """Return the bytes in swap of a cgroup and its descendants."""
        return self._swapped.get(path, 0)

    def memory_and_swap(self, path: str) -> int:
        """Return the sum of the bytes in memory and in swap."""
        return self.usage(path) + self.swap(path)

    def hold(
        self,
        holder: Holder,
        memory: int,
        cache: int,
        swapped: int | None = None,
        *,
        active: int | None = None,
        dirty: int | None = None,
    ) -> None:
        """Set a holder's bytes regardless of limits; active and dirty page cache are kept as far as they fit."""
        dirty = min(holder.dirty if dirty is None else dirty, cache)
        # Dirty pages are on the inactive list, so the active part is what they leave at most.
        active = min(holder.active if active is None else active, cache - dirty)
        if active != holder.active or dirty != holder.dirty:
            for path in upwards(holder.charged):
                self._active[path] += active - holder.active
                self._dirty[path] += dirty - holder.dirty
            holder.active, holder.dirty = active, dirty
        more, more_cache = memory - holder.memory, cache - holder.cache
        more_swapped = 0 if swapped is None else swapped - holder.swapped
        holder.memory, holder.cache = memory, cache
        for path in upwards(holder.charged):
            self._anonymous[path] += more
            self._cache[path] += more_cache
        if more_swapped:
            holder.swapped += more_swapped
            for path in upwards(holder.charged):
                self._swapped[path] += more_swapped

    def forget(self, path: str) -> None:
        """Remove a deleted cgroup; memory that is still charged to it remains charged to its ancestors."""
        for table in (self._anonymous, self._cache, self._active, self._dirty, self._swapped, self.counters):
            table.pop(path, None)

    def note_peak(self, path: str) -> None:
        """Update the peak usage of a cgroup and its ancestors."""
        for above in upwards(path):
            counted = self.counters[above]
            counted.peak = max(counted.peak, self.usage(above))
            counted.swap_peak = max(counted.swap_peak, self._swap_counted(above))

    def _swap_counted(self, path: str) -> int:
        return self.memory_and_swap(path) if self._cgroups.version == 1 else self.swap(path)

    def count(self, path: str, event: str, times: int = 1) -> None:
        """Count an event in a cgroup and, on v2, in its ancestors. Source: memcg_memory_event."""
        local = self.counters[path].local
        local[event] = local.get(event, 0) + times
        for above in upwards(path) if self._cgroups.version == 2 else (path,):
            counted = self.counters[above]
            setattr(counted, event, getattr(counted, event) + times)

    def count_reclaims(self, path: str, size: int, *, both: bool = False) -> None:
        """Count the reclaims of a charge beyond a full cgroup's limit, 4 KiB page by page.

        One reclaim frees 32 pages and counts once as `max`, in the cgroup and its ancestors. In v1's failcnt, of the
        full cgroup only, each page counts, because the batch of 64 pages is tried first and fails, and each reclaim
        counts once more.

        Args:
            path: path of the full cgroup.
            size: bytes beyond the limit.
            both: whether the common limit of memory and swap is exceeded.

        Source: mm/memcontrol.c try_charge_memcg; mm/page_counter.c page_counter_try_charge; SWAP_CLUSTER_MAX.
        """
        pages = -(-size // PAGE)
        reclaims = -(-pages // SWAP_CLUSTER_MAX)
        counted = self.counters[path]
        if both:
            counted.swap_failures += pages + reclaims
            return
        counted.failures += pages + reclaims
        self.count(path, "max", reclaims)

    def count_swapped(self, path: str, size: int, *, back: bool = False) -> None:
        """Count bytes that were swapped out, or with `back` swapped in."""
        for above in upwards(path):
            counted = self.counters[above]
            if back:
                counted.swapped_in += size
            else:
                counted.swapped_out += size
                counted.swap_peak = max(counted.swap_peak, self._swap_counted(above))

    # Limits.

    def limit(self, path: str) -> int | None:
        """Return the memory limit of a cgroup in bytes, of the root the machine's memory; None = no limit."""
        if path == "/":
            return self._machine_memory
        return self.figure(path, MEMORY_LIMIT[self._cgroups.version])

    def high(self, path: str) -> int | None:
        """Return the bytes above which an allocating process is throttled; None = no limit."""
        return None if path == "/" or self._cgroups.version == 1 else self.figure(path, "memory.high")

    def exceeded(self, path: str) -> Excess | None:
        """Return the cgroup, from this one upwards, whose limit was reached first; memory with swap is checked first.

        Pages are charged one by one, to all levels: the level with the least room, which is furthest above its limit
        now, was full first, and of equal ones the lowest. A pod with the limit of its only container is full before
        the container is, because its pause container has memory too.

        Source: mm/memcontrol.c try_charge_memcg; page_counter_try_charge.
        """
        found: Excess | None = None
        for above in upwards(path):
            both = self._memory_and_swap_limit(above)
            if both is not None and self.memory_and_swap(above) - both > (found.size if found is not None else 0):
                found = Excess(above, self.memory_and_swap(above) - both, swap=False)
            limit = self.limit(above)
            if limit is not None and self.usage(above) - limit > (found.size if found is not None else 0):
                found = Excess(above, self.usage(above) - limit)
        return found

    def _memory_and_swap_limit(self, path: str) -> int | None:
        if self._cgroups.version == 2 or path == "/" or not self.swap_size:
            return None
        return self.figure(path, "memory.memsw.limit_in_bytes")

    def free_swap(self, path: str) -> int:
        """Return the bytes of swap that a cgroup can still use: the node's free swap, on v2 within all limits."""
        free = self.swap_size - self.swap("/")
        if self._cgroups.version == 2:
            for above in upwards(path)[:-1]:
                limit = self.figure(above, SWAP_MAX)
                if limit is not None:
                    free = min(free, limit - self.swap(above))
        return max(free, 0)

    def room(self, path: str) -> int | None:
        """Return the bytes up to the first limit of a cgroup and its ancestors; None = no limit."""
        rooms = [limit - self.usage(p) for p in upwards(path) if (limit := self.limit(p)) is not None]
        return max(min(rooms), 0) if rooms else None

    def highest_excess(self, path: str) -> tuple[int, str]:
        """Return the largest excess over memory.high in bytes, without page cache, and its cgroup."""
        worst = (0, "")
        if self._cgroups.version == 2:
            for above in upwards(path):
                high = self.high(above)
                if high is not None:
                    worst = max(worst, (self.anonymous(above) - high, above))
        return worst

    def figure(self, path: str, file: str) -> int | None:
        """Return the value of a limit in bytes; None = no limit."""
        if not self._cgroups.has(path, file):
            return None
        text = self._cgroups.setting(path, file)
        return None if text == "max" or int(text) >= UNLIMITED_V1 else int(text)


def growth(excess: int, high: int, seconds: float) -> int:
    """Return the bytes by which a process grows above memory.high, sleeping after every 64 pages.

    The excess as a share o of memory.high follows do/dt = 64 pages / (64 · o² · high), so o³ grows linearly. Once a
    sleep would exceed 2 seconds, the rate is 64 pages in 2 seconds.

    Args:
        excess: current excess in bytes.
        high: memory.high in bytes.
        seconds: duration of the growth.
    """
    if high <= 0:
        return int(BATCH / LONGEST_SLEEP * seconds)
    over = max(excess / high, 0.0)
    if over < _LINEAR:
        slope = 3 * BATCH / (_SLEEP * high)
        until = (_LINEAR**3 - over**3) / slope
        if seconds <= until:
            return int(((over**3 + slope * seconds) ** (1 / 3) - over) * high)
        first = (_LINEAR - over) * high
        return int(first + BATCH / LONGEST_SLEEP * (seconds - until))
    return int(BATCH / LONGEST_SLEEP * seconds)


def pids_below(cgroups: SimulatedCgroupFS, path: str) -> Iterator[int]:
    """Yield the process ids of a cgroup and its descendants."""
    stack = [path]
    while stack:
        one = stack.pop()
        yield from sorted(cgroups.procs(one))
        stack += reversed(cgroups.children(one))
