"""The simulated kernel as memory, stalls and statistics see it, so that none of them imports the whole."""

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
    """What a cgroup got of the CPUs.

    Attributes:
        periods, throttled: CFS periods in which it wanted to run, and in which it was throttled.
        throttled_seconds: in which it waited for its quota.
        seconds: of CPU time.
        bursts, burst_seconds: periods in which more than the quota was used (cpu.max.burst), and that.
    """

    periods: float
    throttled: float
    throttled_seconds: float
    seconds: float
    bursts: int
    burst_seconds: float

    def settle(self, now: float) -> None:
        """Count up to now."""
        ...


class CpuScheduler(Protocol):
    """Who gets which CPUs."""

    def group(self, path: str) -> CpuGroup: ...


class TmpfsState(Protocol):
    """Files that are memory."""

    def size(self, path: str) -> int: ...


class KernelState(Protocol):
    """One machine's kernel.

    Attributes:
        now: seconds since boot.
        log: what dmesg shows.
        processes: by their ids.
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
