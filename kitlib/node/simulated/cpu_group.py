"""One cgroup as the CPU scheduler sees it: what it may have, what it wants, what it got, and what it has counted."""

from __future__ import annotations

from dataclasses import dataclass, field

from kitlib.node.simulated import ticks
from kitlib.node.simulated.bandwidth import CfsBandwidth
from kitlib.node.simulated.cpu_sharing import EPSILON, TASK_WEIGHT
from kitlib.node.simulated.pressure import Pressure

INFINITE = float("inf")


@dataclass(eq=False, slots=True)
class TaskGroup:
    """One cgroup as the CPU scheduler sees it.

    Attributes:
        weight: cpu.shares, or cpu.weight scaled to the same measure.
        quota: CPUs that cpu.max gives;
        period: seconds of one period.
        cpus: what its processes may run on.
        tasks: process id -> CPUs that the process would like to use.
        active: the cgroups below in which a process wants to run.
        raw: CPUs that all processes in it would like to use;
        wanted: with the limits below respected, its own not;
        wish: with its own limit too;
        got: CPUs that it gets.
        idle: share of the time in which none of its processes runs.
        throttles: share of its periods that end throttled.
        held: seconds a second that it is, on each processor.
        seconds, periods, throttled, throttled_seconds, bursts, burst_seconds: what it has counted until `since`.
        followed: whether its processes are followed in time; its quota is then a `bandwidth`.
        stalled: process id -> CPUs that it would use if it were not throttled, where it is followed.
    """

    path: str
    parent: TaskGroup | None
    depth: int
    weight: float = TASK_WEIGHT
    quota: float = INFINITE
    period: float = 0.1
    cpus: frozenset[int] = frozenset()
    tasks: dict[int, float] = field(default_factory=dict)
    active: dict[str, TaskGroup] = field(default_factory=dict)
    raw: float = 0.0
    wanted: float = 0.0
    wish: float = 0.0
    got: float = 0.0
    idle: float = 1.0
    throttles: float = 0.0
    held: float = 0.0
    stale: bool = True
    since: float = 0.0
    seconds: float = 0.0
    periods: float = 0.0
    throttled: float = 0.0
    throttled_seconds: float = 0.0
    bursts: int = 0
    burst_seconds: float = 0.0
    followed: bool = False
    bandwidth: CfsBandwidth | None = None
    stalled: dict[int, float] | None = None
    pressure: Pressure | None = None

    @property
    def limit(self) -> float:
        """CPUs that it may use at most."""
        return min(self.quota, float(len(self.cpus)))

    @property
    def is_throttled(self) -> bool:
        """Whether its quota holds it back, and be it that the cgroup below has the same one."""
        return self.got >= self.quota - EPSILON and min(self.raw, len(self.cpus)) > self.quota + EPSILON

    def differs(self, amount: float) -> bool:
        """Whether it has to be divided anew where it is to get so many CPUs."""
        return self.stale or not -EPSILON < amount - self.got < EPSILON

    def settle(self, now: float) -> None:
        """Count the time since the last call, in which nothing has changed."""
        passed = now - self.since
        self.since = now
        if self.bandwidth is not None:
            self._collect(self.bandwidth)
        if passed <= 0 or self.wanted <= 0:
            return
        self.seconds += self.got * passed
        if self.quota != INFINITE:
            periods = passed / self.period
            self.periods += periods
            self.throttled += periods * self.throttles
            self.throttled_seconds += passed * self.held

    def _collect(self, counted: CfsBandwidth) -> None:
        """What the quota has counted since the last time."""
        self.periods += counted.nr_periods
        self.throttled += counted.nr_throttled
        self.throttled_seconds += counted.throttled_time / 1e9
        self.bursts += counted.nr_burst
        self.burst_seconds += counted.burst_time / 1e9
        counted.nr_periods = counted.nr_throttled = counted.throttled_time = 0
        counted.nr_burst = counted.burst_time = 0

    def throttle(self, now: float, outcome: ticks.CPUOutcome | None = None) -> None:
        """Which of its periods end throttled from now on: as ticks have it, or else all or none."""
        share = held = 0.0
        if outcome is not None:
            share, held = outcome.throttled, outcome.held
        elif self.is_throttled:
            # each processor that its threads are on stands still for it once the quota is used up
            share, held = 1.0, min(self.raw, float(len(self.cpus))) - self.quota
        if share != self.throttles or held != self.held:
            self.settle(now)
            self.throttles, self.held = share, held
