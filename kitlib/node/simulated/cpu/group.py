"""One cgroup in the CPU scheduler: its settings, its demand, its share and its counters."""

from __future__ import annotations

from dataclasses import dataclass, field

from kitlib.node.simulated.cpu import ticks
from kitlib.node.simulated.cpu.bandwidth import CfsBandwidth
from kitlib.node.simulated.cpu.sharing import EPSILON, TASK_WEIGHT
from kitlib.node.simulated.pressure import Pressure

INFINITE = float("inf")


@dataclass(eq=False, slots=True)
class TaskGroup:
    """One cgroup in the CPU scheduler.

    Attributes:
        weight: cpu.shares, or cpu.weight on the same scale.
        quota: quota in CPUs; infinite = none.
        period: length of a period in seconds.
        cpus: processors on which its processes may run.
        tasks: demand in CPUs by process id.
        active: child cgroups with a demand, by path.
        raw: demand in CPUs of all its processes, without any limits.
        wanted: demand in CPUs with the limits of its descendants, without its own.
        wish: demand in CPUs with its own limit too.
        got: CPUs that it gets.
        idle: share of the time in which none of its processes runs, 0 to 1.
        throttles: share of its periods that end throttled, 0 to 1.
        held: throttled seconds a second, summed over processors.
        seconds, periods, throttled, throttled_seconds, bursts, burst_seconds: counters until `since`.
        followed: whether its processes are followed in time; its quota is then a `bandwidth`.
        stalled: throttled demand in CPUs by process id, if followed.
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
        """The maximum of its CPUs by quota and cpuset."""
        return min(self.quota, float(len(self.cpus)))

    @property
    def is_throttled(self) -> bool:
        """Whether its quota limits it, even if a child cgroup with the same quota does so too."""
        return self.got >= self.quota - EPSILON and min(self.raw, len(self.cpus)) > self.quota + EPSILON

    def differs(self, amount: float) -> bool:
        """Return whether it must be divided again if it gets `amount` CPUs."""
        return self.stale or not -EPSILON < amount - self.got < EPSILON

    def settle(self, now: float) -> None:
        """Add the time since the last call, in which nothing has changed, to the counters."""
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
        """Move the counters of a bandwidth to this cgroup."""
        self.periods += counted.nr_periods
        self.throttled += counted.nr_throttled
        self.throttled_seconds += counted.throttled_time / 1e9
        self.bursts += counted.nr_burst
        self.burst_seconds += counted.burst_time / 1e9
        counted.nr_periods = counted.nr_throttled = counted.throttled_time = 0
        counted.nr_burst = counted.burst_time = 0

    def throttle(self, now: float, outcome: ticks.CPUOutcome | None = None) -> None:
        """Set the share of throttled periods from now on: from followed ticks, else all or none."""
        share = held = 0.0
        if outcome is not None:
            share, held = outcome.throttled, outcome.held
        elif self.is_throttled:
            # every processor of its threads is throttled once the quota is used up
            share, held = 1.0, min(self.raw, float(len(self.cpus))) - self.quota
        if share != self.throttles or held != self.held:
            self.settle(now)
            self.throttles, self.held = share, held
