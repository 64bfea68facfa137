"""Who is throttled in which periods, tick by tick: one processor, and threads on it that never pause.

Averages do not tell it where a cgroup would get about as much as its quota. The kernel charges what has run, and looks
whether a quota is used up, when a tick comes (every 4 ms at 250 Hz). Until then a cgroup runs on, and owes in the next
period what it had too much. So it may be throttled in every second period only, although it would always get more than
its quota; or in some, although its weight alone would give it less, because the others are throttled too and leave it
the rest of the period. All of that is a rule, not chance: periods and ticks are counted from the machine's start, a
period of 100 ms is 25 ticks, and at its end the quotas are filled again just before the tick looks.

What is followed, on a queue for every cgroup and with virtual time as its order:

* charge: a thread that has run moves on in virtual time by what it ran, divided by its weight; so does every cgroup
  above it. A cgroup with a quota takes 5 ms at a time from it, and what it owes.
* tick: whoever has run longer than its slice, or is ahead of the next one by more than that, makes room.
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


class Busy(NamedTuple):
    """A cgroup in which somebody wants to run all the time.

    Attributes:
        weight: as cpu.shares. threads: how many of its own never pause. below: cgroups in it.
        quota: in a period, 0 = none. period: its length.
    """

    weight: int
    threads: int = 0
    below: tuple[Busy, ...] = ()
    quota: int = 0
    period: int = 100_000_000


class Outcome(NamedTuple):
    """What a cgroup has got.

    Attributes:
        cpus: its part of the processor. throttled: share of its periods that ended throttled.
        held: share of the time in which it was throttled.
    """

    cpus: float
    throttled: float
    held: float


@lru_cache(maxsize=512)
def run(root: Busy, cores: int = 1) -> tuple[Outcome, ...]:
    """Let one processor run for some seconds.

    Args:
        root: who is busy on it. cores: how many processors the machine has; the more, the longer the slices.

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
        found.append(Outcome(ran / SECONDS, throttled / periods if periods else 0.0, held / SECONDS))
    return tuple(found)


class _Entity:
    """A thread, or a cgroup as its parent sees it; `ran` when it was last chosen is `chosen_at`."""

    __slots__ = ("chosen_at", "parent", "queued", "ran", "virtual", "weight")

    def __init__(self, weight: int, parent: _Queue | None) -> None:
        self.weight, self.parent = weight, parent
        self.virtual = self.ran = self.chosen_at = 0
        self.queued = False


class _Queue(_Entity):
    """A cgroup: who stands in it, who of them runs, and what is left of its quota.

    `floor` is the virtual time of whoever has had least; it never falls. `left` has been taken from the quota and not
    been used, below 0 it is owed; `pool` is what can still be taken until the period `ends`.
    """

    __slots__ = (
        "ends", "floor", "held", "held_since", "left", "load", "members", "period", "periods", "pool", "quota",
        "running", "threads", "throttled", "throttles",
    )  # fmt: skip

    def __init__(self, busy: Busy, parent: _Queue | None) -> None:
        super().__init__(max(busy.weight, 2), parent)
        self.members: list[_Entity] = []
        self.running: _Entity | None = None
        self.floor = self.load = self.threads = 0
        self.quota, self.period, self.ends = busy.quota, busy.period, busy.period
        self.pool, self.left, self.throttled = busy.quota, 0, False
        self.periods = self.throttles = self.held = self.held_since = 0

    def counted(self, now: int) -> tuple[int, int, int, int]:
        """Time that it ran, periods, throttled ones, time that it was throttled."""
        return self.ran, self.periods, self.throttles, self.held + (now - self.held_since if self.throttled else 0)

    def waiting(self) -> Iterator[_Entity]:
        """Who is queued and does not run."""
        return (one for one in self.members if one.queued and one is not self.running)

    def hungriest(self) -> _Entity | None:
        """Who of them has had least: it is next."""
        return min(self.waiting(), key=lambda one: one.virtual, default=None)

    def raise_floor(self) -> None:
        """The floor follows whoever has had least."""
        behind = [one.virtual for one in self.members if one.queued]
        if behind:
            self.floor = max(self.floor, min(behind))

    def take(self, wanted: int) -> bool:
        """Take from the quota until so much is at hand; whether anything is."""
        taken = min(self.pool, wanted - self.left)
        self.pool -= taken
        self.left += taken
        return self.left > 0

    def give_back(self) -> None:
        """Nobody in it can run: almost all that was taken goes back, and is gone with the period."""
        slack = self.left - KEPT
        if self.quota and slack > 0:
            self.pool += slack
            self.left = KEPT


class _Processor:
    """Runs whoever is next, from tick to tick."""

    def __init__(self, root: Busy, factor: int) -> None:
        self.now = self._charged = 0
        self._latency, self._granularity = LATENCY * factor, GRANULARITY * factor
        self.cgroups: list[_Queue] = []
        self._limited: list[_Queue] = []
        self._root = self._add(root, None)
        self._choose()

    def _add(self, busy: Busy, parent: _Queue | None) -> _Queue:
        """A cgroup with its threads and those below; everybody is there from the start."""
        queue = _Queue(busy, parent)
        if parent is not None:
            parent.members.append(queue)
        self.cgroups.append(queue)
        for below in busy.below:
            self._add(below, queue)
        for _ in range(busy.threads):
            thread = _Entity(THREAD_WEIGHT, queue)
            queue.members.append(thread)
            self._enqueue(thread, 1)
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
                    self._refill(queue)
                if self._root.running is None:
                    self._choose()
                late = FILLING * len(ending) if due == tick else 0
            self.now = tick + late
            if self._tick():
                self._reschedule()

    def _chain(self) -> list[_Entity]:
        """Who runs at each level, the thread last."""
        found: list[_Entity] = []
        queue: _Entity = self._root
        while isinstance(queue, _Queue) and queue.running is not None:
            found.append(queue.running)
            queue = queue.running
        return found

    def _charge(self) -> bool:
        """What has run since the last time is paid for; whether a quota is used up."""
        passed, self._charged = self.now - self._charged, self.now
        used_up = False
        if self._root.running is not None:
            self._root.ran += passed
        for one in self._chain():
            queue = one.parent
            assert queue is not None
            one.ran += passed
            one.virtual += passed * THREAD_WEIGHT // one.weight
            queue.raise_floor()
            if queue.quota:
                queue.left -= passed
                used_up |= queue.left <= 0 and not queue.take(SLICE)
        return used_up

    def _tick(self) -> bool:
        """Whether whoever runs is to make room."""
        change = self._charge()
        for one in reversed(self._chain()):
            queue = one.parent
            other = queue.hungriest() if queue is not None else None
            if other is None:
                continue
            slice_ = self._slice(one)
            ran = one.ran - one.chosen_at
            if ran > slice_ or (ran >= self._granularity and one.virtual - other.virtual > slice_):
                change = True
        return change

    def _slice(self, one: _Entity) -> int:
        """How long it may run at a time: its part of the latency at every level, within bounds."""
        part = max(self._latency, self._root.threads * self._granularity)
        entity = one
        while entity.parent is not None:
            part = part * entity.weight // entity.parent.load
            entity = entity.parent
        return min(max(part, self._granularity), self._latency)

    def _reschedule(self) -> None:
        """From the root down: throttle whose quota is used up; where somebody else has had less, he runs."""
        queue: _Entity = self._root
        while isinstance(queue, _Queue) and queue.running is not None:
            if self._throttle(queue):
                self._leave(self._root)
                break
            other = queue.hungriest()
            if other is not None and other.virtual <= queue.running.virtual:
                self._leave(queue)
                queue.running, other.chosen_at = other, other.ran
                break
            queue = queue.running
        self._choose()

    def _leave(self, queue: _Queue) -> None:
        """Nobody runs in a cgroup any more, nor in those below that ran; from the bottom up they may be throttled."""
        running, queue.running = queue.running, None
        if isinstance(running, _Queue):
            self._leave(running)
        self._throttle(queue)

    def _choose(self) -> None:
        """Wherever nobody runs in a cgroup that is to run: whoever has had least."""
        queue: _Entity = self._root
        while isinstance(queue, _Queue):
            if queue.running is None:
                one = queue.hungriest()
                if one is None:
                    return
                queue.running, one.chosen_at = one, one.ran
            queue = queue.running

    def _throttle(self, queue: _Queue) -> bool:
        """Take a cgroup out of the queues above if its quota is used up; whether it was."""
        if not queue.quota or queue.left > 0 or queue.throttled or queue.take(1):
            return False
        queue.throttled, queue.held_since = True, self.now
        one, leaves = queue, queue.queued
        while (parent := one.parent) is not None:
            if leaves:
                one.queued = False
                parent.load -= one.weight
                parent.raise_floor()
                leaves = not parent.load
                if leaves:
                    parent.give_back()
            parent.threads -= queue.threads
            if parent.throttled:
                break
            one = parent
        return True

    def _enqueue(self, entity: _Entity, threads: int) -> None:
        """Take a place in every queue above, as far as one is not held there already."""
        one, comes = entity, True
        while (parent := one.parent) is not None:
            comes = comes and not one.queued
            if comes:
                one.virtual = max(one.virtual, parent.floor - self._latency // 2)
                one.queued = True
                parent.load += one.weight
            parent.threads += threads
            if parent.throttled:
                break
            one = parent

    def _refill(self, queue: _Queue) -> None:
        """A new period of a cgroup begins."""
        queue.ends += queue.period
        queue.periods += 1
        queue.throttles += queue.throttled
        queue.pool = queue.quota
        if queue.throttled:
            self._charge()
            if queue.take(1):
                queue.throttled = False
                queue.held += self.now - queue.held_since
                if queue.load:
                    self._enqueue(queue, queue.threads)
