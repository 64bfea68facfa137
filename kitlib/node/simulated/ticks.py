"""Who is throttled in which periods, tick by tick: one processor, and threads on it that never pause.

Averages do not tell it where a cgroup would get about as much as its quota. The kernel charges what has run, and looks
whether a quota is used up, when a tick comes (every 4 ms at 250 Hz). Until then a cgroup runs on, and owes in the next
period what it had too much. So it may be throttled in every second period only, although it would always get more than
its quota; or in some, although its weight alone would give it less, because the others are throttled too and leave it
the rest of the period. All of that is a rule, not chance: periods and ticks are counted from the machine's start, a
period of 100 ms is 25 ticks, and at its end the quotas are filled again just before the tick looks.

What is followed, on a queue for every cgroup and with virtual time as its order:

* charge: a thread that has run moves on in virtual time by what it ran, divided by its weight; so does every
  cgroup above it. A cgroup with a quota takes 5 ms at a time from it, and what it owes.
* tick: an entity that has run longer than its slice, or is ahead of the next one by more than that, is preempted.
* throttle: a cgroup that has used up its quota leaves the queue, and the cgroups above it that have nobody else; these
  give back what they have taken of their own quota, but for 1 ms.
* refill: the quota is whole again, nothing of the last period is added; who was throttled pays the debt and comes back
  3 ms ahead of the others at most; they run on until the next tick.

Linux 6.1 with CFS. From 6.4 each cgroup's periods begin at a random moment, from 6.6 another scheduler (EEVDF) chooses
slices; there the share of throttled periods is as much a matter of ticks, but another one.

Sources: Documentation/scheduler/sched-bwc.rst, sched-design-CFS.rst; kernel/sched/fair.c (update_curr,
check_preempt_tick, sched_slice, place_entity, throttle_cfs_rq, __assign_cfs_rq_runtime, __return_cfs_rq_runtime,
distribute_cfs_runtime, do_sched_cfs_period_timer, get_update_sysctl_factor, pick_next_task_fair).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

TICK = 4_000_000
"""Nanoseconds, like every time here: CONFIG_HZ=250."""
SLICE = 5_000_000
"""What a cgroup takes at a time from its quota: sched_cfs_bandwidth_slice_us."""
KEPT = 1_000_000
"""What a cgroup with nobody to run keeps of what it took: min_cfs_rq_runtime."""
LATENCY = 6_000_000
"""In so much time everybody runs once, on a machine with one processor."""
GRANULARITY = 750_000
"""So long everybody runs at least."""
FILLING = 30_000
"""So much later, for each quota that is filled, the tick at the end of a period looks. Fitted to what 16 cgroups at the
edge of their quota did on an emulated machine (25 to 40 µs fit alike, none fits worse): it matters where a quota is a
whole number of ticks, used up at the last of them or a little after it."""
THREAD_WEIGHT = 1024
FIRST, SECONDS = 500_000_000, 5_000_000_000
"""How long the processor runs before its periods are counted, and how long they are."""


class BusyCgroup(NamedTuple):
    """A cgroup in which a process wants to run all the time.

    Attributes:
        weight: as cpu.shares.
        threads: how many of its own never pause.
        below: cgroups in it.
        quota: in a period, 0 = none.
        period: its length.
    """

    weight: int
    threads: int = 0
    below: tuple[BusyCgroup, ...] = ()
    quota: int = 0
    period: int = 100_000_000


class CPUOutcome(NamedTuple):
    """What a cgroup has got.

    Attributes:
        cpus: its part of the processor.
        throttled: share of its periods that ended throttled.
        held: share of the time in which it was throttled.
    """

    cpus: float
    throttled: float
    held: float


@lru_cache(maxsize=512)
def run(root: BusyCgroup, cores: int = 1) -> tuple[CPUOutcome, ...]:
    """Let one processor run for some seconds.

    Args:
        root: who is busy on it.
        cores: how many processors the machine has; the more, the longer the slices.

    Returns:
        What every cgroup got; the root first, each before those in it.
    """
    processor = _Processor(root, min(cores, 8).bit_length())
    processor.run_until(FIRST)
    before = [queue.counted(processor.now) for queue in processor.cgroups]
    processor.run_until(FIRST + SECONDS)
    found = []
    for queue, counted in zip(processor.cgroups, before, strict=True):
        ran, periods, throttled, held = (b - a for a, b in zip(counted, queue.counted(processor.now), strict=True))
        found.append(CPUOutcome(ran / SECONDS, throttled / periods if periods else 0.0, held / SECONDS))
    return tuple(found)


class _SchedEntity:
    """A thread, or a cgroup as its parent sees it; its names are those of `struct sched_entity`."""

    __slots__ = ("parent", "prev_sum_exec_runtime", "queued", "sum_exec_runtime", "vruntime", "weight")

    def __init__(self, weight: int, parent: CfsRq | None) -> None:
        self.weight, self.parent = weight, parent
        self.vruntime = self.sum_exec_runtime = self.prev_sum_exec_runtime = 0
        self.queued = False


class CfsRq(_SchedEntity):
    """A cgroup: who stands in it, who of them runs, and what is left of its quota.

    `min_vruntime` is the virtual time of the one with least time; it never falls. `runtime_remaining` has been taken
    from the quota and not been used, below 0 it is owed; `pool` is what can still be taken until the period `ends`.
    """

    __slots__ = (
        "ends",
        "held",
        "held_since",
        "load",
        "members",
        "min_vruntime",
        "period",
        "periods",
        "pool",
        "quota",
        "running",
        "runtime_remaining",
        "threads",
        "throttled",
        "throttles",
    )  # fmt: skip

    def __init__(self, busy: BusyCgroup, parent: CfsRq | None) -> None:
        super().__init__(max(busy.weight, 2), parent)
        self.members: list[_SchedEntity] = []
        self.running: _SchedEntity | None = None
        self.min_vruntime = self.load = self.threads = 0
        self.quota, self.period, self.ends = busy.quota, busy.period, busy.period
        self.pool, self.runtime_remaining, self.throttled = busy.quota, 0, False
        self.periods = self.throttles = self.held = self.held_since = 0

    def counted(self, now: int) -> tuple[int, int, int, int]:
        """Time that it ran, periods, throttled ones, time that it was throttled."""
        return (
            self.sum_exec_runtime,
            self.periods,
            self.throttles,
            self.held + (now - self.held_since if self.throttled else 0),
        )

    def waiting(self) -> Iterator[_SchedEntity]:
        """Who is queued and does not run."""
        return (one for one in self.members if one.queued and one is not self.running)

    def pick_next_entity(self) -> _SchedEntity | None:
        """Who of them has had least: it is next."""
        return min(self.waiting(), key=lambda one: one.vruntime, default=None)

    def update_min_vruntime(self) -> None:
        """The min_vruntime follows the entity that has had least."""
        behind = [one.vruntime for one in self.members if one.queued]
        if behind:
            self.min_vruntime = max(self.min_vruntime, min(behind))

    def assign_cfs_rq_runtime(self, wanted: int) -> bool:
        """Take from the quota until so much is at hand; whether anything is."""
        taken = min(self.pool, wanted - self.runtime_remaining)
        self.pool -= taken
        self.runtime_remaining += taken
        return self.runtime_remaining > 0

    def return_cfs_rq_runtime(self) -> None:
        """Nobody in it can run: almost all that was taken goes back, and is gone with the period."""
        slack = self.runtime_remaining - KEPT
        if self.quota and slack > 0:
            self.pool += slack
            self.runtime_remaining = KEPT


class _Processor:
    """Runs the next entity, from tick to tick."""

    def __init__(self, root: BusyCgroup, factor: int) -> None:
        self.now = self._charged = 0
        self._latency, self._granularity = LATENCY * factor, GRANULARITY * factor
        self.cgroups: list[CfsRq] = []
        self._limited: list[CfsRq] = []
        self._root = self._add(root, None)
        self._pick_next_task_fair()

    def _add(self, busy: BusyCgroup, parent: CfsRq | None) -> CfsRq:
        """A cgroup with its threads and those below; everybody is there from the start."""
        queue = CfsRq(busy, parent)
        if parent is not None:
            parent.members.append(queue)
        self.cgroups.append(queue)
        for below in busy.below:
            self._add(below, queue)
        for _ in range(busy.threads):
            thread = _SchedEntity(THREAD_WEIGHT, queue)
            queue.members.append(thread)
            self._enqueue_task_fair(thread, 1)
        if queue.quota:  # the timer of the lower one is started first, and filled first in every period
            self._limited.append(queue)
        return queue

    def run_until(self, end: int) -> None:
        """Tick by tick; quotas that are due are filled first."""
        tick = self.now // TICK * TICK
        while tick < end:
            tick, late = tick + TICK, 0
            while (due := min((one.ends for one in self._limited), default=end + TICK)) <= tick:
                self.now = due
                ending = [queue for queue in self._limited if queue.ends == due]
                for queue in ending:
                    self._do_sched_cfs_period_timer(queue)
                if self._root.running is None:
                    self._pick_next_task_fair()
                late = FILLING * len(ending) if due == tick else 0
            self.now = tick + late
            if self._task_tick_fair():
                self._schedule()

    def _chain(self) -> list[_SchedEntity]:
        """Who runs at each level, the thread last."""
        found: list[_SchedEntity] = []
        queue: _SchedEntity = self._root
        while isinstance(queue, CfsRq) and queue.running is not None:
            found.append(queue.running)
            queue = queue.running
        return found

    def _update_curr(self) -> bool:
        """What has run since the last time is paid for; whether a quota is used up."""
        passed, self._charged = self.now - self._charged, self.now
        used_up = False
        if self._root.running is not None:
            self._root.sum_exec_runtime += passed
        for one in self._chain():
            queue = one.parent
            assert queue is not None
            one.sum_exec_runtime += passed
            one.vruntime += passed * THREAD_WEIGHT // one.weight
            queue.update_min_vruntime()
            if queue.quota:
                queue.runtime_remaining -= passed
                used_up |= queue.runtime_remaining <= 0 and not queue.assign_cfs_rq_runtime(SLICE)
        return used_up

    def _task_tick_fair(self) -> bool:
        """Whether the running entity is preempted."""
        change = self._update_curr()
        for one in reversed(self._chain()):
            queue = one.parent
            other = queue.pick_next_entity() if queue is not None else None
            if other is None:
                continue
            slice_ = self._sched_slice(one)
            ran = one.sum_exec_runtime - one.prev_sum_exec_runtime
            if ran > slice_ or (ran >= self._granularity and one.vruntime - other.vruntime > slice_):
                change = True
        return change

    def _sched_slice(self, one: _SchedEntity) -> int:
        """How long it may run at a time: its part of the latency at every level, within bounds."""
        part = max(self._latency, self._root.threads * self._granularity)
        entity = one
        while entity.parent is not None:
            part = part * entity.weight // entity.parent.load
            entity = entity.parent
        return min(max(part, self._granularity), self._latency)

    def _schedule(self) -> None:
        """From the root down: throttle a cgroup whose quota is used up; where another entity has had less, it runs."""
        queue: _SchedEntity = self._root
        while isinstance(queue, CfsRq) and queue.running is not None:
            if self._throttle_cfs_rq(queue):
                self._put_prev_task_fair(self._root)
                break
            other = queue.pick_next_entity()
            if other is not None and other.vruntime <= queue.running.vruntime:
                self._put_prev_task_fair(queue)
                queue.running, other.prev_sum_exec_runtime = other, other.sum_exec_runtime
                break
            queue = queue.running
        self._pick_next_task_fair()

    def _put_prev_task_fair(self, queue: CfsRq) -> None:
        """Nobody runs in a cgroup any more, nor in those below that ran; from the bottom up they may be throttled."""
        running, queue.running = queue.running, None
        if isinstance(running, CfsRq):
            self._put_prev_task_fair(running)
        self._throttle_cfs_rq(queue)

    def _pick_next_task_fair(self) -> None:
        """Where nothing runs in a cgroup that is to run, the entity that has had least runs."""
        queue: _SchedEntity = self._root
        while isinstance(queue, CfsRq):
            if queue.running is None:
                one = queue.pick_next_entity()
                if one is None:
                    return
                queue.running, one.prev_sum_exec_runtime = one, one.sum_exec_runtime
            queue = queue.running

    def _throttle_cfs_rq(self, queue: CfsRq) -> bool:
        """Take a cgroup out of the queues above if its quota is used up; whether it was."""
        if not queue.quota or queue.runtime_remaining > 0 or queue.throttled or queue.assign_cfs_rq_runtime(1):
            return False
        queue.throttled, queue.held_since = True, self.now
        one, leaves = queue, queue.queued
        while (parent := one.parent) is not None:
            if leaves:
                one.queued = False
                parent.load -= one.weight
                parent.update_min_vruntime()
                leaves = not parent.load
                if leaves:
                    parent.return_cfs_rq_runtime()
            parent.threads -= queue.threads
            if parent.throttled:
                break
            one = parent
        return True

    def _enqueue_task_fair(self, entity: _SchedEntity, threads: int) -> None:
        """Take a place in every queue above, as far as one is not held there already."""
        one, comes = entity, True
        while (parent := one.parent) is not None:
            comes = comes and not one.queued
            if comes:
                one.vruntime = max(one.vruntime, parent.min_vruntime - self._latency // 2)
                one.queued = True
                parent.load += one.weight
            parent.threads += threads
            if parent.throttled:
                break
            one = parent

    def _do_sched_cfs_period_timer(self, queue: CfsRq) -> None:
        """A new period of a cgroup begins."""
        queue.ends += queue.period
        queue.periods += 1
        queue.throttles += queue.throttled
        queue.pool = queue.quota
        if queue.throttled:
            self._update_curr()
            if queue.assign_cfs_rq_runtime(1):
                queue.throttled = False
                queue.held += self.now - queue.held_since
                if queue.load:
                    self._enqueue_task_fair(queue, queue.threads)
