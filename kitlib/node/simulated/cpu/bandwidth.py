"""The CPU quota of one cgroup, slice by slice: the effect of bursts shorter than a period, on each processor.

A cgroup has a pool of runtime, refilled with its quota once a period. Each processor with runnable threads of the
cgroup takes a slice of 5 ms from the pool when its runtime is used up. It checks that only at a tick (4 ms): until then
it runs on and owes the excess. With several processors the debts add up, so a burst may use more than the quota in its
first period and less in the next. If the pool is empty the processor is throttled until the end of the period. A
processor whose threads sleep returns its runtime except 1 ms; 5 ms later it is given to throttled processors.

Periods are counted only while the quota is used: the timer stops after a period without use. A service with bursts
of 20 ms every half second therefore has 4 periods a second in `nr_periods`, not 10.

With `cpu.max.burst` unused runtime stays in the pool, up to that much above the quota.

Times are whole nanoseconds since boot; periods end at multiples of their length (Linux before 6.4; later ones begin at
a random time). Sources: Documentation/scheduler/sched-bwc.rst; kernel/sched/fair.c (__assign_cfs_rq_runtime,
account_cfs_rq_runtime, check_enqueue_throttle, throttle_cfs_rq, unthrottle_cfs_rq, distribute_cfs_runtime,
__return_cfs_rq_runtime, start_cfs_slack_bandwidth, do_sched_cfs_slack_timer, do_sched_cfs_period_timer,
__refill_cfs_bandwidth_runtime, start_cfs_bandwidth).
"""

from __future__ import annotations

from kitlib.node.simulated.cpu.ticks import KEPT, SLICE

SLACK_PERIOD = 5_000_000
"""Delay after which returned runtime is distributed. Source: cfs_bandwidth_slack_period."""
MIN_EXPIRATION = 2_000_000
"""Time before the end of a period in which none is distributed. Source: min_bandwidth_expiration."""


class CfsBandwidth:
    """One cgroup's quota, with the names of `struct cfs_bandwidth`.

    Args:
        quota, period, burst: the settings in nanoseconds.

    Attributes:
        runtime: runtime in the pool.
        remaining: taken and unused runtime by processor; a negative one is a debt.
        queued: processors with runnable threads.
        throttled: start of the throttling by processor, in the order of throttling.
        ends: end of the period; None = the timer is stopped.
        slack_at: time of the distribution of returned runtime; None = none is due.
        nr_periods, nr_throttled, throttled_time, nr_burst, burst_time: counters of `cpu.stat`.
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
        """Apply changed settings; the pool is refilled. Source: tg_set_cfs_bandwidth."""
        self.quota, self.period, self.burst = quota, period, burst
        self.runtime = self._snap = quota
        self._idle = False

    def enqueue(self, cpu: int, now: int) -> None:
        """Note the first runnable thread of a processor, which takes a slice or is throttled at once."""
        self.queued.add(cpu)
        if cpu not in self.throttled:
            self.tick(cpu, now)

    def dequeue(self, cpu: int, now: int) -> None:
        """Note the end of a processor's last runnable thread: its runtime is returned except 1 ms."""
        self.queued.discard(cpu)
        # dequeue_entity calls update_curr first, which takes a new slice if none is left (account_cfs_rq_runtime).
        if cpu not in self.throttled and self.remaining.get(cpu, 0) <= 0:
            self._assign(cpu, SLICE, now)
        slack = self.remaining.get(cpu, 0) - KEPT
        if slack <= 0:
            return
        self.runtime += slack
        self.remaining[cpu] = KEPT
        # Less than a slice is not worth a timer, and none is set shortly before the refill (start_cfs_slack_bandwidth).
        if self.runtime > SLICE and self.throttled and self.slack_at is None and self.ends is not None:
            later = now + SLACK_PERIOD
            self.slack_at = later if later + MIN_EXPIRATION < self.ends else None

    def charge(self, cpu: int, used: int) -> None:
        """Subtract the time that a thread has run on a processor."""
        self.remaining[cpu] = self.remaining.get(cpu, 0) - used

    def tick(self, cpu: int, now: int) -> None:
        """Take a new slice for a processor without runtime, or throttle it."""
        if self.remaining.get(cpu, 0) <= 0 and not self._assign(cpu, SLICE, now):
            self.throttled[cpu] = now

    def end_period(self, now: int) -> None:
        """Handle the period timer: count, refill the pool and unthrottle; stop the timer after a period without use."""
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
        """Handle the slack timer: distribute returned runtime to throttled processors."""
        self.slack_at = None
        if self.runtime > SLICE:
            self._distribute(now)

    def _distribute(self, now: int) -> None:
        """Pay debts in the order of throttling until the pool is empty, and unthrottle."""
        for cpu in list(self.throttled):
            if not self.runtime:
                return
            # One nanosecond more than the debt: only a positive remainder unthrottles (distribute_cfs_runtime).
            given = min(1 - self.remaining[cpu], self.runtime)
            self.runtime -= given
            self.remaining[cpu] += given
            if self.remaining[cpu] > 0:
                self.throttled_time += now - self.throttled.pop(cpu)

    def _assign(self, cpu: int, wanted: int, now: int) -> bool:
        """Take runtime from the pool up to `wanted`; return whether the processor has any."""
        if self.ends is None:
            # The timer runs on the boot-time grid of its period (hrtimer_forward_now), not from the first use.
            self.ends = (now // self.period + 1) * self.period
        left = self.remaining.get(cpu, 0)
        if self.runtime > 0:
            taken = min(self.runtime, wanted - left)
            self.runtime -= taken
            left += taken
            self._idle = False
        self.remaining[cpu] = left
        return left > 0
