"""Generated scenarios on both kernels: the same victims of the OOM killer, the same parts of a processor.

Tables of every scenario go to the artifacts `scenarios-memory-v1.md` and `scenarios-cpu-v1.md` (or v2). How many are
run is set by KITLIB_SCENARIOS (memory, cpu), `60,8` unless told.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kitlib.kubelet.cgroup_tree import Version
from kitlib.node.real.mounts import kernel_log
from kitlib.node.simulated.workloads import FOREVER, Phase, Workload
from tests.vm import scenarios
from tests.vm.bench import Puppet, Puppets, Real, Side, Simulated
from tests.vm.scenarios import MIB, Scenario

VERSION = os.environ.get("KITLIB_VM", "v2")
MEMORY, CPU = (int(part) for part in os.environ.get("KITLIB_SCENARIOS", "60,8").split(","))
STEP = MIB // 4
WINDOW = 2.0
"""Seconds of CPU time that are compared."""
CLOSE = 0.01
"""A victim is certain where its badness is this much above the next one's."""
POINTS = 0.03
"""CPUs by which a part may differ."""


@pytest.fixture
def real(puppets: Puppets) -> Iterator[Real]:
    side = Real(puppets)
    yield side
    side.clear()


def limit_file(version: Version) -> str:
    return "memory.limit_in_bytes" if version == 1 else "memory.max"


def set_up_memory(side: Side, scenario: Scenario, version: Version) -> None:
    """The cgroups and their limit, nobody in them."""
    for pod in scenario.pods:
        for one in pod.containers:
            side.do_make(f"{pod.name}/{one.name}")
            if one.group:
                side.do_write(f"{pod.name}/{one.name} memory.oom.group 1")
        if pod.group:
            side.do_write(f"{pod.name} memory.oom.group 1")
    side.do_write(f"{scenario.limited} {limit_file(version)} {scenario.limit}")


def points(puppet: Puppet, limit: int) -> float:
    """The badness of a process in pages, from /proc as it is now."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{puppet.pid}/status").read_text().splitlines())
    pages = sum(int(status[name].split()[0]) for name in ("VmRSS", "VmPTE", "VmSwap")) / 4
    adjustment = int(Path(f"/proc/{puppet.pid}/oom_score_adj").read_text())
    return pages + adjustment * (limit // 4096 // 1000)


def first_killed(lines: list[str], pids: dict[int, str]) -> str:
    """Whom a kernel's log names first."""
    for line in lines:
        found = re.search(r"Killed process (\d+) ", line)
        if found and int(found[1]) in pids:
            return pids[int(found[1])]
    return "nobody"


def really_out_of_memory(side: Real, scenario: Scenario) -> tuple[str, set[str], bool, int]:
    """Grow until somebody dies.

    Returns:
        Who died first, and who did; whether the badness of the first two was further apart than `CLOSE`; bytes that a
        process is charged beyond what it took.
    """
    fs = side.fs
    set_up_memory(side, scenario, fs.version)
    for name, one in scenario.every.items():
        side.do_start(f"{name} {name} {one.memory} {one.oom_score_adj}")
    grower = side.made[scenario.grows]
    where = side.path(scenario.limited)
    inside = [name for name in scenario.every if scenario.limited == "." or name.startswith(scenario.limited + "/")]
    usage = "memory.usage_in_bytes" if fs.version == 1 else "memory.current"
    used = int(fs.read(where, usage))
    own = max(used - sum(scenario.every[name].memory for name in inside), 0) // len(inside)
    ahead = (scenario.limit - used - 2 * MIB) // STEP * STEP
    if ahead > 0:
        grower.tell(f"take {ahead}")
    while True:
        scores = sorted((points(side.made[name], scenario.limit) for name in inside), reverse=True)
        answer = grower.tell(f"take {STEP}")
        kills = sum(fs.oom_kills(side.path(name)) for name in scenario.every)
        if kills or not answer:
            break
    dead = {name for name, one in side.made.items() if one.dead or not one.tell("fork 0")}  # the killed never answer
    sure = len(scores) < 2 or scores[0] - scores[1] > CLOSE * abs(scores[0])
    first = first_killed(kernel_log()[0], {one.pid: name for name, one in side.made.items()})
    return first, dead, sure, own


def modelled_out_of_memory(scenario: Scenario, version: Version, own: int) -> tuple[str, set[str]]:
    """The same on the simulated kernel."""
    side = Simulated(version)
    set_up_memory(side, scenario, version)
    for name, one in scenario.every.items():
        side.do_start(f"{name} {name} {one.memory + own} {one.oom_score_adj}")
    used = side.kernel.usage(side.path(scenario.limited))
    ahead = (scenario.limit - used - 2 * MIB) // STEP * STEP
    if ahead > 0:
        side.do_take(f"{scenario.grows} {ahead}")
    while all(pid in side.kernel.processes for pid in side.made.values()):
        side.do_take(f"{scenario.grows} {STEP}")
    first = first_killed(side.kernel.log, {pid: name for name, pid in side.made.items()})
    return first, {name for name, pid in side.made.items() if pid not in side.kernel.processes}


def test_the_oom_killer_chooses_the_same_victims(real: Real, artifacts: Path) -> None:
    rows, wrong, close = [], [], 0
    for number in range(MEMORY):
        scenario = scenarios.memory(number, real.fs.version)
        real.fs.makedirs(real.base)
        first, seen, sure, own = really_out_of_memory(real, scenario)
        expected, modelled = modelled_out_of_memory(scenario, real.fs.version, own)
        real.clear()
        close += not sure
        # where the first victim is slow to give its memory back, the kernel may kill a second one
        same = first == expected and modelled <= seen
        verdict = "same" if same else "differs" if sure else "differs, too close to call"
        rows.append(
            f"| {number} | {scenario.limited} {scenario.limit // MIB} MiB | "
            + ", ".join(f"{n}: {o.memory // MIB} MiB {o.oom_score_adj:+d}" for n, o in scenario.every.items())
            + f" | {scenario.grows} | {listed(first, seen)} | {listed(expected, modelled)} | {verdict} |"
        )
        if sure and not same:
            wrong.append(rows[-1])
    agreed = sum(row.endswith("| same |") for row in rows)
    text = f"{len(rows)} scenarios: the same victims in {agreed}; in {close} the first two were within 1%."
    head = (
        "| scenario | limit | processes | grows | real victims | simulated victims | |\n|---|---|---|---|---|---|---|"
    )
    title = f"# Victims of the OOM killer, cgroup {VERSION}: Linux {os.uname().release} and the simulated kernel"
    (artifacts / f"scenarios-memory-{VERSION}.md").write_text("\n".join([title, "", text, "", head, *rows]) + "\n")
    assert not wrong, "\n" + "\n".join(wrong)
    assert close < max(len(rows) // 5, 2)


def listed(first: str, others: set[str]) -> str:
    """Who died, in order as far as it is known."""
    return ", ".join([first, *sorted(others - {first})])


def set_up_cpu(side: Side, scenario: Scenario, version: Version) -> None:
    """Cgroups with weights, quotas and processors."""
    weight = "cpu.shares" if version == 1 else "cpu.weight"
    quota = "cpu.cfs_quota_us" if version == 1 else "cpu.max"
    for pod in scenario.pods:
        side.do_make(pod.name)
        side.do_write(f"{pod.name} cpuset.cpus {pod.cpus}")
        side.do_write(f"{pod.name} {weight} {pod.weight}")
        for one in pod.containers:
            name = f"{pod.name}/{one.name}"
            side.do_make(name)
            side.do_write(f"{name} {weight} {one.weight}")
            if one.quota:
                side.do_write(f"{name} {quota} {one.quota}")


def counted(side: Side, name: str, version: Version) -> tuple[float, float, int, int]:
    """The time, and CPU seconds used, periods, throttled periods of a container until then."""
    now = side.kernel.now if isinstance(side, Simulated) else time.monotonic()
    stat = dict(line.split() for line in side.fs.read(side.path(name), "cpu.stat").splitlines())
    periods = int(stat.get("nr_periods", 0)), int(stat.get("nr_throttled", 0))
    if version == 1:
        return now, int(side.fs.read(side.path(name), "cpuacct.usage")) / 1e9, *periods
    return now, int(stat["usage_usec"]) / 1e6, *periods


Measured = dict[str, tuple[float, float, float]]
"""Container -> CPUs that it got, periods and throttled periods a second."""


def rates(side: Side, scenario: Scenario, version: Version, before: dict[str, tuple[float, ...]]) -> Measured:
    """What was counted since, a second; each container has been read at a moment of its own."""
    found = {}
    for name in scenario.every:
        began, *figures = before[name]
        now, *after = counted(side, name, version)
        cpus, periods, throttled = ((b - a) / (now - began) for a, b in zip(figures, after, strict=True))
        found[name] = (cpus, periods, throttled)
    return found


def really_busy(side: Real, scenario: Scenario) -> Measured:
    """What everybody gets on the real kernel."""
    version = side.fs.version
    set_up_cpu(side, scenario, version)
    for name, one in scenario.every.items():
        for index in range(one.busy):
            side.do_start(f"{name}.{index} {name}")
    for puppet in side.made.values():
        puppet.tell("burn 1")
    time.sleep(0.3)
    before = {name: counted(side, name, version) for name in scenario.every}
    time.sleep(WINDOW)
    return rates(side, scenario, version, before)


def modelled_busy(scenario: Scenario, version: Version) -> Measured:
    """The same on the simulated kernel."""
    side = Simulated(version)
    set_up_cpu(side, scenario, version)
    for name, one in scenario.every.items():
        for _ in range(one.busy):
            side.kernel.spawn(Workload((Phase(FOREVER, cpus=1.0),)), side.path(name))
    side.kernel.advance(0.3)
    before = {name: counted(side, name, version) for name in scenario.every}
    side.kernel.advance(WINDOW)
    return rates(side, scenario, version, before)


def compared(scenario: Scenario, seen: Measured, modelled: Measured) -> tuple[list[str], list[str], float]:
    """Rows for the table; those that differ; by how many CPUs anybody differs."""
    rows, wrong, worst = [], [], 0.0
    for pod in scenario.pods:
        for one in pod.containers:
            name = f"{pod.name}/{one.name}"
            (got, periods, throttled), (model, _, expected) = seen[name], modelled[name]
            worst = max(worst, abs(got - model))
            off = abs(throttled - expected) / periods if periods else 0.0
            at_the_edge = bool(one.quota) and not expected and abs(model - one.quota / 100_000) < POINTS
            fine = abs(got - model) <= POINTS and (off <= 0.1 or at_the_edge)
            quota = f"{one.quota // 1000}%" if one.quota else "none"
            rows.append(
                f"| {scenario.number} | {name} | {pod.cpus} | {pod.weight}/{one.weight} | {quota} | {one.busy} | "
                f"{got:.3f} | {model:.3f} | {throttled:.1f} of {periods:.1f} | {expected:.1f} | "
                f"{'' if fine else 'differs'} |"
            )
            if not fine:
                wrong.append(rows[-1])
    return rows, wrong, worst


def test_processors_are_divided_alike(real: Real, artifacts: Path) -> None:
    rows: list[str] = []
    wrong: list[str] = []
    worst, again = 0.0, 0
    for number in range(CPU):
        scenario = scenarios.cpu(number, real.fs.version)
        modelled = modelled_busy(scenario, real.fs.version)
        for left in (2, 1, 0):  # a host that has other things to do holds the virtual machine up: measure anew
            real.fs.makedirs(real.base)
            seen = really_busy(real, scenario)
            real.clear()
            more, differing, most = compared(scenario, seen, modelled)
            if not differing or not left:
                break
            again += 1
        rows, wrong, worst = rows + more, wrong + differing, max(worst, most)
    text = (
        f"{CPU} scenarios, {len(rows)} containers: the largest difference is {worst:.3f} CPUs; {len(wrong)} differ; "
        f"{again} measurements were repeated."
    )
    head = (
        "| scenario | container | cpuset | weights | quota | busy | real CPUs | simulated | throttled a second | "
        "simulated | |\n|---|---|---|---|---|---|---|---|---|---|---|"
    )
    title = (
        f"# Who gets which part of a processor, cgroup {VERSION}: Linux {os.uname().release} and the simulated kernel"
    )
    (artifacts / f"scenarios-cpu-{VERSION}.md").write_text("\n".join([title, "", text, "", head, *rows]) + "\n")
    assert not wrong, "\n" + "\n".join(wrong)
