"""Memory as cgroups count it: what is charged at every level, which limits are in the way, whose cache is given back.

Page cache is reclaimed before a process is killed, in proportion to how much of it each process holds; `memory.low`
keeps a cgroup's part out of it as long as there is other cache, `memory.min` always. Above `memory.high` no process is
killed, but one that asks for more sleeps: for every 64 pages 64 · o² seconds, at most 2, where o is the excess as a
share of `memory.high`. From that follows how fast a process grows there (`growth`).

Sources: mm/memcontrol.c (try_charge_memcg, mem_cgroup_calculate_protection, calculate_overage, calculate_high_delay,
MEMCG_CHARGE_BATCH, MEMCG_DELAY_SCALING_SHIFT); mm/vmscan.c (shrink_node_memcgs).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from kitlib.kubelet.cm.cgroup_tree import UNLIMITED_V1
from kitlib.kubelet.util.memory_files import MEMORY_LIMIT
from kitlib.node.simulated.cgroupfs import SimulatedCgroupFS

BATCH = 64 * 4096
"""Bytes that are charged at a time. Source: MEMCG_CHARGE_BATCH."""
LONGEST_SLEEP = 2.0
"""Seconds. Source: MEMCG_MAX_HIGH_DELAY_JIFFIES."""
_SLEEP = 64.0
"""Seconds for a batch where usage is twice memory.high: (1 << 20)² >> 20 >> 14."""
_LINEAR = (LONGEST_SLEEP / _SLEEP) ** 0.5


class Holder(Protocol):
    """A process that has memory: its bytes, and the cgroup that they are charged to."""

    memory: int
    cache: int
    charged: str


@dataclass
class Counters:
    """What a cgroup has counted of its memory and processes, those below included."""

    low: int = 0
    high: int = 0
    max: int = 0
    oom: int = 0
    oom_kill: int = 0
    oom_group_kill: int = 0
    failures: int = 0
    peak: int = 0
    forks_refused: int = 0
    most_processes: int = 0


@lru_cache(maxsize=65536)
def upwards(path: str) -> tuple[str, ...]:
    """A cgroup and those above it, up to the root."""
    found = []
    while path != "/":
        found.append(path)
        path = path.rpartition("/")[0] or "/"
    return (*found, "/")


class Ledger:
    """What is charged to which cgroup.

    Args:
        cgroups: whose files hold the limits.
        machine_memory: bytes.

    Attributes:
        counters: by path.
    """

    def __init__(self, cgroups: SimulatedCgroupFS, machine_memory: int) -> None:
        self._cgroups, self._machine_memory = cgroups, machine_memory
        self._anonymous: dict[str, int] = defaultdict(int)
        self._cache: dict[str, int] = defaultdict(int)
        self.counters: dict[str, Counters] = defaultdict(Counters)

    def anonymous(self, path: str) -> int:
        """Bytes that cannot be given back, of a cgroup and those below."""
        return self._anonymous.get(path, 0)

    def cache(self, path: str) -> int:
        """Bytes of page cache, of a cgroup and those below."""
        return self._cache.get(path, 0)

    def usage(self, path: str) -> int:
        """Bytes charged to a cgroup and all below."""
        return self._anonymous.get(path, 0) + self._cache.get(path, 0)

    def hold(self, holder: Holder, memory: int, cache: int) -> None:
        """A process has so much from now on, whatever the limits say."""
        more, more_cache = memory - holder.memory, cache - holder.cache
        holder.memory, holder.cache = memory, cache
        for path in upwards(holder.charged):
            self._anonymous[path] += more
            self._cache[path] += more_cache

    def forget(self, path: str) -> None:
        """A cgroup has been removed: what is still charged to it stays with those above."""
        for table in (self._anonymous, self._cache, self.counters):
            table.pop(path, None)

    def note_peak(self, path: str) -> None:
        """Remember the largest usage of a cgroup and those above."""
        for above in upwards(path):
            counted = self.counters[above]
            counted.peak = max(counted.peak, self.usage(above))

    def count(self, path: str, event: str) -> None:
        """Count an event in a cgroup and, on v2, those above it. Source: memcg_memory_event."""
        for above in upwards(path) if self._cgroups.version == 2 else (path,):
            counted = self.counters[above]
            setattr(counted, event, getattr(counted, event) + 1)

    # Limits.

    def limit(self, path: str) -> int | None:
        """Bytes that a cgroup may use; None = no limit. The root's is the machine's memory."""
        if path == "/":
            return self._machine_memory
        return self._figure(path, MEMORY_LIMIT[self._cgroups.version])

    def high(self, path: str) -> int | None:
        """Bytes above which a process that asks for more is slowed down; None = never."""
        return None if path == "/" or self._cgroups.version == 1 else self._figure(path, "memory.high")

    def exceeded(self, path: str) -> str | None:
        """The lowest cgroup, from this one upwards, that holds more than it may."""
        for above in upwards(path):
            limit = self.limit(above)
            if limit is not None and self.usage(above) > limit:
                return above
        return None

    def room(self, path: str) -> int | None:
        """Bytes until the first limit on the way up; None = none is there."""
        rooms = [limit - self.usage(p) for p in upwards(path) if (limit := self.limit(p)) is not None]
        return max(min(rooms), 0) if rooms else None

    def highest_excess(self, path: str) -> tuple[int, str]:
        """By how much memory.high is exceeded on the way up, page cache not counted, and where."""
        worst = (0, "")
        if self._cgroups.version == 2:
            for above in upwards(path):
                high = self.high(above)
                if high is not None:
                    worst = max(worst, (self.anonymous(above) - high, above))
        return worst

    def _figure(self, path: str, file: str) -> int | None:
        if not self._cgroups.has(path, file):
            return None
        text = self._cgroups.setting(path, file)
        return None if text == "max" or int(text) >= UNLIMITED_V1 else int(text)

    # Reclaim.

    def reclaim(self, path: str, wanted: int, holders: Iterable[Holder]) -> int:
        """Give page cache of a cgroup back, those that memory.low protects last, those of memory.min never.

        Args:
            path: whose.
            wanted: bytes.
            holders: the processes below.

        Returns:
            Bytes that were given back.
        """
        having = [one for one in holders if one.cache]
        given = self._reclaim_some(path, wanted, having, ("memory.min", "memory.low"))
        if given < wanted and any(one.cache for one in having):
            again = self._reclaim_some(path, wanted - given, having, ("memory.min",))
            if again:
                for where in {one.charged for one in having if self._protected(path, one.charged, "memory.low")}:
                    self.count(where, "low")
            given += again
        return given

    def _reclaim_some(self, path: str, wanted: int, having: list[Holder], files: tuple[str, ...]) -> int:
        available = {}
        for charged in {one.charged for one in having}:
            free = self.usage(charged) - max(self._protected(path, charged, file) for file in files)
            available[charged] = max(min(free, sum(one.cache for one in having if one.charged == charged)), 0)
        whole = sum(available.values())
        part = min(wanted, whole)
        if part <= 0:
            return 0
        given = 0
        for charged, free in available.items():
            share = -(-free * part // whole)
            for one in having:
                if one.charged == charged and share > 0 and given < part:
                    taken = min(one.cache, share, part - given)
                    self.hold(one, one.memory, one.cache - taken)
                    share -= taken
                    given += taken
        return given

    def _protected(self, top: str, path: str, file: str) -> int:
        """Bytes of a cgroup that reclaim at `top` leaves alone. Source: mem_cgroup_calculate_protection."""
        if self._cgroups.version == 1:
            return 0
        way = [one for one in upwards(path) if one != top and (top == "/" or one.startswith(top + "/"))]
        above: int | None = None
        for one in reversed(way):
            own = min(self._claim(one, file), self.usage(one))
            if above is not None:
                siblings = self._cgroups.children(one.rpartition("/")[0] or "/")
                claimed = sum(min(self._claim(other, file), self.usage(other)) for other in siblings)
                own = own if claimed <= above else own * above // claimed
            above = own
        return above or 0

    def _claim(self, path: str, file: str) -> int:
        found = self._figure(path, file)
        return 2**63 if found is None and self._cgroups.has(path, file) else found or 0


def growth(excess: int, high: int, seconds: float) -> int:
    """Bytes by which a process grows above memory.high, asleep after every 64 pages.

    Args:
        excess: bytes above it now.
        high: bytes.
        seconds: of growing.

    The excess as a share of high follows do/dt = 64 pages / (64 · o² · high), so o³ grows linearly; where a sleep would
    exceed 2 seconds, it is 64 pages in 2 seconds.
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
    """The processes of a cgroup and those below it."""
    stack = [path]
    while stack:
        one = stack.pop()
        yield from sorted(cgroups.procs(one))
        stack += reversed(cgroups.children(one))
