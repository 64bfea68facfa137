"""Swap and memory.high on both kernels: what stays, what goes to swap, who is killed, who is only slowed down.

The same declared workload runs as a real process and on the simulated kernel, in a cgroup with the same files. They are
for cgroup v2 and make a swap file (`.ci/vm v2-uml`, and `.ci/vm v2`, whose kernel also tells of pressure). How fast the
disk is differs, so amounts are compared once they stand, and not when they do. The table goes to the artifact
`swap-v2.md`.

The interpreter of the real process takes part of its memory: the workload's figure counts OWN bytes for it, and what it
really takes lies within MARGIN of that. On a kernel with two processors a page that was read back may keep its place in
swap (63 MiB were there of a process that has 100, and 64 in memory): there swap may hold up to as much as memory.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.common.workload import declared_workload
from tests.vm.bench import PATIENCE, Real, Side, Simulated

MI = 2**20
SWAP = 256 * MI
SWAP_FILE = Path("/var/tmp/kitlib-swap")
MARGIN = 8
"""MiB."""


class Case(NamedTuple):
    """What runs and what must come of it.

    Attributes:
        workload: of the process.
        files: of its cgroup, in MiB; None = "max".
        killed: whether the OOM killer comes.
        memory, swap: MiB that must stand in the end; None = not compared, the process is gone or never done.
        slowed: whether `memory.events` counts memory.high.
        refaults: whether pages come back from swap again and again.

    What is slowed down without swap, or has pages come back, waits for memory, as `memory.pressure` tells.
    """

    workload: str
    files: dict[str, int | None]
    killed: bool = False
    memory: int | None = None
    swap: int | None = None
    slowed: bool = False
    refaults: bool = False


CASES = {
    "what does not fit below the limit goes to swap": Case(
        "1s memory=30Mi; memory=100Mi", {"memory.max": 64, "memory.swap.max": 64}, memory=64, swap=36
    ),
    "without swap for the cgroup the limit kills": Case(
        "1s memory=30Mi; memory=100Mi", {"memory.max": 64, "memory.swap.max": 0}, killed=True
    ),
    "it is killed when its swap is full": Case(
        "1s memory=30Mi; memory=160Mi", {"memory.max": 64, "memory.swap.max": 64}, killed=True
    ),
    "above memory.high it goes to swap, and is not killed": Case(
        "1s memory=30Mi; memory=100Mi",
        {"memory.max": None, "memory.high": 64, "memory.swap.max": None},
        memory=64,
        swap=36,
        slowed=True,
    ),
    "above memory.high without swap it is slowed down, and not killed": Case(
        "1s memory=30Mi; memory=400Mi", {"memory.max": None, "memory.high": 64, "memory.swap.max": 0}, slowed=True
    ),
    "what it goes over fits into memory: it does not come back from swap for long": Case(
        "1s memory=30Mi; cpu=1 memory=100Mi hot=30Mi",
        {"memory.max": 64, "memory.swap.max": 64},
        memory=64,
        swap=36,
    ),
    "what it goes over does not fit: it comes back from swap again and again": Case(
        "1s memory=30Mi; cpu=1 memory=100Mi hot=95Mi",
        {"memory.max": 64, "memory.swap.max": 64},
        refaults=True,
    ),
}
SETTLES = 12
"""Seconds of the simulated node until amounts stand: its disk writes 100 MiB a second."""
STANDS, WATCHED, GOES_ON = 5.0, 2.0, 6.0
"""Seconds: after which amounts that have not changed stand, more than one delay above memory.high lasts (two seconds,
MEMCG_MAX_HIGH_DELAY_JIFFIES in mm/memcontrol.c); in which refaults and waiting are counted; and that a
process is given which is never done."""
PRESSURE = Path("/proc/pressure/memory").exists()
WAITS, RUNS = 0.1, 0.02
"""Parts of the time: one that waits does so for longer than the first, one that does not for less than the second."""


class Seen(NamedTuple):
    """What came of a case; see Case."""

    killed: bool
    memory: int
    swap: int
    high: int
    refaults: int
    waited: float


class Begun(NamedTuple):
    """Counters before the time that is watched: pages that came back; seconds in which a process waited for memory."""

    refaults: int
    stalled: float


@pytest.fixture(scope="module", autouse=True)
def swap_file() -> Iterator[None]:
    with SWAP_FILE.open("wb") as file:
        for _ in range(SWAP // MI):
            file.write(bytes(MI))
    SWAP_FILE.chmod(0o600)
    subprocess.run(["mkswap", str(SWAP_FILE)], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["swapon", str(SWAP_FILE)], check=True)
    yield
    subprocess.run(["swapoff", str(SWAP_FILE)], check=True)
    SWAP_FILE.unlink()


def set_up(side: Side, case: Case) -> None:
    side.fs.makedirs(side.base)
    side.do_make("a")
    for file, size in case.files.items():
        side.do_write(f"a {file} {'max' if size is None else size * MI}")


def figure(side: Side, file: str, key: str = "") -> int:
    text = side.fs.read(side.path("a"), file)
    return int(dict(line.split() for line in text.splitlines())[key] if key else text)


def begun(side: Side) -> Begun:
    stat = dict(line.split() for line in side.fs.read(side.path("a"), "memory.stat").splitlines())
    return Begun(int(stat["workingset_refault_anon"]), _stalled(side) if PRESSURE else 0.0)


def _stalled(side: Side) -> float:
    some = side.fs.read(side.path("a"), "memory.pressure").splitlines()[0]
    return int(some.rpartition("total=")[2]) / 1e6


def seen(side: Side, before: Begun) -> Seen:
    killed = figure(side, "memory.events", "oom_kill") > 0
    memory, swap = (round(figure(side, f"memory.{which}current") / MI) for which in ("", "swap."))
    after = begun(side)
    waited = round((after.stalled - before.stalled) / WATCHED, 2)
    return Seen(killed, memory, swap, figure(side, "memory.events", "high"), after.refaults - before.refaults, waited)


def really(side: Real, case: Case) -> Seen:
    set_up(side, case)
    with side.working("a", declared_workload(case.workload)) as process:
        if case.memory is None and not case.killed:
            time.sleep(GOES_ON)
        else:
            _until_it_stands(lambda: (figure(side, "memory.current"), process.poll()))
        before = begun(side)
        time.sleep(WATCHED)
        return seen(side, before)


def _until_it_stands(look: Callable[[], object]) -> None:
    """Nothing changes for as long as STANDS says; at most PATIENCE."""
    end, since, last = time.monotonic() + PATIENCE, time.monotonic(), look()
    while time.monotonic() < min(end, since + STANDS):
        time.sleep(0.2)
        now = look()
        if now != last:
            since, last = time.monotonic(), now


def modelled(case: Case) -> Seen:
    pages = os.sysconf("SC_PHYS_PAGES")
    side = Simulated(2, like=MachineInfo.declare(1, pages * 4096, swap=SWAP))
    set_up(side, case)
    side.kernel.spawn(declared_workload(case.workload), side.path("a"))
    side.kernel.advance(SETTLES)
    before = begun(side)
    side.kernel.advance(WATCHED)
    return seen(side, before)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_both_kernels_do_the_same(real: Real, case: Case, artifacts: Path) -> None:
    found, model = really(real, case), modelled(case)
    with (artifacts / "swap-v2.md").open("a") as table:
        table.write(f"| {case.workload} | {case.files} | {tuple(found)} | {tuple(model)} |\n")
    for one in (found, model):
        assert one.killed == case.killed, one
        assert (one.high > 0) == case.slowed, one
        if case.memory is not None:
            assert abs(one.memory - case.memory) <= MARGIN, one
        if case.swap is not None:
            assert abs(one.swap - case.swap) <= MARGIN or (
                one is found and case.swap < one.swap <= (case.memory or 0)
            ), one
        if not case.killed:
            assert (one.refaults > 2 * MARGIN * MI // 4096) == case.refaults, one
            if PRESSURE:
                waits = case.refaults or (case.slowed and case.memory is None)
                assert one.waited > WAITS if waits else one.waited < RUNS, one
