"""Charging memory: limits at every level, reclaim and swap, `memory.high` throttling, the OOM killer.

If a limit is reached and swap is available, a process gets memory as fast as pages are swapped out, and is killed only
when swap is full.

Sources: mm/memcontrol.c (try_charge_memcg, mem_cgroup_handle_over_high, mem_cgroup_out_of_memory,
mem_cgroup_get_oom_group); mm/oom_kill.c.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kitlib.node.common.workload import FOREVER, SHORTEST, Phase
from kitlib.node.simulated import oom
from kitlib.node.simulated.kernel_state import KernelState
from kitlib.node.simulated.memory import growth, upwards
from kitlib.node.simulated.oom import PAGE
from kitlib.node.simulated.process import Process
from kitlib.node.simulated.reclaim import Reclaim
from kitlib.node.simulated.stalls import Stalls
from kitlib.node.simulated.swap import READ, WRITE, refaulting, waiting_share

GROWING = 1.0
"""Seconds between two steps of processes that memory.high throttles, or that wait for swap."""
DIRTY_RATIO = 20
"""Limit of dirty page cache in percent of memory. Source: vm.dirty_ratio."""
KILLED = 128 + 9
"""Exit code of a process that was killed by SIGKILL."""


class Allocation:
    """The allocation of memory to the processes of one kernel.

    Args:
        kernel: the kernel's state, with the charged memory.
        stalls: the waiting processes.
        reclaim: the kernel's reclaim.
        end: ends a process; see `Kernel.end`.
        end_child: ends the child of a process, for the limit of a cgroup; see `Kernel.end_child`.
    """

    def __init__(
        self,
        kernel: KernelState,
        stalls: Stalls,
        reclaim: Reclaim,
        end: Callable[..., None],
        end_child: Callable[[Process, str], None],
    ) -> None:
        self._kernel, self._ledger, self._stalls, self._reclaim = kernel, kernel.memory, stalls, reclaim
        self._end, self._end_child = end, end_child

    def hold_limit(self, path: str, file: str) -> None:
        """Enforce a limit that was set below the usage: reclaim, and for memory.max kill processes."""
        limit = self._ledger.high(path) if file == "memory.high" else self._ledger.limit(path)
        if limit is not None and self._ledger.usage(path) > limit:
            from kitlib.node.simulated.scanning import lower  # loaded with the first limit below the usage

            kill = partial(self._kill_below, path) if file == "memory.max" else None
            lower(self._ledger, self._reclaim, path, limit, whole=self._kernel.version == 2, kill=kill)

    def _kill_below(self, path: str) -> bool:
        first = next(self._kernel.below(path), None)
        return first is not None and self._out_of_memory(path, first)

    def charge(self, process: Process, phase: Phase) -> None:
        """Charge a phase's memory at all levels; a limit that reclaim cannot keep calls the OOM killer.

        The part that was in swap stays there as long as the phase needs as much.
        """
        if process.charged != process.cgroup:
            self._ledger.hold(process, 0, 0, 0)
            process.charged, process.read = process.cgroup, 0
        kept = min(process.swapped, phase.memory)
        self._ledger.hold(process, phase.memory - kept, min(process.cache, phase.cache), kept)
        process.missing = 0
        self._slow_down(process)
        self.make_room(process)
        if process.wants is not phase:  # its child was killed
            return
        if process.pid in self._kernel.processes and phase.cache:
            self._fill_cache(process, phase)
        process.read = phase.cache
        self._ledger.note_peak(process.charged)
        self._stalls.note(process)

    def _fill_cache(self, process: Process, phase: Phase) -> None:
        """Bring a phase's files into the page cache: those not read yet, and the reclaimed ones as far as they fit.

        A full cgroup reclaims other page cache of its descendants, in proportion. Page cache never causes a kill,
        except for dirty pages on v1: v1 has no limit of dirty pages for a cgroup, so reclaim cannot always wait for the
        disk.

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
        """Reclaim, swap or kill until no limit is exceeded.

        If no process may be killed, the page fault fails and is repeated, so the process never gets the page: it waits,
        and has no more than the limit. In the kernel it is busy with this; here it uses no CPU time.

        Source: mm/memcontrol.c try_charge_memcg (nomem), pagefault_out_of_memory.
        """
        while process.pid in self._kernel.processes:
            full = self._ledger.exceeded(process.charged)
            if full is None:
                return
            self._ledger.count_reclaims(full.path, full.size, both=not full.swap)
            rest = full.size - self._reclaim.reclaim(full.path, full.size, swap=full.swap)
            if rest <= 0:
                continue
            if not self._out_of_memory(full.path, process):
                lacking = min(rest, process.memory)
                if not lacking:
                    return
                process.missing += lacking
                self._ledger.hold(process, process.memory - lacking, process.cache)

    def _slow_down(self, process: Process) -> None:
        """Withhold memory above memory.high, and memory for which others must be swapped out; it is given later."""
        where, excess = self._crowded(process)
        if excess > 0:
            high = self._ledger.high(where)
            if high is not None and self._ledger.anonymous(where) > high:
                self._ledger.count(where, "high")
            process.missing = min(excess, process.memory)
            self._ledger.hold(process, process.memory - process.missing, process.cache)
        self._trim_to_high(process)

    def _crowded(self, process: Process) -> tuple[str, int]:
        """Return the cgroup at which a process must wait for memory, and the number of bytes; 0 = none.

        It waits above memory.high, and at a reached limit as long as swapping makes room, so that no process is killed
        yet.
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
        """Reclaim or swap the memory above memory.high."""
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
        """Return the seconds until `grow` is due, earlier if the swapping ends earlier; infinite = no process waits."""
        waiting = [process for process in self._stalls.waiting if process.missing or refaulting(process)]
        if not waiting:
            return FOREVER
        missing = [
            process.missing / WRITE
            for process in waiting
            if process.missing and self._ledger.free_swap(process.charged)
        ]
        return min(GROWING, max(min(missing, default=GROWING), SHORTEST))

    def grow(self, seconds: float) -> None:
        """Give waiting processes some memory, and swap some needed pages in."""
        for process in [p for p in self._stalls.waiting if p.missing or refaulting(p)]:
            if process.pid in self._kernel.processes and process.missing:
                self._get_more(process, seconds)
            if process.pid in self._kernel.processes:
                self._swap_in(process, seconds)
                self._ledger.note_peak(process.charged)
                self.reconsider(process)

    def reconsider(self, process: Process) -> None:
        """Update a process's demand of CPUs and its stall after a change of the memory that it waits for."""
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
        """Return the bytes that a process gets in a time: the rate of swapping, or of throttling above memory.high.

        Args:
            where: the cgroup with the limit.
            seconds: the time in seconds.
            wanted: maximum bytes.
        """
        high = self._ledger.high(where)
        swappable = self._reclaim.swappable(where)
        if swappable or high is None:
            return min(int(WRITE * seconds), swappable or wanted)
        self._ledger.count(where, "high")
        return growth(self._ledger.anonymous(where) - high, high, seconds)

    def _swap_in(self, process: Process, seconds: float) -> None:
        """Swap needed pages in while there is room for them, including room made by unneeded pages."""
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
        if read > back:  # thrashing: each page read from swap drives out another needed page
            self._ledger.count_swapped(process.charged, read - back)

    def _out_of_memory(self, path: str, invoker: Process) -> bool:
        """Kill a process, or its whole cgroup with memory.oom.group; return whether any process could be killed."""
        limit = self._ledger.limit(path) or 0
        candidates = [self._kernel.candidate(p) for p in self._kernel.below(path)]
        victim = oom.choose(candidates, min(limit, self._kernel.machine.memory) // oom.PAGE)
        where = "" if path == "/" else path
        self._ledger.count(path, "oom")
        if victim is None:
            self._kernel.say("Out of memory and no killable processes...")
            return False
        from kitlib.node.simulated.oom_group import group_of  # loaded with the first kill
        from kitlib.node.simulated.oom_log import log_lines

        usage = self._ledger.usage(path)
        self._kernel.log.extend(
            log_lines(self._kernel.now, victim, where, invoker=invoker.name, limit=limit, usage=usage, table=candidates)
        )
        group = group_of(self._kernel, victim, path)
        if group is None:
            process = self._kernel.processes[victim.pid]
            self._ledger.count(process.cgroup, "oom_kill")
            if process.wants.forked is not None:
                self._end_child(process, path)
            else:
                self._end(process, KILLED, killed_at=path)
            return True
        # the kernel counts the victim's kill itself and again with its group (__oom_kill_process)
        self._ledger.count(victim.cgroup, "oom_kill")
        for process in group:
            self._ledger.count(process.cgroup, "oom_kill")
            self._end(process, KILLED, killed_at=path)
        return True
