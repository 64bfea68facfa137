"""A model of the kernel: processes in cgroups, memory that is charged, CPU that is divided, virtual time.

Time moves from one change to the next: between two changes every process has a constant rate, so long quiet stretches
cost nothing. Memory is taken at once when a phase of a workload begins; if a limit is in the way, page cache of that
cgroup is given back first, then the OOM killer chooses.

Sources: mm/memcontrol.c (try_charge_memcg, mem_cgroup_out_of_memory), mm/oom_kill.c; see also `cpu.py` and `oom.py`.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kitlib.kubelet.cgroup_tree import UNLIMITED_V1, Version
from kitlib.kubelet.machine import MachineInfo
from kitlib.node.simulated import cpu, oom
from kitlib.node.simulated.cgroupfs import SimulatedCgroupFS
from kitlib.node.simulated.workloads import Phase, Workload

SIGKILL = 9
TABLES = 512
"""A page of page tables maps so many pages."""


@dataclass
class Process:
    """One process.

    Attributes:
        pid, name, cgroup: which. oom_score_adj: set at its start.
        workload: what it does. phase: which part of it is on, `phase_ends` when the next begins (seconds since boot).
        memory, cache: bytes charged. cpu_seconds: used so far. rate: CPUs that it gets now.
        started: seconds since boot.
    """

    pid: int
    name: str
    cgroup: str
    oom_score_adj: int
    workload: Workload
    started: float
    phase: int = -1
    phase_ends: float = 0.0
    memory: int = 0
    cache: int = 0
    cpu_seconds: float = 0.0
    rate: float = 0.0

    @property
    def wants(self) -> Phase:
        """The phase that is on."""
        return self.workload.phases[self.phase]

    @property
    def page_tables(self) -> int:
        """Bytes of page tables."""
        return (1 + self.memory // (oom.PAGE * TABLES)) * oom.PAGE


@dataclass(frozen=True)
class Exit:
    """A process has ended.

    Attributes:
        at: seconds since boot. process: as it was.
        code: its exit code; 137 where it was killed. oom: by the OOM killer.
    """

    at: float
    process: Process
    code: int
    oom: bool = False


@dataclass
class Counters:
    """What a cgroup has counted."""

    cpu_seconds: float = 0.0
    periods: float = 0.0
    throttled: float = 0.0
    throttled_seconds: float = 0.0
    oom: int = 0
    oom_kill: int = 0
    failures: int = 0
    peak: int = 0


class Kernel:
    """One machine's kernel.

    Args:
        machine: its CPUs and memory.
        version: of its cgroups.

    Attributes:
        cgroups: the file system.
        now: seconds since boot. log: what dmesg shows.
    """

    def __init__(self, machine: MachineInfo, version: Version) -> None:
        self.machine, self.version = machine, version
        self.cgroups = SimulatedCgroupFS(version, machine, self._statistic)
        self.now = 0.0
        self.log: list[str] = []
        self.processes: dict[int, Process] = {}
        self.counters: dict[str, Counters] = defaultdict(Counters)
        self._pids = itertools.count(1000)
        self._exits: list[Exit] = []
        self._seen = -1
        self._busy: list[cpu.Group] = []
        self._limited: list[tuple[cpu.Group, float]] = []

    # ------------------------------------------------------------------------------------------------ processes

    def spawn(self, workload: Workload, cgroup: str, oom_score_adj: int = 0, name: str = "") -> int:
        """Start a process in a cgroup; it takes its first phase's memory at once.

        Returns:
            Its process id.
        """
        pid = next(self._pids)
        self.cgroups.attach(cgroup, pid)
        process = Process(pid, name or workload.name, cgroup, oom_score_adj, workload, self.now)
        self.processes[pid] = process
        self._enter(process, 0)
        self._seen = -1
        return pid

    def kill(self, pid: int, code: int = 128 + SIGKILL) -> None:
        """End a process; nothing where there is none."""
        process = self.processes.get(pid)
        if process is not None:
            self._end(process, code)

    def exits(self) -> list[Exit]:
        """What has ended since the last call."""
        found, self._exits = self._exits, []
        return found

    def candidate(self, process: Process) -> oom.Candidate:
        """The process as the OOM killer sees it."""
        return oom.Candidate(
            process.pid, process.name, process.cgroup, process.oom_score_adj, process.memory, process.page_tables
        )

    def oom_score(self, pid: int) -> int:
        """/proc/PID/oom_score."""
        return oom.oom_score(self.candidate(self.processes[pid]), self.machine.memory // oom.PAGE)

    def _end(self, process: Process, code: int, *, killed: bool = False) -> None:
        self.processes.pop(process.pid, None)
        self.cgroups.detach(process.pid)
        self._exits.append(Exit(self.now, process, code, killed))
        self._seen = -1

    # ------------------------------------------------------------------------------------------------ time

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        end = self.now + seconds
        self._hold_limits()
        while True:
            self._divide()
            upcoming = min((p.phase_ends for p in self.processes.values()), default=float("inf"))
            until = min(end, max(upcoming, self.now))
            self._run(until - self.now)
            self.now = until
            changing = [p for p in self.processes.values() if p.phase_ends <= self.now]
            for process in changing:
                if process.pid in self.processes:
                    self._next_phase(process)
            if not changing and self.now >= end:
                return

    def _next_phase(self, process: Process) -> None:
        if process.phase + 1 < len(process.workload.phases):
            self._enter(process, process.phase + 1)
        else:
            self._end(process, process.workload.exit_code)

    def _enter(self, process: Process, number: int) -> None:
        process.phase = number
        phase = process.wants
        process.phase_ends = self.now + phase.seconds
        self._seen = -1
        self._charge(process, phase)

    def _divide(self) -> None:
        """Compute everybody's rate anew, if anything has changed."""
        if self._seen == self.cgroups.changed:
            return
        self._seen = self.cgroups.changed
        tasks: dict[str, dict[int, float]] = {}
        for process in self.processes.values():
            if process.wants.cpus:
                tasks.setdefault(process.cgroup, {})[process.pid] = process.wants.cpus
            process.rate = 0.0
        self._busy, self._limited = [], []
        if not tasks:
            return
        needed = {above for path in tasks for above in _upwards(path)}
        paths = sorted(needed, key=lambda path: path.count("/") if path != "/" else -1)
        cgroups = self.cgroups
        root = cpu.build(paths, cgroups.read, tasks, lambda path: len(cgroups.effective_cpus(path)), self.version)
        cpu.measure(root)
        rates: dict[int, float] = {}
        cpu.share_out(root, float(self.machine.cores), rates)
        for pid, rate in rates.items():
            self.processes[pid].rate = rate
        stack = [root]
        while stack:
            group = stack.pop()
            self._busy.append(group)
            stack += group.children
            quota = self._quota(group.path)
            if quota is not None and group.wanted > 0:
                self._limited.append((group, quota))

    def _quota(self, path: str) -> float | None:
        if path == "/":
            return None
        if self.version == 1:
            quota = int(self.cgroups.read(path, "cpu.cfs_quota_us"))
            return quota / int(self.cgroups.read(path, "cpu.cfs_period_us")) if quota > 0 else None
        if "cpu" not in self.cgroups.controllers(path):
            return None
        limit, period = self.cgroups.read(path, "cpu.max").split()
        return None if limit == "max" else int(limit) / int(period)

    def _period(self, path: str) -> float:
        text = self.cgroups.read(path, "cpu.cfs_period_us" if self.version == 1 else "cpu.max")
        return int(text.split()[-1]) / 1e6

    def _run(self, seconds: float) -> None:
        if seconds <= 0:
            return
        for process in self.processes.values():
            if process.rate:
                process.cpu_seconds += process.rate * seconds
        for group in self._busy:
            self.counters[group.path].cpu_seconds += group.got * seconds
        for group, quota in self._limited:
            counted = self.counters[group.path]
            periods = seconds / self._period(group.path)
            counted.periods += periods
            if group.wanted > quota + cpu.EPSILON and group.got >= quota - cpu.EPSILON:
                counted.throttled += periods
                # each busy thread waits for the rest of the period once the quota is used up
                counted.throttled_seconds += seconds * (group.wanted - quota)

    # ------------------------------------------------------------------------------------------------ memory

    def usage(self, path: str) -> int:
        """Bytes charged to a cgroup and all below."""
        return sum(p.memory + p.cache for p in self._below(path))

    def _below(self, path: str) -> Iterator[Process]:
        if path == "/":
            yield from self.processes.values()
            return
        inside = path + "/"
        for process in self.processes.values():
            if process.cgroup == path or process.cgroup.startswith(inside):
                yield process

    def limit(self, path: str) -> int | None:
        """Bytes that a cgroup may use; None = no limit. The root's is the machine's memory."""
        if path == "/":
            return self.machine.memory
        file = "memory.limit_in_bytes" if self.version == 1 else "memory.max"
        if "memory" not in self.cgroups.controllers(path):
            return None
        text = self.cgroups.read(path, file)
        return None if text in ("max", str(UNLIMITED_V1)) else int(text)

    def _charge(self, process: Process, phase: Phase) -> None:
        """Take a phase's memory, cgroup by cgroup upwards; the first limit in the way calls the OOM killer."""
        process.memory, process.cache = phase.memory, min(phase.cache, self._room_for_cache(process, phase))
        while process.pid in self.processes:
            full = next((path for path in _upwards(process.cgroup) if self._exceeds(path)), None)
            if full is None:
                break
            if not self._reclaim(full) and not self._out_of_memory(full, process):
                break
        for path in _upwards(process.cgroup):
            counted = self.counters[path]
            counted.peak = max(counted.peak, self.usage(path))

    def _room_for_cache(self, process: Process, phase: Phase) -> int:
        rooms = [
            limit - self.usage(path) + process.cache
            for path in _upwards(process.cgroup)
            if (limit := self.limit(path)) is not None
        ]
        return max(min(rooms, default=phase.cache), 0)

    def _hold_limits(self) -> None:
        """v2: a limit that was set below what is in use reclaims, then kills (v1 refuses such a limit).

        Source: mm/memcontrol.c memory_max_write.
        """
        if self.version == 1 or self._seen == self.cgroups.changed:
            return
        for path in dict.fromkeys(above for process in self.processes.values() for above in _upwards(process.cgroup)):
            while self._exceeds(path) and not self._reclaim(path):
                if not self._out_of_memory(path, next(self._below(path))):
                    break

    def _exceeds(self, path: str) -> bool:
        limit = self.limit(path)
        return limit is not None and self.usage(path) > limit

    def _reclaim(self, path: str) -> bool:
        """Give page cache back until the limit holds; whether that was enough."""
        limit = self.limit(path)
        assert limit is not None
        excess = self.usage(path) - limit
        for process in sorted(self._below(path), key=lambda p: -p.cache):
            given = min(process.cache, excess)
            process.cache -= given
            excess -= given
        return excess <= 0

    def _out_of_memory(self, path: str, invoker: Process) -> bool:
        """Kill one process, or its whole cgroup with memory.oom.group; whether anybody could be killed."""
        limit = self.limit(path)
        assert limit is not None
        candidates = [self.candidate(p) for p in self._below(path)]
        victim = oom.choose(candidates, min(limit, self.machine.memory) // oom.PAGE)
        where = "" if path == "/" else path
        self.counters[path].oom += 1
        self.counters[path].failures += 1
        if victim is None:
            self.log.append(f"[{self.now:12.6f}] Out of memory and no killable processes...")
            return False
        self.log += oom.log_lines(
            self.now, victim, where, invoker=invoker.name, limit=limit, usage=self.usage(path), table=candidates
        )
        for one in self._group_of(victim, path):
            for above in _upwards(one.cgroup):
                self.counters[above].oom_kill += 1
            self._end(one, 128 + SIGKILL, killed=True)
        return True

    def _group_of(self, victim: oom.Candidate, path: str) -> list[Process]:
        """The victim, or everything below the highest cgroup with memory.oom.group between it and `path`."""
        highest = None
        if self.version == 2:
            for above in _upwards(victim.cgroup):
                if above == "/" or not (above == path or above.startswith(path.rstrip("/") + "/")):
                    break
                if self.cgroups.read(above, "memory.oom.group") == "1":
                    highest = above
        if highest is None:
            return [self.processes[victim.pid]]
        lines = f"Tasks in {highest} are going to be killed due to memory.oom.group set"
        self.log.append(f"[{self.now:12.6f}] {lines}")
        return list(self._below(highest))

    # ------------------------------------------------------------------------------------------------ counters

    def _statistic(self, path: str, file: str) -> str | None:
        answer = _STATISTICS.get(file)
        return answer(self, path) if answer is not None else None


def _upwards(path: str) -> Iterator[str]:
    """A cgroup and those above it, up to the root."""
    while path != "/":
        yield path
        path = path.rpartition("/")[0] or "/"
    yield "/"


def _cpu_stat(kernel: Kernel, path: str) -> str:
    c = kernel.counters[path]
    periods, throttled = int(c.periods + 1e-6), int(c.throttled + 1e-6)
    if kernel.version == 1:
        return f"nr_periods {periods}\nnr_throttled {throttled}\nthrottled_time {int(c.throttled_seconds * 1e9)}"
    used = int(c.cpu_seconds * 1e6)
    return (
        f"usage_usec {used}\nuser_usec {used}\nsystem_usec 0\nnr_periods {periods}\nnr_throttled {throttled}\n"
        f"throttled_usec {int(c.throttled_seconds * 1e6)}"
    )


def _memory_stat(kernel: Kernel, path: str) -> str:
    anon = sum(p.memory for p in kernel._below(path))
    cache = sum(p.cache for p in kernel._below(path))
    if kernel.version == 1:
        return f"cache {cache}\nrss {anon}\ntotal_cache {cache}\ntotal_rss {anon}\ntotal_inactive_file {cache}"
    return f"anon {anon}\nfile {cache}\ninactive_file {cache}\nactive_file 0"


def _memory_events(kernel: Kernel, path: str) -> str:
    c = kernel.counters[path]
    return f"low 0\nhigh 0\nmax {c.failures}\noom {c.oom}\noom_kill {c.oom_kill}\noom_group_kill 0"


_STATISTICS: dict[str, Callable[[Kernel, str], str]] = {
    "cpu.stat": _cpu_stat,
    "cpuacct.usage": lambda kernel, path: str(int(kernel.counters[path].cpu_seconds * 1e9)),
    "memory.current": lambda kernel, path: str(kernel.usage(path)),
    "memory.usage_in_bytes": lambda kernel, path: str(kernel.usage(path)),
    "memory.unreclaimable": lambda kernel, path: str(sum(p.memory for p in kernel._below(path))),
    "memory.peak": lambda kernel, path: str(kernel.counters[path].peak),
    "memory.failcnt": lambda kernel, path: str(kernel.counters[path].failures),
    "memory.stat": _memory_stat,
    "memory.events": _memory_events,
    "memory.oom_control": lambda kernel, path: (
        f"oom_kill_disable 0\nunder_oom 0\noom_kill {kernel.counters[path].oom_kill}"
    ),
    "pids.current": lambda kernel, path: str(sum(1 for _ in kernel._below(path))),
}
