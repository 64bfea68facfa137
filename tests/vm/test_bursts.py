"""Bursts shorter than a period on both kernels: how long they take, how often they are throttled, what periods count.

A process works in bursts (`burst=` of the workload language) under a quota; the real one is the process that follows a
workload in a node. As test_processors.py it is for a machine with one processor whose clock counts instructions
(`.ci/vm v2-clock`). The table goes to the artifact `bursts-v2.md` (or v1).

What was measured, on which the bounds stand (five bursts of each of seven cases, v1 and v2; the simulated burst begins
as far into its period as the real one): CPU time the same to a millisecond; medians apart by 6 ms at most (a tick and a
half); periods and throttled periods the same, but for one burst of five in one case that ended a period later on the
real kernel, and in another run one that ended two periods later (0.906 s, the four others 0.706). So what the middle
one of five bursts counts is compared, not their mean. Where a burst uses its quota up just as a period ends, a
millisecond decides whether it is throttled once more (1 ms waited in all): counts lie among those of the simulated
bursts that begin within a tick of the real ones.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from kitlib.kubelet.cm.cgroup_tree import Version
from kitlib.node.common.workload import Workload, declared_workload
from tests.vm.bench import Real, Side, Simulated

VERSION = os.environ.get("KITLIB_VM", "v2")
FIRST, COUNT = 2, 5
"""Bursts before those that are compared, and these."""


PERIOD = 0.1
"""Seconds of a period; those of Linux 6.1 begin at multiples of it since boot."""
TICK = 0.004
"""Seconds: a scheduler's tick of Linux 6.1 (250 Hz), and how exactly the begin of a real burst is known."""
APART = 3 * TICK
"""Seconds by which the medians may differ."""


class Case(NamedTuple):
    """What runs, under which quota (microseconds of 100 ms; 0 = none)."""

    workload: str
    quota: int


CASES = [
    Case("cpu=8 burst=160ms every=500ms", 50_000),
    Case("cpu=8 burst=80ms every=500ms", 50_000),
    Case("cpu=8 burst=30ms every=300ms", 50_000),
    Case("cpu=2 burst=40ms every=400ms", 20_000),
    Case("cpu=1 burst=30ms every=300ms", 20_000),
    Case("cpu=4 burst=80ms every=1s", 10_000),
    Case("cpu=8 burst=80ms every=500ms", 0),
]


class Counted(NamedTuple):
    """CPU seconds used, periods, throttled ones, seconds that processors were throttled."""

    used: float
    periods: float
    throttled: float
    waited: float


class Seen(NamedTuple):
    """What a case did: seconds that each burst took, and what the middle one counted, figure by figure."""

    bursts: list[float]
    counted: Counted


def set_up(side: Side, case: Case, version: Version) -> None:
    side.fs.makedirs(side.base)
    side.do_make("burst")
    if case.quota:
        side.do_write(f"burst {'cpu.cfs_quota_us' if version == 1 else 'cpu.max'} {case.quota}")


def counted(side: Side, version: Version) -> Counted:
    """What `cpu.stat` says."""
    stat = dict(line.split() for line in side.fs.read(side.path("burst"), "cpu.stat").splitlines())
    periods = int(stat.get("nr_periods", 0)), int(stat.get("nr_throttled", 0))
    if version == 1:
        used = int(side.fs.read(side.path("burst"), "cpuacct.usage")) / 1e9
        return Counted(used, *periods, int(stat.get("throttled_time", 0)) / 1e9)
    return Counted(int(stat["usage_usec"]) / 1e6, *periods, int(stat.get("throttled_usec", 0)) / 1e6)


def seen(took: list[float], looks: list[Counted]) -> Seen:
    """From the bursts' seconds and the looks at `cpu.stat` before the first of them and after each."""
    each = [[b - a for a, b in zip(*pair, strict=True)] for pair in pairwise(looks)]
    return Seen(took, Counted(*(statistics.median(figures) for figures in zip(*each, strict=True))))


def really(side: Real, case: Case) -> tuple[Seen, float]:
    """On the real kernel, and how many seconds after the begin of a period its bursts begin.

    The start of Python, which uses quota too, and the first bursts do not count.
    """
    set_up(side, case, side.fs.version)
    (phase,) = declared_workload(case.workload).phases
    with side.working("burst", Workload((phase,))) as process:
        assert process.stdout is not None
        took, began, looks = [], math.inf, []
        for number in range(FIRST + COUNT):
            took.append(float(process.stdout.readline().split()[2]))
            began = min(began, time.monotonic() - took[-1] - number * phase.every)  # a line is read late, never early
            looks.append(counted(side, side.fs.version))
        found = seen(took[FIRST:], looks[FIRST - 1 :])
    side.clear()
    return found, began % PERIOD


def modelled(case: Case, version: Version, offset: float) -> Seen:
    """On the simulated one, whose periods begin at 0 as those of the real one."""
    side = Simulated(version)
    set_up(side, case, version)
    side.kernel.advance(offset)
    pid = side.kernel.spawn(declared_workload(case.workload), side.path("burst"))
    process, looks = side.kernel.processes[pid], []
    while len(looks) < FIRST + COUNT:
        side.kernel.advance(0.001)
        if len(process.bursts) > len(looks):
            looks.append(counted(side, version))
    return seen(process.bursts[FIRST:], looks[FIRST - 1 :])


def test_bursts_take_as_long_and_are_throttled_as_often(real: Real, artifacts: Path) -> None:
    rows = []
    for case in CASES:
        theirs, offset = really(real, case)
        starts = PERIOD + offset, PERIOD + offset - TICK, PERIOD + offset + TICK
        ours, *near = (modelled(case, real.fs.version, start) for start in starts)
        rows.append((case, ours, [ours.counted, *(one.counted for one in near)], theirs))
    lines = ["| workload | quota | | median | shortest | longest | CPU s | periods | throttled | waited |"]
    lines += ["|" + "---|" * 10]
    for case, ours, _, theirs in rows:
        for name, one in (("simulated", ours), ("real", theirs)):
            figures = [statistics.median(one.bursts), min(one.bursts), max(one.bursts), *one.counted]
            shown = " | ".join(f"{figure:.3f}" for figure in figures)
            lines.append(f"| {case.workload} | {case.quota} | {name} | {shown} |")
    (artifacts / f"bursts-{VERSION}.md").write_text("\n".join(lines) + "\n")
    for case, ours, near, theirs in rows:
        name = f"{case}\n" + "\n".join(lines)
        assert statistics.median(theirs.bursts) == pytest.approx(statistics.median(ours.bursts), abs=APART), name
        assert theirs.counted.used == pytest.approx(ours.counted.used, abs=0.003), name
        for figure in ("periods", "throttled"):
            counts = [getattr(one, figure) for one in near]
            assert min(counts) - 1 / 2 <= getattr(theirs.counted, figure) <= max(counts) + 1 / 2, (figure, name)
        assert theirs.counted.waited == pytest.approx(ours.counted.waited, abs=PERIOD / 2), name
