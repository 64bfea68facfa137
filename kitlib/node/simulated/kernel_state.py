"""The interface of the simulated kernel for memory, stalls and statistics, so that none of them imports the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from kitlib.kubelet.cm.cgroup_tree import Version
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.common.kernel_log import KernelLog
from kitlib.node.simulated import oom
from kitlib.node.simulated.cgroup_files import CgroupFiles
from kitlib.node.simulated.memory import Ledger
from kitlib.node.simulated.pressure import Pressure
from kitlib.node.simulated.process import Process
from kitlib.node.simulated.reclaim import Reclaim


class CpuGroup(Protocol):
    """The CPU counters of a cgroup.

    Attributes:
        periods, throttled: CFS periods in which it wanted to run, and in which it was throttled.
        throttled_seconds: time in seconds in which its quota was used up.
        seconds: used CPU time in seconds.
        bursts, burst_seconds: periods with more than the quota (cpu.max.burst), and the excess in seconds.
    """

    periods: float
    throttled: float
    throttled_seconds: float
    seconds: float
    bursts: int
    burst_seconds: float

    def settle(self, now: float) -> None:
        """Update the counters."""
        ...


class CpuScheduler(Protocol):
    """The CPU scheduler."""

    def group(self, path: str) -> CpuGroup: ...


class TmpfsState(Protocol):
    """The files in tmpfs."""

    def size(self, path: str) -> int: ...


class KernelState(Protocol):
    """The kernel of one machine.

    Attributes:
        now: seconds since boot.
        log: the kernel's log, as dmesg shows it.
        processes: processes by id.
    """

    version: Version
    machine: MachineInfo
    memory: Ledger
    reclaim: Reclaim
    now: float
    log: KernelLog
    processes: dict[int, Process]

    @property
    def cgroups(self) -> CgroupFiles: ...

    @property
    def scheduler(self) -> CpuScheduler: ...

    def below(self, path: str) -> Iterator[Process]: ...

    def demand(self, process: Process) -> None: ...

    @property
    def tmpfs(self) -> TmpfsState: ...

    def candidate(self, process: Process) -> oom.OOMCandidate: ...

    def end(self, process: Process, code: int, *, killed_at: str = "") -> None: ...

    def say(self, line: str) -> None: ...

    def processes_in(self, path: str) -> int: ...

    def pressure(self, resource: str, path: str = "/") -> Pressure | None: ...
