"""Bursts shorter than a period on both kernels: how long they take, how often they are throttled, what periods count.

A process works in bursts (`burst=` of the workload language) under a quota; the real one is the process that follows a
workload in a node. As test_processors.py it is for a machine with one processor whose clock counts instructions
(`.ci/vm v2-clock`). The table goes to the artifact `bursts-v2.md` (or v1).

What was measured, on which the bounds stand (five bursts of each of seven cases, v1 and v2; the simulated burst begins
as far into its period as the real one): CPU time the same to a millisecond; medians apart by 6 ms at most (a tick and a
half); periods and throttled periods the same, but for one burst of five in one case that ended a period later on the
real kernel, with 30 ms of throttled time more on average.
"""

from __future__ import annotations

import math
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kitlib.kubelet.cm.cgroup_tree import Version
from kitlib.node.common.workload import Workload, declared_workload
from kitlib.node.real.oci import workload_command
from tests.vm.bench import Puppets, Real, Side, Simulated

VERSION = os.environ.get("KITLIB_VM", "v2")
FIRST, COUNT = 2, 5
"""Bursts before those that are compared, and these."""


PERIOD = 0.1
"""Seconds of a period; those of Linux 6.1 begin at multiples of it since boot."""
APART = 0.012
"""Seconds by which the medians may differ: three ticks."""


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
    """What a case did: seconds that each burst took, and what was counted of each on average."""

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


def seen(took: list[float], before: Counted, after: Counted) -> Seen:
    """Of each burst."""
    return Seen(took, Counted(*((b - a) / len(took) for a, b in zip(before, after, strict=True))))


def really(side: Real, case: Case) -> tuple[Seen, float]:
    """On the real kernel, and how many seconds after the begin of a period its bursts begin.

    The start of Python, which uses quota too, and the first bursts do not count.
    """
    set_up(side, case, side.fs.version)
    (phase,) = declared_workload(case.workload).phases
    command = workload_command(Workload((phase,)))
    wait = "import os, sys; sys.stdin.read(1); os.execv(sys.argv[1], sys.argv[1:])"
    started = [sys.executable, "-I", "-S", "-c", wait, *command]
    with subprocess.Popen(started, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        side.attach("burst", process.pid)
        process.stdin.write("x")
        process.stdin.close()
        took, began, before = [], math.inf, Counted(0, 0, 0, 0)
        for number in range(FIRST + COUNT):
            took.append(float(process.stdout.readline().split()[2]))
            began = min(began, time.monotonic() - took[-1] - number * phase.every)  # a line is read late, never early
            if number == FIRST - 1:
                before = counted(side, side.fs.version)
        found = seen(took[FIRST:], before, counted(side, side.fs.version))
        for pid in side.fs.procs(side.path("burst")):
            os.kill(pid, signal.SIGKILL)
    side.clear()
    return found, began % PERIOD


def modelled(case: Case, version: Version, offset: float) -> Seen:
    """On the simulated one, whose periods begin at 0 as those of the real one."""
    side = Simulated(version)
    set_up(side, case, version)
    side.kernel.advance(offset)
    pid = side.kernel.spawn(declared_workload(case.workload), side.path("burst"))
    process, before = side.kernel.processes[pid], Counted(0, 0, 0, 0)
    while len(process.bursts) < FIRST + COUNT:
        done = len(process.bursts)
        side.kernel.advance(0.001)
        if len(process.bursts) == FIRST and done < FIRST:
            before = counted(side, version)
    return seen(process.bursts[FIRST:], before, counted(side, version))


@pytest.fixture
def real(puppets: Puppets) -> Iterator[Real]:
    side = Real(puppets)
    yield side
    side.clear()


def test_bursts_take_as_long_and_are_throttled_as_often(real: Real, artifacts: Path) -> None:
    rows = []
    for case in CASES:
        theirs, offset = really(real, case)
        rows.append((case, modelled(case, real.fs.version, offset), theirs))
    lines = ["| workload | quota | | median | shortest | longest | CPU s | periods | throttled | waited |"]
    lines += ["|" + "---|" * 10]
    for case, *both in rows:
        for name, one in zip(("simulated", "real"), both, strict=True):
            figures = [statistics.median(one.bursts), min(one.bursts), max(one.bursts), *one.counted]
            shown = " | ".join(f"{figure:.3f}" for figure in figures)
            lines.append(f"| {case.workload} | {case.quota} | {name} | {shown} |")
    (artifacts / f"bursts-{VERSION}.md").write_text("\n".join(lines) + "\n")
    for case, ours, theirs in rows:
        name = f"{case}\n" + "\n".join(lines)
        assert statistics.median(theirs.bursts) == pytest.approx(statistics.median(ours.bursts), abs=APART), name
        assert theirs.counted.used == pytest.approx(ours.counted.used, abs=0.003), name
        assert theirs.counted.periods == pytest.approx(ours.counted.periods, abs=1 / 2), name
        assert theirs.counted.throttled == pytest.approx(ours.counted.throttled, abs=1 / 2), name
        assert theirs.counted.waited == pytest.approx(ours.counted.waited, abs=PERIOD / 2), name
