"""The throttled periods of cgroups, tick by tick: one processor, with threads that never pause.

Averages do not determine them for a cgroup near its quota. The kernel charges runtime, and checks whether a quota is
used up, at a tick (every 4 ms at 250 Hz). Until then a cgroup runs on, and owes the excess in the next period. So it
may be throttled only in every second period, although it would always get more than its quota; or in some periods,
although its weight alone gives it less, because the others are throttled too and leave it the rest of the period. All
of this is deterministic: periods and ticks are counted from the machine's start, a period of 100 ms is 25 ticks, and at
its end the quotas are refilled just before the tick.

The model has a queue for every cgroup, ordered by virtual runtime:

* charge: a thread's virtual runtime grows by its runtime divided by its weight; so does that of every cgroup above it.
  A cgroup with a quota takes 5 ms at a time from it, and its debt.
* tick: an entity that has run longer than its slice, or is ahead of the next one by more than that, is preempted.
* throttle: a cgroup that has used up its quota leaves the queue, as do cgroups above it without other runnable members;
  these return what they have taken of their own quota except 1 ms.
* refill: the quota is complete again, and nothing of the last period is added; a throttled cgroup pays its debt and
  returns at most 3 ms ahead of the others; they run on until the next tick.

This is Linux 6.1 with CFS. From 6.4 each cgroup's periods begin at a random time, from 6.6 another scheduler (EEVDF)
chooses slices; there the share of throttled periods depends on ticks too, with other values.

Sources: Documentation/scheduler/sched-bwc.rst, sched-design-CFS.rst; kernel/sched/fair.c (update_curr,
check_preempt_tick, sched_slice, place_entity, throttle_cfs_rq, __assign_cfs_rq_runtime, __return_cfs_rq_runtime,
distribute_cfs_runtime, do_sched_cfs_period_timer, get_update_sysctl_factor, pick_next_task_fair).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

TICK = 4_000_000
"""Length of a tick in nanoseconds, like every time here: CONFIG_HZ=250."""
SLICE = 5_000_000
"""Runtime that a cgroup takes from its quota at a time: sched_cfs_bandwidth_slice_us."""
KEPT = 1_000_000
"""Runtime that a cgroup without runnable threads keeps: min_cfs_rq_runtime."""
LATENCY = 6_000_000
"""Time in which every entity runs once on a machine with one processor: sysctl_sched_latency."""
GRANULARITY = 750_000
"""Minimum runtime of an entity before a preemption: sysctl_sched_min_granularity."""
FILLING = 30_000
"""Delay of the tick at the end of a period for each quota that is refilled. It is fitted to measurements of 16 cgroups
at the edge of their quota on an emulated machine (25 to 40 µs fit equally, 0 fits worse). It matters for a quota of a
whole number of ticks, which is used up at the last of them or slightly later."""
THREAD_WEIGHT = 1024
FIRST, SECONDS = 500_000_000, 5_000_000_000
"""Duration of the run before periods are counted, and of the counting."""


class BusyCgroup(NamedTuple):
    """A cgroup with processes that always want to run.

    Attributes:
        weight: weight on the scale of cpu.shares.
        threads: number of its own threads, which never pause.
        below: child cgroups.
        quota: runtime of a period in nanoseconds; 0 = no quota.
        period: length of a period in nanoseconds.
    """

    weight: int
    threads: int = 0
    below: tuple[BusyCgroup, ...] = ()
    quota: int = 0
    period: int = 100_000_000


class CPUOutcome(NamedTuple):
    """The CPU time and throttling of a cgroup.

    Attributes:
        cpus: its share of the processor, 0 to 1.
        throttled: share of its periods that ended throttled, 0 to 1.
        held: share of the time in which it was throttled, 0 to 1.
    """

    cpus: float
    throttled: float
    held: float


@lru_cache(maxsize=512)
def run(root: BusyCgroup, cores: int = 1) -> tuple[CPUOutcome, ...]:
    """Run one processor for some seconds of virtual time, and return the outcomes.

    Args:
        root: the root cgroup with its busy descendants.
        cores: number of processors of the machine; with more of them slices are longer.

    Returns:
        The outcome of every cgroup, each before its children.
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
    """A thread, or a cgroup in its parent's queue, with the names of `struct sched_entity`."""

    __slots__ = ("parent", "prev_sum_exec_runtime", "queued", "sum_exec_runtime", "vruntime", "weight")

    def __init__(self, weight: int, parent: CfsRq | None) -> None:
        self.weight, self.parent = weight, parent
        self.vruntime = self.sum_exec_runtime = self.prev_sum_exec_runtime = 0
        self.queued = False


class CfsRq(_SchedEntity):
    """A cgroup: its members, the running one, and its quota.

    `min_vruntime` is the smallest virtual runtime of its members; it never decreases. `runtime_remaining` is taken and
    unused runtime, negative for a debt; `pool` is the rest of the quota until the period `ends`.
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
        """Return runtime, number of periods, number of throttled ones, and throttled time."""
        return (
            self.sum_exec_runtime,
            self.periods,
            self.throttles,
            self.held + (now - self.held_since if self.throttled else 0),
        )

    def waiting(self) -> Iterator[_SchedEntity]:
        """Return the queued members except the running one."""
        return (
            sched_entity for sched_entity in self.members if sched_entity.queued and sched_entity is not self.running
        )

    def pick_next_entity(self) -> _SchedEntity | None:
        """Return the waiting member with the smallest virtual runtime."""
        return min(self.waiting(), key=lambda sched_entity: sched_entity.vruntime, default=None)

    def update_min_vruntime(self) -> None:
        """Raise min_vruntime to the smallest virtual runtime of the queued members."""
        behind = [sched_entity.vruntime for sched_entity in self.members if sched_entity.queued]
        if behind:
            self.min_vruntime = max(self.min_vruntime, min(behind))

    def assign_cfs_rq_runtime(self, wanted: int) -> bool:
        """Take runtime from the pool up to `wanted`; return whether there is any."""
        taken = min(self.pool, wanted - self.runtime_remaining)
        self.pool -= taken
        self.runtime_remaining += taken
        return self.runtime_remaining > 0

    def return_cfs_rq_runtime(self) -> None:
        """Return unused runtime to the pool except 1 ms, when no member can run; it is lost at the refill."""
        slack = self.runtime_remaining - KEPT
        if self.quota and slack > 0:
            self.pool += slack
            self.runtime_remaining = KEPT


class _Processor:
    """A processor that runs the next entity from tick to tick."""

    def __init__(self, root: BusyCgroup, factor: int) -> None:
        self.now = self._charged = 0
        self._latency, self._granularity = LATENCY * factor, GRANULARITY * factor
        self.cgroups: list[CfsRq] = []
        self._limited: list[CfsRq] = []
        self._root = self._add(root, None)
        self._pick_next_task_fair()

    def _add(self, busy: BusyCgroup, parent: CfsRq | None) -> CfsRq:
        """Add a cgroup with its threads and descendants; all are runnable from the start."""
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
        if queue.quota:  # children first: their timers are started first, so they are refilled first in every period
            self._limited.append(queue)
        return queue

    def run_until(self, end: int) -> None:
        """Run tick by tick; quotas that are due are refilled before the tick."""
        tick = self.now // TICK * TICK
        while tick < end:
            tick, late = tick + TICK, 0
            while (due := min((cfs_rq.ends for cfs_rq in self._limited), default=end + TICK)) <= tick:
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
        """Return the running entity of each level, the thread last."""
        found: list[_SchedEntity] = []
        queue: _SchedEntity = self._root
        while isinstance(queue, CfsRq) and queue.running is not None:
            found.append(queue.running)
            queue = queue.running
        return found

    def _update_curr(self) -> bool:
        """Charge the time since the last call; return whether a quota is used up."""
        passed, self._charged = self.now - self._charged, self.now
        used_up = False
        if self._root.running is not None:
            self._root.sum_exec_runtime += passed
        for sched_entity in self._chain():
            queue = sched_entity.parent
            assert queue is not None
            sched_entity.sum_exec_runtime += passed
            sched_entity.vruntime += passed * THREAD_WEIGHT // sched_entity.weight
            queue.update_min_vruntime()
            if queue.quota:
                queue.runtime_remaining -= passed
                used_up |= queue.runtime_remaining <= 0 and not queue.assign_cfs_rq_runtime(SLICE)
        return used_up

    def _task_tick_fair(self) -> bool:
        """Return whether the running entity is preempted."""
        change = self._update_curr()
        for sched_entity in reversed(self._chain()):
            queue = sched_entity.parent
            other = queue.pick_next_entity() if queue is not None else None
            if other is None:
                continue
            slice_ = self._sched_slice(sched_entity)
            ran = sched_entity.sum_exec_runtime - sched_entity.prev_sum_exec_runtime
            if ran > slice_ or (ran >= self._granularity and sched_entity.vruntime - other.vruntime > slice_):
                change = True
        return change

    def _sched_slice(self, sched_entity: _SchedEntity) -> int:
        """Return an entity's slice: its share of the latency at every level, within bounds."""
        part = max(self._latency, self._root.threads * self._granularity)
        entity = sched_entity
        while entity.parent is not None:
            part = part * entity.weight // entity.parent.load
            entity = entity.parent
        return min(max(part, self._granularity), self._latency)

    def _schedule(self) -> None:
        """Throttle cgroups without quota, from the root down, and switch to a waiting entity that has run less."""
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
        """Stop the running entity of a cgroup and of its running descendants.

        From the bottom up, a cgroup with a used-up quota is throttled.
        """
        running, queue.running = queue.running, None
        if isinstance(running, CfsRq):
            self._put_prev_task_fair(running)
        self._throttle_cfs_rq(queue)

    def _pick_next_task_fair(self) -> None:
        """Choose an entity in every cgroup that should run and has no running one."""
        queue: _SchedEntity = self._root
        while isinstance(queue, CfsRq):
            if queue.running is None:
                sched_entity = queue.pick_next_entity()
                if sched_entity is None:
                    return
                queue.running, sched_entity.prev_sum_exec_runtime = sched_entity, sched_entity.sum_exec_runtime
            queue = queue.running

    def _throttle_cfs_rq(self, queue: CfsRq) -> bool:
        """Remove a cgroup with a used-up quota from the queues above; return whether it was removed."""
        if not queue.quota or queue.runtime_remaining > 0 or queue.throttled or queue.assign_cfs_rq_runtime(1):
            return False
        queue.throttled, queue.held_since = True, self.now
        cfs_rq, leaves = queue, queue.queued
        while (parent := cfs_rq.parent) is not None:
            if leaves:
                cfs_rq.queued = False
                parent.load -= cfs_rq.weight
                parent.update_min_vruntime()
                leaves = not parent.load
                if leaves:
                    parent.return_cfs_rq_runtime()
            parent.threads -= queue.threads
            if parent.throttled:
                break
            cfs_rq = parent
        return True

    def _enqueue_task_fair(self, entity: _SchedEntity, threads: int) -> None:
        """Add an entity to every queue above in which it is missing."""
        sched_entity, comes = entity, True
        while (parent := sched_entity.parent) is not None:
            comes = comes and not sched_entity.queued
            if comes:
                # place_entity: a returning entity is at most half a latency ahead, so that a long wait does not let it
                # starve others.
                sched_entity.vruntime = max(sched_entity.vruntime, parent.min_vruntime - self._latency // 2)
                sched_entity.queued = True
                parent.load += sched_entity.weight
            parent.threads += threads
            if parent.throttled:
                break
            sched_entity = parent

    def _do_sched_cfs_period_timer(self, queue: CfsRq) -> None:
        """Start a new period of a cgroup."""
        queue.ends += queue.period
        queue.periods += 1
        queue.throttles += queue.throttled
        # Assigned, not added: without cpu.max.burst unused runtime is lost at the refill.
        queue.pool = queue.quota
        if queue.throttled:
            self._update_curr()
            if queue.assign_cfs_rq_runtime(1):
                queue.throttled = False
                queue.held += self.now - queue.held_since
                if queue.load:
                    self._enqueue_task_fair(queue, queue.threads)
