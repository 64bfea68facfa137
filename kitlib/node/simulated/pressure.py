"""Pressure stall information: how much of the time tasks wait for a resource, as `cpu.pressure` and its like show it.

Between two changes of the machine the share of waiting time is constant, so the running averages have a closed form:

    avg(t + dt) = avg(t) · e^(−dt/T) + share · (1 − e^(−dt/T)),   T = 10, 60, 300 seconds

`some` is the share of time in which at least one task waits, `full` that in which all of them do.

Source: Documentation/accounting/psi.rst; kernel/sched/psi.c (calc_avgs, psi_show).
"""

from __future__ import annotations

import math
from functools import lru_cache

WINDOWS = (10, 60, 300)


Three = tuple[float, float, float]
"""A figure for each of the windows."""


@lru_cache(maxsize=256)  # at one instant much changes that has last changed at the same moment
def _kept(passed: float) -> Three:
    """What is left of the averages after so many seconds."""
    first, second, third = WINDOWS
    return math.exp(-passed / first), math.exp(-passed / second), math.exp(-passed / third)


def _moved(averages: Three, share: float, kept: Three) -> Three:
    (a, b, c), (k, m, n) = averages, kept
    return share + (a - share) * k, share + (b - share) * m, share + (c - share) * n


class Pressure:
    """One resource's pressure in one cgroup.

    Args:
        now: seconds since boot.

    Attributes:
        some, full: shares of the time, 0 to 1, that hold since the last call of `set`.
    """

    __slots__ = ("_averages", "_since", "_totals", "full", "some")

    def __init__(self, now: float) -> None:
        self.some = self.full = 0.0
        self._since = now
        self._totals = [0.0, 0.0]
        self._averages = [(0.0, 0.0, 0.0), (0.0, 0.0, 0.0)]

    def set(self, now: float, some: float, full: float) -> None:
        """From now on the shares are these."""
        if some != self.some or full != self.full:
            self.settle(now)
            self.some, self.full = some, full

    def settle(self, now: float) -> None:
        """Take the time since the last call into account."""
        passed = now - self._since
        if passed <= 0:
            return
        self._since = now
        kept = _kept(passed)
        self._totals[0] += self.some * passed
        self._totals[1] += self.full * passed
        self._averages[0] = _moved(self._averages[0], self.some, kept)
        self._averages[1] = _moved(self._averages[1], self.full, kept)

    def show(self, now: float) -> str:
        """The two lines of the file."""
        self.settle(now)
        return "\n".join(
            f"{name} "
            + " ".join(f"avg{window}={average * 100:.2f}" for window, average in zip(WINDOWS, averages, strict=True))
            + f" total={int(total * 1e6)}"
            for name, averages, total in zip(("some", "full"), self._averages, self._totals, strict=True)
        )


NOTHING = "\n".join(f"{name} avg10=0.00 avg60=0.00 avg300=0.00 total=0" for name in ("some", "full"))
"""What the file shows where nobody has ever waited."""
