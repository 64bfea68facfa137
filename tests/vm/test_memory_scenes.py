"""Generated scenes of charge, reclaim and limit have the same outcome and the same memory on both kernels.

A scene is one process in one cgroup with a limit: it takes anonymous memory, reads files into the page cache, and its
limit is changed. Compared after each step, with bounds that were stated before the first run:

    outcome           equal: it has the memory or dies; the limit is set, or refused (EBUSY on v1)
    anonymous bytes   within `ANON` of what it took: pages are counted for each processor in batches
    page cache        within `CACHE` and a tenth: reclaim works in batches, and frees more than is needed

A scene ends before a step where bytes decide that a scene does not set: one that ends within `CLOSE` of its limit, and
a limit where `ANON` more or less to reclaim is another round of reclaim. How often is in the artifact
`scenes-memory-v1.md` (or v2). KITLIB_SCENARIOS says how many (memory): 40 unless told, 200 by night.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import NamedTuple

from kitlib.kubelet.cm.cgroup_tree import Version
from kitlib.node.simulated.scanning import scanned
from tests.vm import scenarios
from tests.vm.bench import Real, Side, Simulated
from tests.vm.scenarios import MIB

VERSION = os.environ.get("KITLIB_VM", "v2")
ANON, CACHE, CLOSE = MIB // 4, 4 * MIB, 2 * MIB
LIMIT = {1: "memory.limit_in_bytes", 2: "memory.max"}


class Step(NamedTuple):
    """One step: an operation of the bench, and its class."""

    kind: str
    line: str
    size: int


class Seen(NamedTuple):
    """Bytes in a cgroup."""

    anon: int
    cache: int


def scene(number: int, version: Version) -> tuple[int, list[Step]]:
    """The limit in bytes, and the steps."""
    rng = random.Random(f"scene {number}")
    limit = rng.randrange(32, 97) * MIB
    steps: list[Step] = []
    if rng.random() < 0.6:
        size = int(limit * rng.uniform(0.2, 0.6)) // MIB * MIB
        steps.append(Step("charge", f"cache p {size}", size))
    for _ in range(rng.randrange(2, 6)):
        size = int(limit * rng.uniform(0.05, 0.35)) // 4096 * 4096
        steps.append(Step("reclaim" if steps and "cache" in steps[0].line else "charge", f"take p {size}", size))
        if rng.random() < 0.3:
            lower = int(limit * rng.uniform(0.3, 1.2)) // MIB * MIB
            steps.append(Step("limit", f"write a {LIMIT[version]} {lower}", lower))
    return limit, steps


def seen(side: Side, version: Version) -> Seen:
    """What the cgroup's memory.stat says; 0 once it is empty."""
    text = side.fs.read(side.path("a"), "memory.stat")
    found = dict(line.split() for line in text.splitlines())
    names = ("total_rss", "total_cache") if version == 1 else ("anon", "file")
    return Seen(*(int(found[name]) for name in names))


def outcome(side: Side, step: Step) -> str:
    """What a step shows, and whether a lower limit has killed the process."""
    ((_, text),) = side.run(step.line)
    if step.kind != "limit" or side.fs.version == 1:  # where it needs kills, v1 refuses it
        return text
    events = dict(line.split() for line in side.fs.read(side.path("a"), "memory.events").splitlines())
    return f"{text}, died" if int(events["oom_kill"]) else text


def is_close(model: Simulated, limit: int) -> bool:
    """Return whether a limit of v2 costs another round of page cache if `ANON` more or less is to be reclaimed."""
    path = model.path("a")
    excess, lists = model.kernel.usage(path) - limit, model.kernel.reclaim.inactive(path)
    few, many = (scanned(max(excess + by, 0), lists) for by in (-ANON, ANON))
    return excess > 0 and many - few > CACHE


def play(real: Real, number: int) -> tuple[list[str], bool]:
    """Return the differences of a scene, and whether it ended early because a step came too close to the limit."""
    version: Version = real.fs.version
    limit, steps = scene(number, version)
    real.begin()
    model = Simulated(version)
    for side in (real, model):
        side.run(f"!make a\n!write a {LIMIT[version]} {limit}")
    real.run("!start p a")
    usage = "memory.usage_in_bytes" if version == 1 else "memory.current"
    own = int(real.fs.read(real.path("a"), usage))
    model.run(f"!start p a {own}")
    start = seen(real, version), seen(model, version)
    anon, wrong = own, list[str]()
    for step in steps:
        bound = step.size if step.kind == "limit" else limit
        after = anon + (step.size if step.line.startswith("take") else 0)
        if abs(after - bound) < CLOSE or (step.kind == "limit" and version == 2 and is_close(model, step.size)):
            return wrong, True
        here, there = outcome(real, step), outcome(model, step)
        if here != there:
            wrong.append(f"{number}: {step.kind}: {step.line}: really {here}, simulated {there}")
            break
        if here.endswith("died"):
            break
        if step.kind == "limit" and "EBUSY" not in here:
            limit = step.size
        anon = after
        (a, c), (b, d) = seen(real, version), seen(model, version)
        if step.line.startswith("cache"):  # the puppet keeps the buffer that it wrote the file from
            more = int(real.fs.read(real.path("a"), usage)) - int(model.fs.read(model.path("a"), usage))
            model.run(f"!take p {max(more, 0)}")
            start = Seen(a, start[0].cache), Seen(seen(model, version).anon, start[1].cache)
            anon, b = own + more, start[1].anon
        a, b = a - start[0].anon, b - start[1].anon
        c, d = c - start[0].cache, d - start[1].cache
        if abs(a - b) > ANON:
            wrong.append(f"{number}: {step.kind}: {step.line}: anonymous really {a}, simulated {b}")
        if abs(c - d) > CACHE + max(c, d) // 10:
            wrong.append(f"{number}: {step.kind}: {step.line}: page cache really {c}, simulated {d}")
    return wrong, False


def test_scenes_of_charge_reclaim_and_limit_are_the_same(real: Real, artifacts: Path) -> None:
    wrong, early, ran = [], 0, 0
    for number in scenarios.numbers(0):
        found, close = play(real, number)
        wrong += found
        early, ran = early + close, ran + 1
    text = f"# Memory scenes, cgroup {VERSION}: {ran} scenes, {early} ended early, {len(wrong)} differences\n\n"
    (artifacts / f"scenes-memory-{VERSION}.md").write_text(text + "\n".join(f"* {line}" for line in wrong) + "\n")
    assert not wrong, "\n" + "\n".join(wrong[:40])
    assert early < max(ran // 3, 2)
