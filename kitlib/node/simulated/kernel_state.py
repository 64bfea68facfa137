"""The state of a simulated kernel that memory, stalls and statistics share: cgroups, charges, CPU time, processes.

The kernel is this state with the flow of time and the life of processes; its parts know the state alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from kitlib.kubelet.cm.cgroup_tree import Version
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.common.kernel_log import KernelLog
from kitlib.node.common.workload import FOREVER
from kitlib.node.simulated import oom
from kitlib.node.simulated.cgroup_files import Statistics
from kitlib.node.simulated.cgroupfs import SimulatedCgroupFS
from kitlib.node.simulated.cpu.bursts import BRIEF
from kitlib.node.simulated.cpu.scheduler import CPUScheduler
from kitlib.node.simulated.memory import Ledger, pids_below
from kitlib.node.simulated.process import KernelClock, Process
from kitlib.node.simulated.swap import waiting_share

KEPT_BURSTS = 10_000
"""Maximum number of recorded bursts of a process."""


class KernelState(KernelClock):
    """The state of one machine's kernel.

    Args:
        machine: CPUs and memory of the machine.
        version: cgroup version.
        statistics: source of the cgroups' read-only files.
        available: the available controllers.

    Attributes:
        cgroups: the cgroup file system.
        memory: the charged memory of each cgroup.
        scheduler: the CPU scheduler.
        log: the kernel's log, as dmesg shows it.
        processes: processes by id.
        tasks: number of process ids in each cgroup and its descendants.
    """

    def __init__(
        self, machine: MachineInfo, version: Version, statistics: Statistics, available: Sequence[str]
    ) -> None:
        super().__init__()
        self.machine, self.version = machine, version
        self.cgroups = SimulatedCgroupFS(version, machine, statistics, available)
        for path in machine.cgroups:  # on v1 an administrator's mkdir: unlike a runtime it copies no cpuset
            (self.cgroups.makedirs if version == 2 else self.cgroups.mkdirs)(path)
        self.memory: Ledger = Ledger(self.cgroups, machine.memory, machine.swap)
        self.scheduler = CPUScheduler(self.cgroups, machine.cores, self._run_at, self._rate_of, self._burst_done)
        self.log = KernelLog()
        self.processes: dict[int, Process] = {}
        self.tasks: dict[str, int] = defaultdict(int)

    def candidate(self, process: Process) -> oom.OOMCandidate:
        """Return a process's values for the OOM killer."""
        return oom.OOMCandidate(
            process.pid,
            process.name,
            process.cgroup,
            process.oom_score_adj,
            process.memory,
            process.page_tables,
            process.swapped,
        )

    def processes_in(self, path: str) -> int:
        """Return the number of process ids in a cgroup and its descendants."""
        return self.tasks.get(path, 0)

    def below(self, path: str) -> Iterator[Process]:
        """Yield the processes of a cgroup and its descendants."""
        if path == "/":
            yield from list(self.processes.values())
            return
        for pid in pids_below(self.cgroups, path):
            yield self.processes[pid]

    def demand(self, process: Process) -> None:
        """Pass a process's demand of CPUs to the scheduler: none while it waits for memory or swap."""
        phase = process.wants
        self.scheduler.want(
            process.cgroup,
            process.pid,
            0.0 if process.missing else phase.cpus * (1.0 - waiting_share(process)),
            self.now,
            work=phase.burst or FOREVER,
            every=phase.every or FOREVER,
            brief=phase.burst > 0 or phase.seconds < BRIEF,
        )

    def _rate_of(self, pid: int) -> float:
        return self.processes[pid].rate

    def _burst_done(self, pid: int, seconds: float) -> None:
        bursts = self.processes[pid].bursts
        bursts.append(seconds)
        del bursts[:-KEPT_BURSTS]

    def _run_at(self, pid: int, rate: float) -> None:
        process = self.processes.get(pid)
        if process is not None:  # it may just have ended
            process.run_at(rate)

    def say(self, line: str) -> None:
        """Append a line to the kernel's log."""
        self.log.append(f"[{self.now:12.6f}] {line}")
