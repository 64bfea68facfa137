"""Processes that work in bursts, followed in time: which of their threads runs when, and who throttles it.

Averages (`cpu`) hold for work that lasts for many periods. Here each thread has a processor, and everything that
changes happens at a moment: a burst begins, a thread is done, a tick looks at quotas, a period ends. Between two such
moments rates are constant; they are the division's (`cpu`), which sees only the threads that may run now.

A process is followed where it declares bursts (`burst=160ms every=500ms`), or where a phase of it is shorter than
`BRIEF`. With it everything below the topmost cgroup above it that has a quota is followed, and nothing else: who works
steadily elsewhere is not computed tick by tick. When nobody there is brief any more, averages take over again.

Source: kernel/sched/fair.c (task_tick_fair, enqueue_task_fair, dequeue_task_fair); see `bandwidth`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from kitlib.node.simulated.bandwidth import CfsBandwidth
from kitlib.node.simulated.ticks import FILLING, TICK

BRIEF = 1.0
"""Seconds: a phase that is shorter is a burst, or the pause between two."""
NEVER = 2**63
DONE = 1000.0
"""Nanoseconds of CPU time: so little is nothing."""


class Grouped(Protocol):
    """A cgroup as it is seen here."""

    @property
    def path(self) -> str: ...

    @property
    def parent(self) -> Grouped | None: ...

    @property
    def cpus(self) -> frozenset[int]: ...

    @property
    def bandwidth(self) -> CfsBandwidth | None: ...


@dataclass(slots=True, eq=False)
class Lane:
    """The threads of one process on one processor.

    Attributes:
        cpu: which.
        want: CPUs that they would use, at most 1.
        left: nanoseconds of CPU time that they still need; infinite = until the phase ends.
        runs: whether they may, as far as quotas go.
    """

    cpu: int
    want: float
    left: float
    runs: bool = False


@dataclass(slots=True, eq=False)
class Burster:
    """A process that is followed.

    Attributes:
        group: its cgroup.
        cpus: threads that it has.
        work: seconds of CPU time of each burst, all threads together; infinite = works while its phase lasts.
        every: seconds from the beginning of one burst to that of the next.
        brief: whether it is the reason to follow its cgroups.
        due: when its next burst begins, nanoseconds; `began` when the last one should have.
        lanes: its threads that have work.
        told: CPUs that it would use and those that throttling keeps from it, as the division knows.
    """

    group: Grouped
    cpus: float
    work: float
    every: float
    brief: bool
    due: int
    began: int = 0
    lanes: list[Lane] = field(default_factory=list)
    told: tuple[float, float] = (0.0, 0.0)

    @property
    def wish(self) -> float:
        """CPUs that it would use now."""
        return sum(lane.want for lane in self.lanes if lane.runs)

    @property
    def held(self) -> float:
        """CPUs that it would use if it were not throttled."""
        return sum(lane.want for lane in self.lanes if not lane.runs)


class Bursts:
    """The processes of one machine that are followed.

    Args:
        rate: CPUs that a process gets.
        wishes: called with a cgroup, a process id, the CPUs that it would use and those that throttling keeps from it.
        done: called with a process id and the seconds that a burst took, from when it was due.

    Attributes:
        processes: by their ids.
        ended: whether a period has ended in the last step.
    """

    def __init__(
        self,
        rate: Callable[[int], float],
        wishes: Callable[[Any, int, float, float], None],
        done: Callable[[int, float], None],
    ) -> None:
        self._rate, self._wishes, self._done = rate, wishes, done
        self.processes: dict[int, Burster] = {}
        self.ended = False
        self._bandwidths: dict[str, CfsBandwidth] = {}
        self._charged = self._next_tick = self._late = 0
        self._promised = NEVER

    def watch(self, path: str, bandwidth: CfsBandwidth | None) -> None:
        """Follow the quota of a cgroup from now on; None = no longer."""
        self._bandwidths.pop(path, None)
        if bandwidth is not None:
            self._bandwidths[path] = bandwidth
            from_below = sorted(self._bandwidths.items(), key=lambda item: (-item[0].count("/"), item[0]))
            self._bandwidths = dict(from_below)

    def follow(
        self, group: Grouped, pid: int, cpus: float, now: float, *, work: float, every: float, brief: bool
    ) -> None:
        """A process of a followed cgroup wants so much from now on; 0 CPUs = nothing."""
        self.step(now)
        if not cpus:
            self.forget(pid, now)
            if not brief:
                return
        due = nanoseconds(now) if cpus else NEVER
        self.processes[pid] = Burster(group, cpus, work, every, brief, due)
        self.step(now)

    def forget(self, pid: int, now: float) -> None:
        """A process has ended, or rests."""
        found = self.processes.pop(pid, None)
        if found is not None:
            self._requeue(nanoseconds(now))
            self._wishes(found.group, pid, 0.0, 0.0)

    def upcoming(self) -> float:
        """Seconds since boot at which something changes next."""
        if not self.processes and not self._bandwidths:
            return math.inf
        moment: int = NEVER
        for bandwidth in self._bandwidths.values():
            for one in (bandwidth.ends, bandwidth.slack_at):
                if one is not None and one < moment:
                    moment = one
        for pid, process in self.processes.items():
            wish = process.wish
            rate = self._rate(pid) if wish else 0.0
            if rate > 0:
                if next(chain(process.group), None) is not None:
                    moment = min(moment, self._next_tick + self._late)
                if process.work != math.inf:
                    least = min(lane.left / lane.want for lane in process.lanes if lane.runs)
                    moment = min(moment, self._charged + math.ceil(least * wish / rate))
            elif not process.lanes:
                moment = min(moment, process.due)
        self._promised = moment
        return moment / 1e9 if moment < NEVER else math.inf

    def step(self, now: float) -> None:
        """Everything that happens up to now."""
        at = self._promised if now == self._promised / 1e9 else nanoseconds(now)
        if at > self._next_tick + self._late:  # there was nobody to look at
            self._next_tick, self._late = -(-at // TICK) * TICK, 0
        self._charge(at)
        ended = 0
        for bandwidth in self._bandwidths.values():
            while bandwidth.ends is not None and bandwidth.ends <= at:
                bandwidth.end_period(at)
                ended += 1
            if bandwidth.slack_at is not None and bandwidth.slack_at <= at:
                bandwidth.pass_on(at)
        self.ended = ended > 0
        if ended and at == self._next_tick:  # quotas are filled just before the tick looks
            self._late = FILLING * ended
        if at >= self._next_tick + self._late:
            self._tick(at)
            self._next_tick, self._late = (at // TICK + 1) * TICK, 0
        self._begin(at)
        self._requeue(at)

    def _charge(self, at: int) -> None:
        """What has run since the last time is paid for; threads that are done leave."""
        passed, self._charged = at - self._charged, at
        if passed <= 0:
            return
        for pid, one in list(self.processes.items()):
            wish = one.wish
            rate = self._rate(pid) if wish else 0.0
            if not rate:
                continue
            for lane in one.lanes:
                if lane.runs:
                    used = passed * rate * lane.want / wish
                    lane.left -= used
                    for bandwidth in chain(one.group):
                        bandwidth.charge(lane.cpu, round(used))
            one.lanes = [lane for lane in one.lanes if lane.left > DONE]
            if not one.lanes:
                self._done(pid, (at - one.began) / 1e9)
                one.due = one.began + nanoseconds(one.every)

    def _tick(self, at: int) -> None:
        for bandwidth in self._bandwidths.values():
            for cpu in sorted(bandwidth.queued):
                if cpu not in bandwidth.throttled:
                    bandwidth.tick(cpu, at)

    def _begin(self, at: int) -> None:
        """Bursts that are due: as many processors as there are threads, those with least to do first."""
        for one in self.processes.values():
            if one.lanes or one.due > at:
                continue
            load = dict.fromkeys(sorted(one.group.cpus), 0.0)
            for other in self.processes.values():
                for lane in other.lanes:
                    if lane.cpu in load:
                        load[lane.cpu] += lane.want
            cpus = sorted(load, key=lambda cpu: load[cpu])[: max(math.ceil(one.cpus), 1)]
            want = min(one.cpus / len(cpus), 1.0) if cpus else 0.0
            one.lanes = [Lane(cpu, want, one.work / len(cpus) * 1e9) for cpu in cpus]
            one.began, one.due = one.due, NEVER

    def _requeue(self, at: int) -> None:
        """Who is queued where, and may run; told to the division where it has changed."""
        queued: dict[CfsBandwidth, set[int]] = {bandwidth: set() for bandwidth in self._bandwidths.values()}
        for one in self.processes.values():
            for lane in one.lanes:
                lane.runs = True
                for bandwidth in chain(one.group):
                    queued[bandwidth].add(lane.cpu)
                    if lane.cpu not in bandwidth.queued:
                        bandwidth.enqueue(lane.cpu, at)
                    if lane.cpu in bandwidth.throttled:
                        lane.runs = False
                        break
        for bandwidth, cpus in queued.items():
            for cpu in bandwidth.queued - cpus:
                bandwidth.dequeue(cpu, at)
        for pid, one in self.processes.items():
            wishes = one.wish, one.held
            if wishes != one.told:
                one.told = wishes
                self._wishes(one.group, pid, *wishes)


def chain(group: Grouped) -> Iterator[CfsBandwidth]:
    """The quotas above a process, the lowest first."""
    above: Grouped | None = group
    while above is not None:
        if above.bandwidth is not None:
            yield above.bandwidth
        above = above.parent


def nanoseconds(seconds: float) -> int:
    """Whole nanoseconds."""
    return round(seconds * 1e9) if seconds != math.inf else NEVER
