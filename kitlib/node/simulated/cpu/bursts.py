"""Processes that work in bursts, followed in time: when each of their threads runs, and which quota throttles it.

Averages (`cpu`) hold for work that lasts many periods. Here each thread has a processor, and all changes are events: a
burst begins, a thread finishes, a tick checks quotas, a period ends. Between two events the rates are constant; they
are computed by the division (`cpu`), which sees only the runnable threads.

A process is followed if it declares bursts (`burst=160ms every=500ms`), or has a phase shorter than `BRIEF`. With it
everything below its topmost cgroup with a quota is followed, and nothing else: steady work elsewhere is not computed
tick by tick. When no process there is brief, averages are used again.

Source: kernel/sched/fair.c (task_tick_fair, enqueue_task_fair, dequeue_task_fair); see `bandwidth`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from kitlib.node.simulated.cpu.bandwidth import CfsBandwidth
from kitlib.node.simulated.cpu.group import TaskGroup
from kitlib.node.simulated.cpu.ticks import FILLING, TICK

BRIEF = 1.0
"""Seconds: a shorter phase is a burst, or the pause between two bursts."""
NEVER = 2**63
DONE = 1000.0
"""Nanoseconds of CPU time below which a thread has finished."""


@dataclass(slots=True, eq=False)
class Lane:
    """The threads of one process on one processor.

    Attributes:
        cpu: number of the processor.
        want: demand in CPUs, at most 1.
        left: remaining CPU time in nanoseconds; infinite = until the phase ends.
        runs: whether quotas allow them to run.
    """

    cpu: int
    want: float
    left: float
    runs: bool = False


@dataclass(slots=True, eq=False)
class Burster:
    """A process that is followed in time.

    Attributes:
        group: cgroup of the process.
        cpus: demand in CPUs: its number of threads.
        work: CPU time of each burst in seconds, all threads together; infinite = it works during its whole phase.
        every: seconds between the starts of two bursts.
        brief: whether it is a reason to follow its cgroups.
        due: start of the next burst, in nanoseconds since boot.
        began: planned start of the last burst, in nanoseconds since boot.
        lanes: its threads with work.
        told: the last reported demand in CPUs, and the part withheld by throttling.
    """

    group: TaskGroup
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
        """The current demand in CPUs."""
        return sum(lane.want for lane in self.lanes if lane.runs)

    @property
    def held(self) -> float:
        """The part of the demand in CPUs that throttling withholds."""
        return sum(lane.want for lane in self.lanes if not lane.runs)


class Bursts:
    """The followed processes of one machine.

    Args:
        rate: returns the CPUs that a process gets, by its id.
        wishes: function that receives a cgroup, a process id, its demand in CPUs, and the part withheld by throttling.
        done: function that receives a process id and the seconds from a burst's planned start to its end.

    Attributes:
        processes: followed processes by id.
        ended: whether a period has ended in the last step.
    """

    def __init__(
        self,
        rate: Callable[[int], float],
        wishes: Callable[[TaskGroup, int, float, float], None],
        done: Callable[[int, float], None],
    ) -> None:
        self._rate, self._wishes, self._done = rate, wishes, done
        self.processes: dict[int, Burster] = {}
        self.ended = False
        self._bandwidths: dict[str, CfsBandwidth] = {}
        self._charged = self._next_tick = self._late = 0
        self._promised = NEVER

    def watch(self, path: str, bandwidth: CfsBandwidth | None) -> None:
        """Follow the quota of a cgroup from now on; None = stop following it."""
        self._bandwidths.pop(path, None)
        if bandwidth is not None:
            self._bandwidths[path] = bandwidth
            from_below = sorted(self._bandwidths.items(), key=lambda item: (-item[0].count("/"), item[0]))
            # Lower cgroups first, as the kernel refills them (see `ticks`).
            self._bandwidths = dict(from_below)

    def follow(
        self, group: TaskGroup, pid: int, cpus: float, now: float, *, work: float, every: float, brief: bool
    ) -> None:
        """Set the demand of a followed process; 0 CPUs = none."""
        self.step(now)
        if not cpus:
            self.forget(pid, now)
            if not brief:
                return
        due = nanoseconds(now) if cpus else NEVER
        self.processes[pid] = Burster(group, cpus, work, every, brief, due)
        self.step(now)

    def forget(self, pid: int, now: float) -> None:
        """Remove a process that has ended or rests."""
        found = self.processes.pop(pid, None)
        if found is not None:
            self._requeue(nanoseconds(now))
            self._wishes(found.group, pid, 0.0, 0.0)

    def upcoming(self) -> float:
        """Return the time of the next event, in seconds since boot; infinite = none."""
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
                    # Rounded up: one nanosecond earlier the work would not be done, and the same event would come
                    # again.
                    moment = min(moment, self._charged + math.ceil(least * wish / rate))
            elif not process.lanes:
                moment = min(moment, process.due)
        self._promised = moment
        return moment / 1e9 if moment < NEVER else math.inf

    def step(self, now: float) -> None:
        """Process all events up to now."""
        at = self._moment(now)
        if at > self._next_tick + self._late:  # ticks without running threads were skipped
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
        if ended and at == self._next_tick:  # the refills delay the tick that coincides with the period's end
            self._late = FILLING * ended
        if at >= self._next_tick + self._late:
            self._tick(at)
            self._next_tick, self._late = (at // TICK + 1) * TICK, 0
        self._begin(at)
        self._requeue(at)

    def _moment(self, now: float) -> int:
        """Return the time in nanoseconds since boot: that of the next event if the clock cannot tell them apart.

        Events are whole nanoseconds, the clock has seconds in floating point. Within 2^51 ns of uptime (26 days) each
        nanosecond has a time of its own. Later two roundings, to seconds and back, may miss an event by `2 ulp`, and
        the same event would be awaited again; so an event within this distance is due. The moment never goes back
        behind one that was charged, or the time in between would be charged twice.
        """
        at = nanoseconds(now)
        if abs(at - self._promised) <= 2 * math.ulp(now) * 1e9:
            at = self._promised
        return max(at, self._charged)

    def _charge(self, at: int) -> None:
        """Charge the time since the last event to quotas, and remove finished threads."""
        passed, self._charged = at - self._charged, at
        if passed <= 0:
            return
        for pid, burster in list(self.processes.items()):
            wish = burster.wish
            rate = self._rate(pid) if wish else 0.0
            if not rate:
                continue
            for lane in burster.lanes:
                if lane.runs:
                    used = passed * rate * lane.want / wish
                    lane.left -= used
                    for bandwidth in chain(burster.group):
                        bandwidth.charge(lane.cpu, round(used))
            burster.lanes = [lane for lane in burster.lanes if lane.left > DONE]
            if not burster.lanes:
                self._done(pid, (at - burster.began) / 1e9)
                burster.due = burster.began + nanoseconds(burster.every)

    def _tick(self, at: int) -> None:
        for bandwidth in self._bandwidths.values():
            for cpu in sorted(bandwidth.queued):
                if cpu not in bandwidth.throttled:
                    bandwidth.tick(cpu, at)

    def _begin(self, at: int) -> None:
        """Start the bursts that are due, their threads on the least loaded processors."""
        for process in self.processes.values():
            if process.lanes or process.due > at:
                continue
            load = dict.fromkeys(sorted(process.group.cpus), 0.0)
            for other in self.processes.values():
                for lane in other.lanes:
                    if lane.cpu in load:
                        load[lane.cpu] += lane.want
            cpus = sorted(load, key=lambda cpu: load[cpu])[: max(math.ceil(process.cpus), 1)]
            want = min(process.cpus / len(cpus), 1.0) if cpus else 0.0
            process.lanes = [Lane(cpu, want, process.work / len(cpus) * 1e9) for cpu in cpus]
            process.began, process.due = process.due, NEVER

    def _requeue(self, at: int) -> None:
        """Update which processors are queued and which threads may run, and report changed demands."""
        queued: dict[CfsBandwidth, set[int]] = {bandwidth: set() for bandwidth in self._bandwidths.values()}
        for process in self.processes.values():
            for lane in process.lanes:
                lane.runs = True
                for bandwidth in chain(process.group):
                    queued[bandwidth].add(lane.cpu)
                    if lane.cpu not in bandwidth.queued:
                        bandwidth.enqueue(lane.cpu, at)
                    # A throttled cgroup leaves the queues above it, whose quotas do not see the thread
                    # (throttle_cfs_rq).
                    if lane.cpu in bandwidth.throttled:
                        lane.runs = False
                        break
        for bandwidth, cpus in queued.items():
            for cpu in bandwidth.queued - cpus:
                bandwidth.dequeue(cpu, at)
        for pid, process in self.processes.items():
            wishes = process.wish, process.held
            if wishes != process.told:
                process.told = wishes
                self._wishes(process.group, pid, *wishes)


def chain(group: TaskGroup) -> Iterator[CfsBandwidth]:
    """Yield the quotas of a cgroup and those above it, the lowest first."""
    above: TaskGroup | None = group
    while above is not None:
        if above.bandwidth is not None:
            yield above.bandwidth
        above = above.parent


def nanoseconds(seconds: float) -> int:
    """Return whole nanoseconds; `NEVER` for infinity."""
    return round(seconds * 1e9) if seconds != math.inf else NEVER
