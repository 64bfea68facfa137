"""Taking memory: limits on the way up, page cache given back, `memory.high` that slows down, the OOM killer.

Sources: mm/memcontrol.c (try_charge_memcg, mem_cgroup_handle_over_high, mem_cgroup_out_of_memory,
mem_cgroup_get_oom_group); mm/oom_kill.c.
"""

from __future__ import annotations

from kitlib.node.common.workload import Phase
from kitlib.node.simulated import oom
from kitlib.node.simulated.kernel_state import KernelState
from kitlib.node.simulated.memory import Ledger, growth, upwards
from kitlib.node.simulated.process import Process
from kitlib.node.simulated.stalls import Stalls

KILLED = 128 + 9
"""Exit code of a process that was killed."""


class Allocation:
    """How processes of one kernel come by memory.

    Args:
        kernel: whose.
        ledger: what is charged.
        stalls: who waits.
    """

    def __init__(self, kernel: KernelState, ledger: Ledger, stalls: Stalls) -> None:
        self._kernel, self._ledger, self._stalls = kernel, ledger, stalls

    def hold_limit(self, path: str, file: str) -> None:
        """v2: a limit that was set below what is in use reclaims, and memory.max then kills (v1 refuses such a limit).

        Source: mm/memcontrol.c memory_max_write, memory_high_write.
        """
        limit = self._ledger.limit(path) if file == "memory.max" else self._ledger.high(path)
        while limit is not None and self._ledger.usage(path) > limit:
            excess = self._ledger.usage(path) - limit
            if self._ledger.reclaim(path, excess, self._kernel.below(path)) >= excess or file == "memory.high":
                return
            first = next(self._kernel.below(path), None)
            if first is None or not self._out_of_memory(path, first):
                return

    def charge(self, process: Process, phase: Phase) -> None:
        """Take a phase's memory, cgroup by cgroup upwards; the first limit in the way calls the OOM killer."""
        if process.charged != process.cgroup:
            self._ledger.hold(process, 0, 0)
            process.charged = process.cgroup
        self._ledger.hold(process, phase.memory, 0)
        process.missing = 0
        self._slow_down(process)
        self.make_room(process)
        if process.pid in self._kernel.processes and phase.cache:
            room = self._ledger.room(process.charged)
            self._ledger.hold(process, process.memory, phase.cache if room is None else min(phase.cache, room))
            self._trim_to_high(process)
            if room is not None and room < phase.cache:
                full = min(
                    (p for p in upwards(process.charged) if (limit := self._ledger.limit(p)) is not None and limit),
                    key=lambda p: (self._ledger.limit(p) or 0) - self._ledger.usage(p),
                )
                self._ledger.count(full, "max")
        self._ledger.note_peak(process.charged)
        self._stalls.note(process)

    def make_room(self, process: Process) -> None:
        """Give cache back, or kill, until no limit is exceeded."""
        while process.pid in self._kernel.processes:
            full = self._ledger.exceeded(process.charged)
            if full is None:
                return
            limit = self._ledger.limit(full) or 0
            self._ledger.count(full, "max")
            self._ledger.counters[full].failures += 1
            excess = self._ledger.usage(full) - limit
            if self._ledger.reclaim(full, excess, self._kernel.below(full)) >= excess:
                continue
            if not self._out_of_memory(full, process):
                return

    def _slow_down(self, process: Process) -> None:
        """Keep what lies above memory.high from a process: it gets it later, slowly."""
        if self._kernel.version == 1:
            return
        excess, where = self._ledger.highest_excess(process.charged)
        if excess > 0:
            self._ledger.count(where, "high")
            process.missing = min(excess, process.memory)
            self._ledger.hold(process, process.memory - process.missing, process.cache)
        self._trim_to_high(process)

    def _trim_to_high(self, process: Process) -> None:
        """Page cache above memory.high is given back."""
        if self._kernel.version == 1:
            return
        for path in upwards(process.charged):
            high = self._ledger.high(path)
            if high is not None and self._ledger.usage(path) > high and self._ledger.cache(path):
                self._ledger.count(path, "high")
                self._ledger.reclaim(path, self._ledger.usage(path) - high, self._kernel.below(path))

    def grow(self, seconds: float) -> None:
        """Processes above memory.high get a little more."""
        for process in [p for p in self._stalls.waiting if p.missing]:
            if process.pid not in self._kernel.processes:
                continue
            self._ledger.hold(process, process.memory + process.missing, process.cache)
            excess, where = self._ledger.highest_excess(process.charged)
            self._ledger.hold(process, process.memory - process.missing, process.cache)
            if excess <= 0:
                more = process.missing
            else:
                high = self._ledger.high(where) or 0
                more = min(process.missing, growth(self._ledger.anonymous(where) - high, high, seconds))
                free = max(high - self._ledger.anonymous(where), 0)
                more = min(process.missing, max(more, free))
                self._ledger.count(where, "high")
            process.missing -= more
            self._ledger.hold(process, process.memory + more, process.cache)
            self._trim_to_high(process)
            self.make_room(process)
            if process.pid in self._kernel.processes:
                self._ledger.note_peak(process.charged)
                if not process.missing:
                    self._kernel.demand(process)
                self._stalls.note(process)

    def _out_of_memory(self, path: str, invoker: Process) -> bool:
        """Kill one process, or its whole cgroup with memory.oom.group; whether a process could be killed."""
        limit = self._ledger.limit(path) or 0
        candidates = [self._kernel.candidate(p) for p in self._kernel.below(path)]
        victim = oom.choose(candidates, min(limit, self._kernel.machine.memory) // oom.PAGE)
        where = "" if path == "/" else path
        self._ledger.count(path, "oom")
        if victim is None:
            self._kernel.say("Out of memory and no killable processes...")
            return False
        usage = self._ledger.usage(path)
        self._kernel.log.extend(
            oom.log_lines(
                self._kernel.now, victim, where, invoker=invoker.name, limit=limit, usage=usage, table=candidates
            )
        )
        group = self._group_of(victim, path)
        if group is None:
            group = [self._kernel.processes[victim.pid]]
        else:  # the victim is killed once for itself, once with its group
            self._ledger.count(victim.cgroup, "oom_kill")
        for one in group:
            self._ledger.count(one.cgroup, "oom_kill")
            self._kernel.end(one, KILLED, killed_at=path)
        return True

    def _group_of(self, victim: oom.Candidate, path: str) -> list[Process] | None:
        """Everything below the highest cgroup with memory.oom.group between the victim and `path`; None = no such."""
        highest = None
        if self._kernel.version == 2:
            for above in upwards(victim.cgroup):
                if above == "/" or not (above == path or above.startswith(path.rstrip("/") + "/")):
                    break
                if (
                    self._kernel.cgroups.has(above, "memory.oom.group")
                    and self._kernel.cgroups.read(above, "memory.oom.group") == "1"
                ):
                    highest = above
        if highest is None:
            return None
        self._ledger.count(highest, "oom_group_kill")
        self._kernel.say(f"Tasks in {highest} are going to be killed due to memory.oom.group set")
        return [one for one in self._kernel.below(highest) if one.oom_score_adj != oom.UNKILLABLE]
