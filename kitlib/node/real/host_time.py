"""The CPU times of a node's processors, from which its owner computes the share of other processes.

Source: proc(5) /proc/stat (times in units of USER_HZ; guest time is part of user time); kernel accounting/psi.rst.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

_BUSY = ("user", "nice", "system", "irq", "softirq", "steal")
_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
STAT, PRESSURE = "/proc/stat", "/proc/pressure/cpu"


def busy_seconds(stat: str, processors: Collection[int], ticks: int) -> dict[str, float]:
    """Return the seconds that each processor has been busy since boot, by its id as text (JSON has no other keys).

    Args:
        stat: content of /proc/stat.
        processors: ids of those that count.
        ticks: the clock ticks of /proc/stat per second.
    """
    found = {}
    for line in stat.splitlines():
        name, *times = line.split()
        number = name.removeprefix("cpu")
        if name.startswith("cpu") and number.isdigit() and int(number) in processors:
            spent = dict(zip(_FIELDS, map(int, times), strict=False))
            found[number] = sum(spent.get(kind, 0) for kind in _BUSY) / ticks
    return found


def waited_seconds(pressure: str) -> float:
    """Return the seconds in which some task of the machine waited for a CPU: `some … total=` of /proc/pressure/cpu."""
    some = next(line for line in pressure.splitlines() if line.startswith("some"))
    return int(some.rpartition("total=")[2]) / 1e6


def host_time(own: float, now: float) -> dict[str, Any]:
    """Return the machine's counters beside the node's own.

    Args:
        own: seconds of CPU time that the node's cgroups have used.
        now: seconds on the node's clock.

    Returns:
        `at`, `own`, `busy` (seconds by processor), and `waited`, which is None if the kernel has no PSI.
    """
    with open(STAT) as file:
        busy = busy_seconds(file.read(), os.sched_getaffinity(0), os.sysconf("SC_CLK_TCK"))
    try:
        with open(PRESSURE) as file:
            waited = waited_seconds(file.read())
    except OSError:  # CONFIG_PSI is off, or psi=0
        waited = None
    return {"at": now, "own": own, "busy": busy, "waited": waited}
