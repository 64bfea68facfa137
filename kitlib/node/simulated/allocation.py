"""Taking memory: limits on the way up, reclaim and swap, `memory.high` that slows down, the OOM killer.

Where a limit is reached and there is swap, a process gets memory as fast as pages are written there, and is killed only
when swap is full.

Sources: mm/memcontrol.c (try_charge_memcg, mem_cgroup_handle_over_high, mem_cgroup_out_of_memory,
mem_cgroup_get_oom_group); mm/oom_kill.c.
"""

from __future__ import annotations

from kitlib.node.common.workload import FOREVER, SHORTEST, Phase
from kitlib.node.simulated import oom
from kitlib.node.simulated.kernel_state import KernelState
from kitlib.node.simulated.memory import Ledger, growth, upwards
from kitlib.node.simulated.oom import PAGE
from kitlib.node.simulated.process import Process
from kitlib.node.simulated.reclaim import Reclaim
from kitlib.node.simulated.stalls import Stalls
from kitlib.node.simulated.swap import READ, WRITE, refaulting, waiting_share

GROWING = 1.0
"""Seconds between two looks at processes that memory.high slows down, or that wait for swap."""
DIRTY_RATIO = 20
"""Percent. Source: vm.dirty_ratio."""
KILLED = 128 + 9
"""Exit code of a process that was killed."""


class Allocation:
    """How processes of one kernel come by memory.

    Args:
        kernel: whose.
        ledger: what is charged.
        stalls: who waits.
        reclaim: gives memory back.
    """

    def __init__(self, kernel: KernelState, ledger: Ledger, stalls: Stalls, reclaim: Reclaim) -> None:
        self._kernel, self._ledger, self._stalls, self._reclaim = kernel, ledger, stalls, reclaim

    def hold_limit(self, path: str, file: str) -> None:
        """A limit that was set below what is in use reclaims, and memory.max then kills; v1 refuses what needs killing.

        Source: mm/memcontrol.c memory_max_write, memory_high_write, mem_cgroup_resize_max.
        """
        limit = self._ledger.high(path) if file == "memory.high" else self._ledger.limit(path)
        while limit is not None and self._ledger.usage(path) > limit:
            excess = self._ledger.usage(path) - limit
            if self._reclaim.reclaim(path, excess) >= excess or file != "memory.max":
                return
            first = next(self._kernel.below(path), None)
            if first is None or not self._out_of_memory(path, first):
                return

    def charge(self, process: Process, phase: Phase) -> None:
        """Take a phase's memory, cgroup by cgroup upwards; the first limit in the way calls the OOM killer.

        What it had in swap stays there as long as it still has it.
        """
        if process.charged != process.cgroup:
            self._ledger.hold(process, 0, 0, 0)
            process.charged, process.read = process.cgroup, 0
        kept = min(process.swapped, phase.memory)
        self._ledger.hold(process, phase.memory - kept, min(process.cache, phase.cache), kept)
        process.missing = 0
        self._slow_down(process)
        self.make_room(process)
        if process.pid in self._kernel.processes and phase.cache:
            self._fill_cache(process, phase)
        process.read = phase.cache
        self._ledger.note_peak(process.charged)
        self._stalls.note(process)

    def _fill_cache(self, process: Process, phase: Phase) -> None:
        """Bring a phase's files into the page cache: what it has not read yet, and what fits of what was given back.

        A full cgroup gives up other page cache of all that it holds, in proportion; never is a process killed for it,
        but where the pages are dirty on v1, which has no limit of dirty pages for each cgroup and cannot always wait
        for the disk.

        Source: mm/page-writeback.c balance_dirty_pages (cgroup writeback on v2 alone), domain_dirty_limits.
        """
        new = max(phase.cache - process.read, 0)
        room = self._ledger.room(process.charged)
        lost = max(phase.cache - process.cache - new, 0)
        cache = process.cache + new + (lost if room is None else min(lost, room))
        dirty = min(phase.dirty, self._dirty_limit(process.charged))
        self._ledger.hold(process, process.memory, cache, active=min(phase.active, cache), dirty=dirty)
        self._trim_to_high(process)
        while (full := self._ledger.exceeded(process.charged)) is not None:
            self._ledger.count_reclaims(full.path, full.size, both=not full.swap)
            waits = self._kernel.version == 2 or not process.dirty
            rest = full.size - self._reclaim.reclaim(full.path, full.size, swap=False, writeback=waits)
            if rest <= 0:
                continue
            if not waits:
                if not self._out_of_memory(full.path, process) or process.pid not in self._kernel.processes:
                    return
                continue
            self._ledger.hold(process, process.memory, max(process.cache - rest, 0))
            if not process.cache:
                return

    def _dirty_limit(self, path: str) -> int:
        """Return the dirty page cache limit in bytes: vm.dirty_ratio of the machine's memory, on v2 of each cgroup."""
        limits = [self._kernel.machine.memory]
        if self._kernel.version == 2:
            limits += [limit for above in upwards(path) if (limit := self._ledger.limit(above)) is not None]
        return min(limits) * DIRTY_RATIO // 100

    def make_room(self, process: Process) -> None:
        """Give cache back, swap, or kill, until no limit is exceeded."""
        while process.pid in self._kernel.processes:
            full = self._ledger.exceeded(process.charged)
            if full is None:
                return
            self._ledger.count_reclaims(full.path, full.size, both=not full.swap)
            if self._reclaim.reclaim(full.path, full.size, swap=full.swap) >= full.size:
                continue
            if not self._out_of_memory(full.path, process):
                return

    def _slow_down(self, process: Process) -> None:
        """Keep from a process what lies above memory.high, and what others have to be swapped for: it gets it later."""
        where, excess = self._crowded(process)
        if excess > 0:
            high = self._ledger.high(where)
            if high is not None and self._ledger.anonymous(where) > high:
                self._ledger.count(where, "high")
            process.missing = min(excess, process.memory)
            self._ledger.hold(process, process.memory - process.missing, process.cache)
        self._trim_to_high(process)

    def _crowded(self, process: Process) -> tuple[str, int]:
        """Where a process has to wait for memory, and for how many bytes; 0 = nowhere.

        Above memory.high, or where a limit is reached and swap takes pages in its place, so that nobody is killed yet.
        """
        excess, where = self._ledger.highest_excess(process.charged)
        if self._ledger.swap_size:
            for path in upwards(process.charged):
                limit = self._ledger.limit(path)
                over = 0 if limit is None else self._ledger.anonymous(path) - limit
                if over > excess and self._reclaim.swappable(path) >= min(over, PAGE):
                    excess, where = over, path
        return where, excess

    def _trim_to_high(self, process: Process) -> None:
        """What lies above memory.high is given back, or swapped."""
        if self._kernel.version == 1:
            return
        for path in upwards(process.charged):
            high = self._ledger.high(path)
            if high is not None and self._ledger.usage(path) > high:
                swap = self._reclaim.swappable(path) > 0
                if swap or self._ledger.cache(path):
                    self._ledger.count(path, "high")
                    self._reclaim.reclaim(path, self._ledger.usage(path) - high)

    def look_again(self) -> float:
        """Seconds until `grow` is due; infinite = nobody waits. Sooner where all is swapped sooner."""
        waiting = [one for one in self._stalls.waiting if one.missing or refaulting(one)]
        if not waiting:
            return FOREVER
        missing = [one.missing / WRITE for one in waiting if one.missing and self._ledger.free_swap(one.charged)]
        return min(GROWING, max(min(missing, default=GROWING), SHORTEST))

    def grow(self, seconds: float) -> None:
        """Processes that wait for memory get a little more, those that need pages from swap some of them back."""
        for process in [p for p in self._stalls.waiting if p.missing or refaulting(p)]:
            if process.pid in self._kernel.processes and process.missing:
                self._get_more(process, seconds)
            if process.pid in self._kernel.processes:
                self._swap_in(process, seconds)
                self._ledger.note_peak(process.charged)
                self.reconsider(process)

    def reconsider(self, process: Process) -> None:
        """What a process waits for may have changed, and so what it wants of the CPUs."""
        if process.pid in self._kernel.processes:
            self._kernel.demand(process)
            self._stalls.note(process)

    def _get_more(self, process: Process, seconds: float) -> None:
        before = process.missing
        self._ledger.hold(process, process.memory + before, process.cache)
        where, excess = self._crowded(process)
        self._ledger.hold(process, process.memory - before, process.cache)
        more = before
        if excess > 0:
            fits = max(before - excess, 0)
            more = min(before, fits + self._wait_for(where, seconds, before))
        process.missing -= more
        self._ledger.hold(process, process.memory + more, process.cache)
        self._trim_to_high(process)
        self.make_room(process)

    def _wait_for(self, where: str, seconds: float, wanted: int) -> int:
        """Bytes more that a process gets in so many seconds: as fast as pages are swapped, or asleep above the line."""
        high = self._ledger.high(where)
        swappable = self._reclaim.swappable(where)
        if swappable or high is None:
            return min(int(WRITE * seconds), swappable or wanted)
        self._ledger.count(where, "high")
        return growth(self._ledger.anonymous(where) - high, high, seconds)

    def _swap_in(self, process: Process, seconds: float) -> None:
        """Pages that are needed come back while there is room for them, also such as others do not use."""
        lacking = refaulting(process)
        if not lacking:
            return
        read = int(READ * seconds * waiting_share(process))
        self._ledger.count_swapped(process.charged, read, back=True)
        back = min(lacking, int(READ * seconds))
        self._ledger.hold(process, process.memory + back, process.cache, process.swapped - back)
        for path in upwards(process.charged):
            limit = min(
                (one for one in (self._ledger.limit(path), self._ledger.high(path)) if one is not None), default=None
            )
            over = 0 if limit is None else self._ledger.usage(path) - limit
            if over > 0:
                over -= self._reclaim.reclaim(path, over, hot=False)
            if over > 0:
                again = min(over, back)
                back -= again
                self._ledger.hold(process, process.memory - again, process.cache, process.swapped + again)
        if read > back:  # each page that it needs drives out another that it needs
            self._ledger.count_swapped(process.charged, read - back)

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
        from kitlib.node.simulated.oom_log import log_lines

        usage = self._ledger.usage(path)
        self._kernel.log.extend(
            log_lines(self._kernel.now, victim, where, invoker=invoker.name, limit=limit, usage=usage, table=candidates)
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

    def _group_of(self, victim: oom.OOMCandidate, path: str) -> list[Process] | None:
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
