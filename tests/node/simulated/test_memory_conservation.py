"""Memory is conserved: random workloads, limits, kills and removals, after every step.

Nightly 100,000 steps for each version of cgroups; in the gate a sample.
"""

from __future__ import annotations

import os
import random
from contextlib import suppress
from typing import Any

import pytest

from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.common.errors import CgroupError
from kitlib.node.common.workload import declared_workload
from kitlib.node.simulated.kernel import Kernel
from kitlib.node.simulated.memory import upwards

MI = 2**20
PODS = ("a", "b", "c")
STEPS = 100_000 if os.environ.get("KITLIB_NIGHTLY") else 200
LIFE = 300
"""Steps of one machine, after which another begins."""


def load(dice: random.Random) -> str:
    """Return a workload of some phases."""

    def phase() -> str:
        cache = dice.choice((0, 0, 30, 150, 400))
        active = dice.randint(0, cache)
        parts = [
            f"memory={dice.choice((0, 3, 20, 60, 200))}Mi",
            f"cache={cache}Mi active={active}Mi dirty={dice.randint(0, cache - active)}Mi",
            dice.choice(("", f"shm={dice.choice((10, 50, 120, 300))}Mi", f"mapped={dice.choice((10, 80))}Mi")),
            dice.choice(("", "", f"child={dice.choice((10, 80))}Mi", "cpu=1")),
        ]
        return " ".join(parts)

    return "; ".join([*(f"{dice.choice((1, 3))}s {phase()}" for _ in range(dice.randint(0, 2))), phase()])


def step(dice: random.Random, made: Kernel) -> None:
    """Do one thing to the machine."""
    limit = "memory.limit_in_bytes" if made.version == 1 else "memory.max"
    what = dice.choice(("start", "start", "kill", "advance", "advance", "limit", "remove"))
    pod, container = f"/pods/{dice.choice(PODS)}", dice.choice(("x", "y"))
    path = f"{pod}/{container}"
    with suppress(CgroupError):  # a limit below what cannot be given back (v1), a cgroup with processes
        if what == "start":
            made.cgroups.makedirs(path)
            volumes = dice.choice(({}, {"v": None}, {"v": 40 * MI}))
            made.spawn(declared_workload(load(dice)), path, dice.choice((0, 500, 1000)), tmpfs=volumes)
        elif what == "kill" and made.processes:
            made.kill(dice.choice(sorted(made.processes)))
        elif what == "advance":
            made.advance(dice.choice((0.1, 1, 4)))
        elif what == "limit":
            where = dice.choice((path, pod, "/pods"))
            if made.cgroups.exists(where):
                made.cgroups.write(where, limit, str(dice.choice((50, 100, 200, 400)) * MI))
        elif what == "remove":
            where = dice.choice((path, pod))
            if made.cgroups.exists(where):
                made.cgroups.rmdir(where)


def check(made: Kernel) -> None:
    """Check the sums, the limits, and the parts of usage."""
    prefix = "total_" if made.version == 1 else ""
    names = ("rss", "cache") if made.version == 1 else ("anon", "file")
    holders = [*made.processes.values(), *made.tmpfs.below("/")]
    for holder in holders:
        assert min(holder.memory, holder.cache, holder.active, holder.dirty, holder.swapped) >= 0
        assert holder.active + holder.dirty <= holder.cache
    for path in made.cgroups.paths():
        usage, children = made.usage(path), made.cgroups.children(path)
        assert sum(made.usage(child) for child in children) <= usage
        here = [one for one in holders if path in upwards(one.charged)]
        assert usage == sum(one.memory + one.cache for one in here)
        limit = made.limit(path)
        if not any(made.below(path)):  # files of a tmpfs stay where a limit is set below them: there is no one to kill
            limit = None if limit is None else max(limit, sum(one.memory for one in here))
        assert limit is None or usage <= limit, f"{path}: {[(p.memory >> 20, p.cache >> 20, p.charged) for p in here]}"
        stat = dict(map(str.split, made.cgroups.read(path, "memory.stat").splitlines())) if path != "/" else {}
        if stat:
            figures = {key: int(value) for key, value in stat.items()}
            assert sum(figures[f"{prefix}{name}"] for name in names) == usage
            files = figures[f"{prefix}active_file"] + figures[f"{prefix}inactive_file"] + figures[f"{prefix}shmem"]
            assert files == figures[f"{prefix}{names[1]}"]


@pytest.mark.parametrize("swap", [0, 256 * MI], ids=["no swap", "swap"])
@pytest.mark.parametrize("version", [1, 2])
def test_memory_is_conserved_after_every_step(version: Any, swap: int) -> None:
    for seed in range(STEPS // 2 // LIFE):
        dice = random.Random(f"{version} {swap} {seed}")
        made = Kernel(MachineInfo.declare(4, "1Gi", swap=swap), version)
        for number in range(LIFE):
            step(dice, made)
            try:
                check(made)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, step {number}") from error
