"""Pressure stall information: the share of time in which tasks wait for a resource (`cpu.pressure`, …).

`some` is the share of time in which at least one task waits, `full` that in which all tasks wait. Every 2 seconds and
one tick the kernel takes the integer percentage of the time since the last update, and moves three averages towards it:

    avg ← avg · e^(−2/T) + percents · (1 − e^(−2/T)),   T = 10, 60, 300 seconds

in fixed point with 11 bits. So a file that is read between two updates shows the averages of the last one; `total` is
current. Here the updates of a cgroup begin with its first stall, in the kernel at its creation.

Source: Documentation/accounting/psi.rst; kernel/sched/psi.c (PSI_FREQ, update_averages, calc_avgs, psi_show);
kernel/sched/loadavg.c (calc_load).
"""

from __future__ import annotations

WINDOWS = (10, 60, 300)
HZ = 250
"""Ticks a second, as configured by distributions."""
PERIOD = (2 * HZ + 1) / HZ
"""Seconds between two updates. Source: PSI_FREQ."""
_ONE = 1 << 11
_DECAY = (1677, 1981, 2034)
"""e^(−2/T) for each window, in fixed point. Source: EXP_10s, EXP_60s, EXP_300s."""
_NANO = 1e9
_PERIOD_NANOSECONDS = round(PERIOD * _NANO)


def updated(average: int, decay: int, percents: int, times: int = 1) -> int:
    """Return an average after a number of updates with the same sample. Source: calc_load.

    Args:
        average: the average in fixed point.
        decay: decay of its window in fixed point.
        percents: the sample, 0 to 100.
        times: number of updates.
    """
    active = percents * _ONE
    for _ in range(times):
        moved = average * decay + active * (_ONE - decay)
        # calc_load rounds up while rising, so that a constant load reaches its value instead of stopping below it.
        after = (moved + _ONE - 1 if active >= average else moved) // _ONE
        if after == average:
            break
        average = after
    return average


class _Line:
    """The line `some` or `full`: its current share, its total time, and its averages."""

    __slots__ = ("averages", "sampled", "share", "total")

    def __init__(self) -> None:
        self.share = self.total = self.sampled = 0.0
        self.averages = [0, 0, 0]

    def take(self, seconds: float) -> None:
        """Add time that lies within one period."""
        self.total += self.share * seconds
        self.sampled += self.share * seconds

    def update(self, periods: int) -> None:
        """End the period, and add `periods` further whole ones with the same share."""
        self._sample(1)
        if periods:
            self.total += self.share * PERIOD * periods
            self.sampled = self.share * PERIOD
            self._sample(periods)

    def _sample(self, times: int) -> None:
        stalled = min(round(self.sampled * _NANO), _PERIOD_NANOSECONDS)
        percents = stalled * 100 // _PERIOD_NANOSECONDS
        self.sampled = 0.0
        if percents or any(self.averages):
            self.averages = [updated(a, d, percents, times) for a, d in zip(self.averages, _DECAY, strict=True)]

    def show(self, name: str) -> str:
        averages = " ".join(
            f"avg{window}={average // _ONE}.{average % _ONE * 100 // _ONE:02d}"
            for window, average in zip(WINDOWS, self.averages, strict=True)
        )
        return f"{name} {averages} total={int(self.total * 1e6 + 1e-3)}"


class Pressure:
    """The pressure of one resource in one cgroup.

    Args:
        now: seconds since boot.
    """

    __slots__ = ("_full", "_next", "_since", "_some")

    def __init__(self, now: float) -> None:
        self._some, self._full = _Line(), _Line()
        self._since, self._next = now, now + PERIOD

    @property
    def some(self) -> float:
        """The share of the time, 0 to 1, in which at least one task waits, since the last call of `set`."""
        return self._some.share

    @property
    def full(self) -> float:
        """The share of the time, 0 to 1, in which all tasks wait, since the last call of `set`."""
        return self._full.share

    def set(self, now: float, some: float, full: float) -> None:
        """Set the shares from now on."""
        if some != self._some.share or full != self._full.share:
            self.settle(now)
            self._some.share, self._full.share = some, full

    def settle(self, now: float) -> None:
        """Add the time since the last call."""
        if now <= self._since:
            return
        whole = -1
        if now >= self._next:
            whole = int((now - self._next) / PERIOD)
        for line in (self._some, self._full):
            if whole < 0:
                line.take(now - self._since)
                continue
            line.take(self._next - self._since)
            line.update(whole)
            line.take(now - self._next - whole * PERIOD)
        if whole >= 0:
            self._next += (whole + 1) * PERIOD
        self._since = now

    def show(self, now: float) -> str:
        """Return the two lines of the file."""
        self.settle(now)
        return f"{self._some.show('some')}\n{self._full.show('full')}"


NOTHING = "\n".join(f"{name} avg10=0.00 avg60=0.00 avg300=0.00 total=0" for name in ("some", "full"))
"""Content of the file if no task has ever waited."""
