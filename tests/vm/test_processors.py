"""Generated scenarios on both kernels divide a processor alike: by weights, by quotas, at both levels.

They are for a machine with one processor whose clock counts instructions (`.ci/vm v2-clock`): there a host that has
other things to do does not disturb what is measured. The table of every container goes to the artifact
`scenarios-cpu-v1.md` (or v2). Which are run is set by KITLIB_SCENARIOS (memory, cpu): `40,10` unless told.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kitlib.kubelet.cgroup_tree import Version
from kitlib.node.simulated.workloads import FOREVER, Phase, Workload
from tests.vm import scenarios
from tests.vm.bench import Puppets, Real, Side, Simulated
from tests.vm.scenarios import Scenario

VERSION = os.environ.get("KITLIB_VM", "v2")
CPU = scenarios.numbers(1)
WINDOW = 2.0
"""Seconds that are compared."""
POINTS = 0.03
"""CPUs by which a part may differ."""
PERIODS = 0.1
"""Share of the periods by which those that end throttled may differ."""
TICK = 0.04
"""CPUs: 4 ms in a period of 100 ms. A kernel of 250 Hz notices at a tick that a quota is used up; who would get less
than a tick beyond his quota is caught in some periods and not in others, as the ticks and the time lost to interrupts
fall. There the model, which knows no ticks, says: throttled in all of them."""


@pytest.fixture
def real(puppets: Puppets) -> Iterator[Real]:
    side = Real(puppets)
    yield side
    side.clear()


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


def at_the_edge(scenario: Scenario, name: str, version: Version) -> bool:
    """Whether a container's part without its quota is so near to it that ticks decide which periods are throttled."""
    quota = scenario.every[name].quota / 100_000
    pods = []
    for pod in scenario.pods:
        free = [replace(one, quota=0) if f"{pod.name}/{one.name}" == name else one for one in pod.containers]
        pods.append(replace(pod, containers=free))
    unlimited = modelled_busy(replace(scenario, pods=pods, every=scenarios.paths(pods)), version)
    return -POINTS < unlimited[name][0] - quota < TICK


Row = tuple[str, str, float]
"""A line of the table, its verdict, and by how many CPUs the parts differ."""


def compared(scenario: Scenario, version: Version, seen: Measured, modelled: Measured) -> list[Row]:
    """Row by row what everybody got on both kernels."""
    found = []
    for pod in scenario.pods:
        for one in pod.containers:
            name = f"{pod.name}/{one.name}"
            (got, periods, throttled), (model, all_periods, expected) = seen[name], modelled[name]
            off = abs(throttled / periods - expected / all_periods) if periods else 0.0
            if abs(got - model) > POINTS:
                verdict = "differs"
            elif off <= PERIODS + 1e-9:
                verdict = ""
            else:
                verdict = "edge" if at_the_edge(scenario, name, version) else "differs"
            quota = f"{one.quota // 1000}%" if one.quota else "none"
            line = (
                f"| {scenario.number} | {name} | {pod.cpus} | {pod.weight}/{one.weight} | {quota} | {one.busy} | "
                f"{got:.3f} | {model:.3f} | {throttled:.1f} of {periods:.1f} | {expected:.1f} | {verdict} |"
            )
            found.append((line, verdict, abs(got - model)))
    return found


def test_processors_are_divided_alike(real: Real, artifacts: Path) -> None:
    rows: list[Row] = []
    version, limited, again = real.fs.version, 0, 0
    for number in CPU:
        scenario = scenarios.cpu(number, version)
        limited += sum(one.quota > 0 for one in scenario.every.values())
        modelled = modelled_busy(scenario, version)
        for left in (1, 0):  # once more where the machine itself had something else to do
            real.fs.makedirs(real.base)
            seen = really_busy(real, scenario)
            real.clear()
            more = compared(scenario, version, seen, modelled)
            if not left or all(verdict != "differs" for _, verdict, _ in more):
                break
            again += 1
        rows += more
    wrong = [line for line, verdict, _ in rows if verdict == "differs"]
    edge = sum(verdict == "edge" for _, verdict, _ in rows)
    text = (
        f"{len(CPU)} scenarios, {len(rows)} containers, {limited} of them with a quota: the largest difference is "
        f"{max(off for *_, off in rows):.3f} CPUs; {len(wrong)} differ; of {edge} at the edge of their quota the "
        f"throttled periods are others; {again} measurements were repeated."
    )
    head = (
        "| scenario | container | cpuset | weights | quota | busy | real CPUs | simulated | throttled a second | "
        "simulated | |\n|---|---|---|---|---|---|---|---|---|---|---|"
    )
    title = (
        f"# Who gets which part of a processor, cgroup {VERSION}: Linux {os.uname().release} and the simulated kernel"
    )
    lines = [title, "", text, "", head, *(line for line, *_ in rows)]
    (artifacts / f"scenarios-cpu-{VERSION}.md").write_text("\n".join(lines) + "\n")
    assert not wrong, "\n" + "\n".join(wrong)
    assert edge <= max(limited // 20, 2), text
