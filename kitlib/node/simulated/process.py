"""A process of the simulated kernel, and its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kitlib.node.common.workload import FOREVER, Phase, Workload
from kitlib.node.simulated import oom
from kitlib.node.simulated.swap import waiting_share

TABLES = 512
"""Number of pages that a page of page tables maps."""
WINDOW = 1.0
"""Minimum seconds over which the usage of a process with bursts is averaged."""


class KernelClock:
    """The time of one kernel.

    Attributes:
        now: seconds since boot.
    """

    def __init__(self) -> None:
        self.now = 0.0


@dataclass(eq=False)
class Process:
    """A process, with its children and threads.

    Attributes:
        clock: the kernel.
        pid: process id.
        name: name in the output of `ps`.
        cgroup: path of its cgroup.
        oom_score_adj: -1000 to 1000.
        workload: its behaviour.
        phase: index of the current phase.
        phase_ends: start of the next phase in seconds since boot.
        memory, cache: bytes charged to the cgroup `charged`; `active` and `dirty` are parts of the page cache.
        unswappable: whether its memory cannot be swapped.
        swapped: bytes of its memory in swap; `hot` are those that it accesses repeatedly.
        missing: bytes that memory.high, or a limit with swap, withholds for now.
        tasks: number of its process ids, itself included.
        cpu_seconds: used CPU time in seconds.
        rate: CPUs that it gets now.
        started: seconds since boot.
        child: process id of the container's second process; 0 = never started.
        looked: used CPU seconds at the last call of `average`, the time of that call, and its result.
        bursts: durations of its bursts in seconds, from their planned starts.
        tmpfs: sizes in bytes of the memory-backed volumes that it can write to, by name; None = no limit.
        read: bytes of files that its phases have read into the page cache so far.
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
        """The current phase."""
        return self.workload.phases[self.phase]

    @property
    def cpu_seconds(self) -> float:
        """The used CPU time in seconds."""
        return self.used + self.rate * (self.clock.now - self.since)

    def run_at(self, rate: float) -> None:
        """Set the CPUs that it gets from now on."""
        self.used = self.cpu_seconds
        self.since, self.rate = self.clock.now, rate

    def average(self) -> float:
        """Return the CPUs that metrics show: the rate, or with bursts the average since the last call (1 s or more)."""
        if not self.wants.burst:
            return self.rate
        used, at, shown = self.looked
        if self.clock.now - at >= WINDOW:
            shown = (self.cpu_seconds - used) / (self.clock.now - at)
            self.looked = self.cpu_seconds, self.clock.now, shown
        return shown

    @property
    def stall(self) -> tuple[float, float]:
        """The shares of the time, 0 to 1, in which it waits for memory, and for the disk (to reread page cache)."""
        if self.missing:
            return 1.0, 0.0
        cache = self.wants.cache
        lacking = 1.0 - self.cache / cache if cache > self.cache else 0.0
        if self.swapped:
            lacking = 1.0 - (1.0 - lacking) * (1.0 - waiting_share(self))
        return lacking, lacking

    @property
    def hot(self) -> int:
        """The bytes of its memory that it accesses repeatedly."""
        return min(self.wants.hot, self.memory + self.swapped)

    @property
    def page_tables(self) -> int:
        """The bytes of its page tables."""
        return (1 + (self.memory + self.swapped) // (oom.PAGE * TABLES)) * oom.PAGE


@dataclass(frozen=True)
class ProcessExit:
    """The end of a process.

    Attributes:
        at: seconds since boot.
        process: the process at its end.
        code: exit code; 137 if it was killed.
        oom: whether the OOM killer ended it.
        where: path of the cgroup whose limit was reached; "/" = the machine's memory.
        child: whether only a child of the process has ended.
    """

    at: float
    process: Process
    code: int
    oom: bool = False
    where: str = ""
    child: bool = False
