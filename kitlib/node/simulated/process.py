"""A process of the simulated kernel, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kitlib.node.common.workload import FOREVER, Phase, Workload
from kitlib.node.simulated import oom
from kitlib.node.simulated.swap import waiting_share

TABLES = 512
"""A page of page tables maps so many pages."""
WINDOW = 1.0
"""Seconds over which the use of a process that works in bursts is averaged at least."""


class KernelClock(Protocol):
    """What knows the time: the kernel."""

    now: float


@dataclass(eq=False)
class Process:
    """A process, with its children and threads.

    Attributes:
        clock: seconds since boot.
        pid, name, cgroup: which.
        oom_score_adj: set at its start.
        workload: what it does.
        phase: which part of it is on, `phase_ends` when the next begins (seconds since boot).
        memory, cache: bytes charged, to the cgroup `charged`; `active` and `dirty` are parts of the page cache.
        unswappable: whether swap cannot take its memory.
        swapped: bytes of its memory that are in swap, `hot` those that it goes over again and again.
        missing: bytes that memory.high, or a limit with swap below it, keeps from it for now.
        tasks: how many process ids it has, itself included.
        cpu_seconds: used so far.
        rate: CPUs that it gets now.
        started: seconds since boot.
        child: the second process of the container, 0 = there never was one.
        looked: CPU seconds at the last look at its use, when that was, and what it showed.
        bursts: seconds that each of its bursts took, from when it was due.
        tmpfs: the memory-backed volumes that it can write to, with their sizes in bytes; None = no limit.
        read: bytes of files that its phases have brought into the page cache so far.
        ends_at, ends_with: seconds since boot when it is killed (infinite = never), and its exit code then.
    """

    clock: KernelClock
    pid: int
    name: str
    cgroup: str
    oom_score_adj: int
    workload: Workload
    started: float
    charged: str = ""
    phase: int = -1
    phase_ends: float = 0.0
    memory: int = 0
    cache: int = 0
    active: int = 0
    dirty: int = 0
    swapped: int = 0
    unswappable: bool = False
    missing: int = 0
    tasks: int = 1
    rate: float = 0.0
    used: float = 0.0
    since: float = 0.0
    child: int = 0
    looked: tuple[float, float, float] = (0.0, 0.0, 0.0)
    bursts: list[float] = field(default_factory=list)
    tmpfs: Mapping[str, int | None] = field(default_factory=dict)
    read: int = 0
    ends_at: float = FOREVER
    ends_with: int = 0

    @property
    def wants(self) -> Phase:
        """The phase that is on."""
        return self.workload.phases[self.phase]

    @property
    def cpu_seconds(self) -> float:
        """Seconds of CPU time that it has used."""
        return self.used + self.rate * (self.clock.now - self.since)

    def run_at(self, rate: float) -> None:
        """From now on it gets so many CPUs."""
        self.used = self.cpu_seconds
        self.since, self.rate = self.clock.now, rate

    def average(self) -> float:
        """CPUs that metrics show: the rate; of work in bursts what was used since the last look (a second or more)."""
        if not self.wants.burst:
            return self.rate
        used, at, shown = self.looked
        if self.clock.now - at >= WINDOW:
            shown = (self.cpu_seconds - used) / (self.clock.now - at)
            self.looked = self.cpu_seconds, self.clock.now, shown
        return shown

    @property
    def stall(self) -> tuple[float, float]:
        """The share of the time that it waits for memory, and for the disk: what is not in its page cache is read."""
        if self.missing:
            return 1.0, 0.0
        cache = self.wants.cache
        lacking = 1.0 - self.cache / cache if cache > self.cache else 0.0
        if self.swapped:
            lacking = 1.0 - (1.0 - lacking) * (1.0 - waiting_share(self))
        return lacking, lacking

    @property
    def hot(self) -> int:
        """Bytes of its memory that it goes over again and again."""
        return min(self.wants.hot, self.memory + self.swapped)

    @property
    def page_tables(self) -> int:
        """Bytes of page tables."""
        return (1 + (self.memory + self.swapped) // (oom.PAGE * TABLES)) * oom.PAGE


@dataclass(frozen=True)
class ProcessExit:
    """A process has ended.

    Attributes:
        at: seconds since boot.
        process: as it was.
        code: its exit code; 137 where it was killed.
        oom: by the OOM killer;
        where: the cgroup whose limit was reached, "/" = the machine's memory.
    """

    at: float
    process: Process
    code: int
    oom: bool = False
    where: str = ""
