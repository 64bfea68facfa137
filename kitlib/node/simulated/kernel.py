"""A model of the kernel: processes in cgroups, charged memory, divided CPU time, virtual time.

Time advances from one change to the next: in between every process has a constant rate, so long idle periods cost
nothing. Memory is charged when a phase of a workload begins; at a limit, page cache of that cgroup is reclaimed first,
then the OOM killer chooses. Above `memory.high` a process grows slowly instead.

Sources: mm/memcontrol.c (try_charge_memcg, mem_cgroup_out_of_memory), mm/oom_kill.c, kernel/cgroup/pids.c; see also
`cpu.py`, `memory.py`, `oom.py` and `pressure.py`.
"""

from __future__ import annotations

import errno
import heapq
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter

from kitlib.kubelet.cm.cgroup_tree import Version
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.common.errors import CgroupError
from kitlib.node.common.workload import FOREVER, KILLING, Child, Phase, Workload
from kitlib.node.simulated import oom
from kitlib.node.simulated.allocation import Allocation
from kitlib.node.simulated.cgroup_files import CONTROLLERS
from kitlib.node.simulated.kernel_state import KernelState
from kitlib.node.simulated.memory import upwards
from kitlib.node.simulated.pressure import Pressure
from kitlib.node.simulated.process import Process, ProcessExit
from kitlib.node.simulated.reclaim import Reclaim
from kitlib.node.simulated.stalls import Stalls
from kitlib.node.simulated.statistics import KernelStatistics
from kitlib.node.simulated.swap import Holder
from kitlib.node.simulated.tmpfs import DEV_SHM, Tmpfs

SIGKILL = 9
CHANGES_KEPT = 20_000
"""Maximum number of recorded writes of cgroup files."""
SHM_SIZE = 64 * 2**20
"""Bytes of a pod's /dev/shm. Source: containerd WithDefaultSandboxShm (size=65536k)."""
_END, _GOES_ON = -1, -2  # phase numbers in the queue: a terminating process's end, a shell's next step after a kill


class Kernel(KernelState):
    """The kernel of one machine.

    Args:
        machine: CPUs and memory of the machine.
        version: cgroup version.
        available: the available controllers.

    Attributes:
        changes: (time, cgroup, file) of each write; the file "" = the cgroup was created or removed.
        after_kill: returns the further behaviour of a process after the kill of its child (see `Phase.forked`), which
            was so many seconds after its start; None = the process ends too, as if it was killed.
    """

    def __init__(self, machine: MachineInfo, version: Version, available: Sequence[str] = CONTROLLERS) -> None:
        super().__init__(machine, version, lambda path, file: self._statistics.content(path, file), available)
        self.cgroups.on_remove, self.cgroups.on_attach = self._removed, self._moved
        self.cgroups.on_reset, self.cgroups.on_kill = self._reset, self._kill_below
        self.cgroups.alive = lambda pid: pid in self.processes
        self.changes: deque[tuple[float, str, str]] = deque(maxlen=CHANGES_KEPT)
        self.cgroups.on_change = lambda path, file: self.changes.append((self.now, path, file))
        self._pids = itertools.count(1000)
        self._exits: list[ProcessExit] = []
        self._due: list[tuple[float, int, int]] = []
        self._stalls = Stalls(self)
        self.reclaim = Reclaim(self.memory, self.cgroups, self._holders, self._pages_swapped)
        self.after_kill: Callable[[Process, Child, float], Workload | None] = lambda process, child, seconds: None
        self._children: dict[int, tuple[Child, float, str]] = {}
        self._allocation = Allocation(self, self._stalls, self.reclaim, self.end, self.end_child)
        self.tmpfs = Tmpfs(
            self.memory,
            self.reclaim.reclaim,
            self._allocation.make_room,
            lambda process: process.pid in self.processes,
            self.end,
        )
        self._statistics = KernelStatistics(self, self.reclaim, self.tmpfs, self._stalls)
        self.cgroups.on_limit, self.cgroups.on_reclaim = self._allocation.hold_limit, self.reclaim.reclaim

    def spawn(
        self,
        workload: Workload,
        cgroup: str,
        oom_score_adj: int = 0,
        name: str = "",
        tmpfs: Mapping[str, int | None] | None = None,
    ) -> int:
        """Start a process in a cgroup; it takes its first phase's memory at once.

        Args:
            workload: the process's behaviour.
            cgroup: the path of its cgroup.
            oom_score_adj: -1000 to 1000.
            name: the name in the output of `ps`; "" = the workload's.
            tmpfs: the memory-backed volumes mounted in its container, with their sizes in bytes (None = no limit).

        Returns:
            Its process id.

        Raises:
            CgroupError: the error of `SimulatedCgroupFS.attach`, or EINVAL for an invalid oom_score_adj.
        """
        pid = next(self._pids)
        if not -1000 <= oom_score_adj <= 1000:
            raise CgroupError(errno.EINVAL, f"/proc/{pid}", "oom_score_adj", str(oom_score_adj), "it is -1000 to 1000")
        self._start(pid, workload, cgroup, oom_score_adj, name or workload.name, tmpfs or {})
        return pid

    def _start(
        self,
        pid: int,
        workload: Workload,
        cgroup: str,
        oom_score_adj: int,
        name: str,
        tmpfs: Mapping[str, int | None],
    ) -> None:
        self.cgroups.attach(cgroup, pid)
        process = Process(self, pid, name, cgroup, oom_score_adj, workload, self.now, cgroup, since=self.now)
        process.looked, process.tmpfs = (0.0, self.now, 0.0), tmpfs
        self.processes[pid] = process
        self._count_tasks(cgroup, 1)
        self._enter(process, 0)

    def kill(self, pid: int, code: int = 128 + SIGKILL) -> None:
        """End a process, if it exists."""
        process = self.processes.get(pid)
        if process is not None:
            self.end(process, code)

    def end_in(self, pid: int, seconds: float, code: int) -> None:
        """End a process after a maximum of `seconds`, if it exists; until then it follows its workload."""
        process = self.processes.get(pid)
        if process is not None:
            process.ends_at, process.ends_with = self.now + seconds, code
            heapq.heappush(self._due, (process.ends_at, pid, _END))

    def exits(self) -> list[ProcessExit]:
        """Return the processes that have ended since the last call."""
        found, self._exits = self._exits, []
        return found

    def oom_score(self, pid: int) -> int:
        """Return the content of /proc/PID/oom_score."""
        return oom.oom_score(self.candidate(self.processes[pid]), self.machine.memory // oom.PAGE)

    def _holders(self, path: str) -> Iterator[Holder]:
        """Yield the holders of memory in a cgroup and its descendants: processes, and files in a tmpfs."""
        yield from self.below(path)
        yield from self.tmpfs.below(path)

    def _pages_swapped(self, holder: Holder) -> None:
        if isinstance(holder, Process):
            self._allocation.reconsider(holder)

    def end(self, process: Process, code: int, *, killed_at: str = "") -> None:
        """End a process; `killed_at`: the cgroup whose limit made the OOM killer end it."""
        if self.processes.pop(process.pid, None) is None:  # ended already with its parent
            return
        process.run_at(0.0)
        self.scheduler.want(process.cgroup, process.pid, 0.0, self.now)
        was = process.memory, process.cache, process.active, process.dirty
        # Uncharge it, but keep the figures: the exit's reader sees the memory at the end.
        self.memory.hold(process, 0, 0, 0)
        process.memory, process.cache, process.active, process.dirty = was
        self._count_tasks(process.cgroup, -process.tasks)
        self.cgroups.detach(process.pid)
        self._stalls.moved(process.pid)
        self._exits.append(ProcessExit(self.now, process, code, bool(killed_at), killed_at))
        self.kill(process.child)
        self._children.pop(process.pid, None)

    def end_child(self, process: Process, killed_at: str) -> None:
        """End the child of a shell, for the limit of the cgroup `killed_at`; the shell goes on a moment later."""
        child = process.wants.forked
        assert child is not None
        self._exits.append(ProcessExit(self.now, process, 128 + SIGKILL, True, killed_at, child=True))
        self._children[process.pid] = child, self.now - process.started, killed_at
        # The files that the shell's programs have written, and their page cache, remain.
        left = process.wants._replace(seconds=FOREVER, cpus=0.0, memory=child.rest, pids=1, forked=None)
        process.workload, process.phase = Workload((left,)), 0
        process.phase_ends, process.missing = FOREVER, 0
        self.memory.hold(process, min(child.rest, process.memory), process.cache, 0)
        self._fork(process, 1)
        process.run_at(0.0)
        self.demand(process)
        self._stalls.note(process)
        heapq.heappush(self._due, (self.now + KILLING, process.pid, _GOES_ON))

    def _go_on(self, process: Process) -> None:
        child, seconds, where = self._children.pop(process.pid)
        workload = self.after_kill(process, child, seconds)
        if workload is None:
            self.end(process, 128 + SIGKILL, killed_at=where)
            return
        process.workload = workload
        self._enter(process, 0)

    def _moved(self, pid: int, path: str) -> None:
        """Follow a process's move into another cgroup.

        Its memory stays charged to the old one until its next charge: a migration does not move charges.
        """
        process = self.processes.get(pid)
        if process is None or process.cgroup == path:
            return
        self.scheduler.want(process.cgroup, pid, 0.0, self.now)
        self._count_tasks(process.cgroup, -process.tasks)
        process.cgroup = path
        self._count_tasks(path, process.tasks)
        self.demand(process)
        self._stalls.moved(pid)

    def _removed(self, path: str) -> None:
        self.scheduler.forget(path, self.now)
        self.tmpfs.removed(path)
        self.memory.forget(path)
        self.tasks.pop(path, None)
        self._stalls.forget(path)
        parent = path.rpartition("/")[0] or "/"
        for process in self.processes.values():
            if process.charged == path:
                # The charges of a removed cgroup move to its parent (memcg_reparent_objcgs).
                process.charged = parent

    def _kill_below(self, path: str) -> None:
        for process in list(self.below(path)):
            self.kill(process.pid)

    def _reset(self, path: str, file: str) -> None:
        counted = self.memory.counters[path]
        if file == "memory.failcnt":
            counted.failures = 0
        elif file == "memory.max_usage_in_bytes":
            counted.peak = self.memory.usage(path)
        elif file == "cpuacct.usage":
            group = self.scheduler.group(path)
            group.settle(self.now)
            group.seconds = 0.0

    def advance(self, seconds: float) -> None:
        """Advance the time by a number of seconds."""
        end = self.now + seconds
        while True:
            self.scheduler.divide(self.now)
            self._stalls.press()
            growing = self._allocation.look_again()
            upcoming = self._due[0][0] if self._due else FOREVER
            moved = self.scheduler.upcoming()
            # An event may be overdue by rounding: time never runs backwards.
            until = min(end, max(min(upcoming, moved), self.now), self.now + growing)
            passed, self.now = until - self.now, until
            self.scheduler.step(until)
            if growing != FOREVER and passed > 0:
                self._allocation.grow(passed)
            changing = self._phases_over()
            for process in changing:
                if process.pid in self.processes:
                    self._next_phase(process)
            if not changing and self.now >= end:
                self.scheduler.divide(self.now)
                self._stalls.press()
                return

    def _phases_over(self) -> list[Process]:
        found = []
        while self._due and self._due[0][0] <= self.now:
            _, pid, phase = heapq.heappop(self._due)
            process = self.processes.get(pid)
            if process is None:
                continue
            if phase == _END:
                if process.ends_at <= self.now:  # else a later call of `end_in` has postponed it
                    self.end(process, process.ends_with)
            elif phase == _GOES_ON:
                self._go_on(process)
            # An entry of a phase that the process has already left is stale.
            elif process.phase == phase and process.phase_ends <= self.now:
                found.append(process)
        return found

    def _next_phase(self, process: Process) -> None:
        if process.phase + 1 < len(process.workload.phases):
            self._enter(process, process.phase + 1)
        elif process.workload.repeats is not None:
            self._enter(process, process.workload.repeats)
        else:
            self.end(process, process.workload.exit_code)

    def _enter(self, process: Process, number: int) -> None:
        process.phase = number
        phase = process.wants
        process.phase_ends = self.now + phase.seconds
        if phase.seconds != FOREVER:
            heapq.heappush(self._due, (process.phase_ends, process.pid, number))
        self._fork(process, phase.pids)
        self._allocation.charge(process, phase)
        if process.wants is not phase:  # its child was killed
            return
        if process.pid in self.processes:
            self.demand(process)
            if not phase.cpus or process.missing:
                process.run_at(0.0)
            self._write_shared(process, phase)
        if phase.child and process.pid in self.processes:
            self._raise_child(process, phase.child)

    def _write_shared(self, process: Process, phase: Phase) -> None:
        """Write to the pod's tmpfs; `shm=` goes to the first mounted one, or to /dev/shm if there is none."""
        first = next(iter(process.tmpfs), DEV_SHM)
        for name, size, mapped in (
            *((name, size, False) for name, size in phase.tmpfs),
            *(((first, phase.shm, False),) if phase.shm else ()),
            *(((first, phase.mapped, True),) if phase.mapped else ()),
        ):
            if process.pid in self.processes:
                self.tmpfs.write(process, name, size, process.tmpfs.get(name, SHM_SIZE), mapped=mapped)

    def _raise_child(self, process: Process, memory: int) -> None:
        """Set the memory of the container's second process; a killed one is not started again."""
        child = self.processes.get(process.child)
        if child is not None:
            child.workload = child.workload._replace(phases=(*child.workload.phases, Phase(FOREVER, memory=memory)))
            self._enter(child, child.phase + 1)
        elif not process.child:
            process.child = next(self._pids)
            workload = Workload((Phase(FOREVER, memory=memory),), name=f"{process.name[:9]}-child")
            self._start(process.child, workload, process.cgroup, process.oom_score_adj, workload.name, {})

    def _count_tasks(self, path: str, more: int) -> None:
        for above in upwards(path):
            self.tasks[above] += more
            if more > 0:
                counted = self.memory.counters[above]
                counted.most_processes = max(counted.most_processes, self.tasks[above])

    def _fork(self, process: Process, wanted: int) -> None:
        """Set the number of a workload's processes; the machine's limit or a pids.max may reject some.

        A fork that a pids.max rejects is counted in the cgroup of the process that forks, wherever the limit is. Since
        Linux 6.11 `max` of pids.events is counted in the cgroup with the limit and its ancestors instead.

        Source: Linux 6.1 copy_process (alloc_pid before cgroup_can_fork), pids_can_fork.
        """
        more = wanted - process.tasks
        if more > 0:
            # From the root down: without a free process id no pids.max is looked at, so the root decides equal rooms.
            rooms = [(room, p) for p in upwards(process.cgroup)[::-1] if (room := self._room_for_tasks(p)) is not None]
            room, full = min(rooms, key=itemgetter(0), default=(more, ""))
            room = max(room, 0)
            if room < more and full != "/":
                counted = self.memory.counters[process.cgroup]
                if not counted.forks_refused:
                    self.say(f"cgroup: fork rejected by pids controller in {process.cgroup}")
                counted.forks_refused += more - room
            more = min(more, room)
        process.tasks += more
        self._count_tasks(process.cgroup, more)

    def _room_for_tasks(self, path: str) -> int | None:
        if path == "/":
            return self.machine.max_pid - self.tasks["/"] if self.machine.max_pid else None
        if not self.cgroups.has(path, "pids.max"):
            return None
        text = self.cgroups.setting(path, "pids.max")
        return None if text == "max" else int(text) - self.tasks[path]

    def usage(self, path: str) -> int:
        """Return the bytes charged to a cgroup and its descendants."""
        return self.memory.usage(path)

    def limit(self, path: str) -> int | None:
        """Return the memory limit of a cgroup in bytes, of the root the machine's memory; None = no limit."""
        return self.memory.limit(path)

    def pressure(self, resource: str, path: str = "/") -> Pressure | None:
        """Return the pressure of cpu, memory or io in a cgroup, "/" = the machine; None = none so far."""
        return self._statistics.pressure(resource, path)
