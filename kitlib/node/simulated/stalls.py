"""The processes that wait for memory or the disk, and the resulting pressure in every cgroup above.

A process that `memory.high` throttles waits all the time. One whose page cache is smaller than the files that it works
on waits for the part that must be reread. Of independent processes at least one waits in 1 − Π(1 − share) of the time.

Source: kernel/sched/psi.c (psi_memstall_enter), mm/workingset.c.
"""

from __future__ import annotations

from collections.abc import Collection

from kitlib.node.simulated.kernel_state import KernelState
from kitlib.node.simulated.memory import upwards
from kitlib.node.simulated.pressure import Pressure
from kitlib.node.simulated.process import Process


class Stalls:
    """The waiting processes of one kernel.

    Attributes:
        changed: whether any process's stall has changed since the last call of `press`.
    """

    def __init__(self, kernel: KernelState) -> None:
        self._kernel = kernel
        self.changed = False
        self._stalled: dict[int, Process] = {}
        self._pressures: dict[tuple[str, str], Pressure] = {}
        self._pressed: set[str] = set()

    @property
    def waiting(self) -> Collection[Process]:
        """The processes that wait."""
        return self._stalled.values()

    def pressure(self, resource: str, path: str) -> Pressure | None:
        """Return the pressure of memory or io in a cgroup; None = no process has waited."""
        return self._pressures.get((resource, path))

    def moved(self, pid: int) -> None:
        """Note that a process was moved to another cgroup, or has ended."""
        self.changed = self.changed or pid in self._stalled
        if pid not in self._kernel.processes:
            self._stalled.pop(pid, None)

    def forget(self, path: str) -> None:
        """Remove a deleted cgroup."""
        self._pressed.discard(path)
        for resource in ("memory", "io"):
            self._pressures.pop((resource, path), None)

    def note(self, process: Process) -> None:
        stalls = process.pid in self._kernel.processes and any(process.stall)
        if stalls or process.pid in self._stalled:
            self.changed = True
        if stalls:
            self._stalled[process.pid] = process
        else:
            self._stalled.pop(process.pid, None)

    def press(self) -> None:
        """Update the pressure of memory and disk in cgroups with waiting processes, or with such before."""
        if not self.changed:
            return
        self.changed = False
        waiting: dict[str, list[Process]] = {}
        for process in self._stalled.values():
            for path in upwards(process.cgroup):
                waiting.setdefault(path, []).append(process)
        for path in {*self._pressed, *waiting}:
            stalled = waiting.get(path, [])
            busy = len(stalled) + (self._busy_beside(path, stalled) if stalled else 0)
            for i, resource in enumerate(("memory", "io")):
                runs, all_wait = 1.0, 1.0
                for process in stalled:
                    runs *= 1.0 - process.stall[i]
                    all_wait *= process.stall[i]
                # A working process beside the waiting ones is enough for `full` to be 0.
                full = all_wait if stalled and busy == len(stalled) else 0.0
                found = self._pressures.get((resource, path))
                if found is None:
                    found = self._pressures[resource, path] = Pressure(self._kernel.now)
                found.set(self._kernel.now, 1.0 - runs, full)
        self._pressed = set(waiting)

    def _busy_beside(self, path: str, stalled: list[Process]) -> int:
        """Count the processes of a cgroup that work while others wait."""
        return sum(1 for p in self._kernel.below(path) if p.wants.cpus and p not in stalled)
