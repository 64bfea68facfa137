"""The quota of one cgroup, slice by slice: what bursts shorter than a period do with it, on each processor.

A cgroup has a pool, its quota, filled once a period. Each processor on which its threads run takes a slice of 5 ms from
the pool when it has none left, and looks at that only at a tick (4 ms): until then it runs on, and owes what it had too
much. With several processors the debts add up, so that a burst may use more than the quota in its first period and less
in the next. Where nothing is left in the pool the processor is throttled until the period ends. A processor whose
threads sleep gives back what it took, but for 1 ms; who is throttled elsewhere gets of that 5 ms later.

Periods are counted only while the quota is used: the timer stops after a period in which nobody took of it. So a
service that works in bursts of 20 ms every half second has 4 periods a second in `nr_periods`, not 10.

With `cpu.max.burst` what was not used stays in the pool, up to that much more than the quota.

Times are whole nanoseconds since boot; periods end at multiples of their length (Linux before 6.4; later ones begin at
a random moment). Sources: Documentation/scheduler/sched-bwc.rst; kernel/sched/fair.c (__assign_cfs_rq_runtime,
account_cfs_rq_runtime, check_enqueue_throttle, throttle_cfs_rq, unthrottle_cfs_rq, distribute_cfs_runtime,
__return_cfs_rq_runtime, start_cfs_slack_bandwidth, do_sched_cfs_slack_timer, do_sched_cfs_period_timer,
__refill_cfs_bandwidth_runtime, start_cfs_bandwidth).
"""

from __future__ import annotations

from kitlib.node.simulated.ticks import KEPT, SLICE

SLACK_PERIOD = 5_000_000
"""So much later what was given back is passed on. Source: cfs_bandwidth_slack_period."""
MIN_EXPIRATION = 2_000_000
"""So shortly before a period ends nothing is passed on. Source: min_bandwidth_expiration."""


class CfsBandwidth:
    """One cgroup's quota; the names are those of `struct cfs_bandwidth`.

    Args:
        quota, period, burst: nanoseconds.

    Attributes:
        runtime: what is left in the pool.
        remaining: processor -> what it has taken and not used; below 0 it is owed.
        queued: the processors on which some thread wants to run.
        throttled: processor -> since when it is throttled, in the order in which they were.
        ends: when the period ends; None = the timer does not run.
        slack_at: when what was given back is passed on; None = it is not.
        nr_periods, nr_throttled, throttled_time, nr_burst, burst_time: as `cpu.stat` counts.
    """

    __slots__ = (
        "_idle",
        "_snap",
        "burst",
        "burst_time",
        "ends",
        "nr_burst",
        "nr_periods",
        "nr_throttled",
        "period",
        "queued",
        "quota",
        "remaining",
        "runtime",
        "slack_at",
        "throttled",
        "throttled_time",
    )

    def __init__(self, quota: int, period: int, burst: int = 0) -> None:
        self.remaining: dict[int, int] = {}
        self.queued: set[int] = set()
        self.throttled: dict[int, int] = {}
        self.ends: int | None = None
        self.slack_at: int | None = None
        self.nr_periods = self.nr_throttled = self.throttled_time = self.nr_burst = self.burst_time = 0
        self.limit(quota, period, burst)

    def limit(self, quota: int, period: int, burst: int) -> None:
        """The files have changed: the pool is filled anew. Source: tg_set_cfs_bandwidth."""
        self.quota, self.period, self.burst = quota, period, burst
        self.runtime = self._snap = quota
        self._idle = False

    def enqueue(self, cpu: int, now: int) -> None:
        """The first thread comes to a processor: it takes a slice, or is throttled at once."""
        self.queued.add(cpu)
        if cpu not in self.throttled:
            self.tick(cpu, now)

    def dequeue(self, cpu: int, now: int) -> None:
        """The last thread leaves a processor: what was taken goes back, but for 1 ms."""
        self.queued.discard(cpu)
        if cpu not in self.throttled and self.remaining.get(cpu, 0) <= 0:
            self._assign(cpu, SLICE, now)
        slack = self.remaining.get(cpu, 0) - KEPT
        if slack <= 0:
            return
        self.runtime += slack
        self.remaining[cpu] = KEPT
        if self.runtime > SLICE and self.throttled and self.slack_at is None and self.ends is not None:
            later = now + SLACK_PERIOD
            self.slack_at = later if later + MIN_EXPIRATION < self.ends else None

    def charge(self, cpu: int, used: int) -> None:
        """A thread has run on a processor."""
        self.remaining[cpu] = self.remaining.get(cpu, 0) - used

    def tick(self, cpu: int, now: int) -> None:
        """Look whether a processor has used up its slice: it takes another, or is throttled."""
        if self.remaining.get(cpu, 0) <= 0 and not self._assign(cpu, SLICE, now):
            self.throttled[cpu] = now

    def end_period(self, now: int) -> None:
        """The period timer: count, fill the pool, let those go on whose debt is paid; stop where nothing was used."""
        assert self.ends is not None
        self.nr_periods += 1
        self.runtime += self.quota
        if self._snap > self.runtime:
            self.burst_time += self._snap - self.runtime
            self.nr_burst += 1
        self.runtime = self._snap = min(self.runtime, self.quota + self.burst)
        if self._idle and not self.throttled:
            self.ends = None
            return
        self.ends += self.period
        self._idle = not self.throttled
        if self.throttled:
            self.nr_throttled += 1
            self._distribute(now)

    def pass_on(self, now: int) -> None:
        """The slack timer: what was given back goes to those that are throttled."""
        self.slack_at = None
        if self.runtime > SLICE:
            self._distribute(now)

    def _distribute(self, now: int) -> None:
        """Pay debts in the order in which processors were throttled, as far as the pool goes."""
        for cpu in list(self.throttled):
            if not self.runtime:
                return
            given = min(1 - self.remaining[cpu], self.runtime)
            self.runtime -= given
            self.remaining[cpu] += given
            if self.remaining[cpu] > 0:
                self.throttled_time += now - self.throttled.pop(cpu)

    def _assign(self, cpu: int, wanted: int, now: int) -> bool:
        """Take from the pool until so much is at hand; whether anything is."""
        if self.ends is None:
            self.ends = (now // self.period + 1) * self.period
        left = self.remaining.get(cpu, 0)
        if self.runtime > 0:
            taken = min(self.runtime, wanted - left)
            self.runtime -= taken
            left += taken
            self._idle = False
        self.remaining[cpu] = left
        return left > 0
