"""Work in bursts on the simulated kernel: what it uses, how long it takes, what is counted, and when averages hold."""

import math
from typing import Any

import pytest

from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.common.workload import FOREVER, Phase, Workload, declared_workload
from kitlib.node.simulated.cpu.bandwidth import CfsBandwidth
from kitlib.node.simulated.cpu.bursts import Bursts
from kitlib.node.simulated.cpu.group import TaskGroup
from kitlib.node.simulated.kernel import Kernel

POD, MAIN = "/pods/a", "/pods/a/main"
VERSIONS = pytest.mark.parametrize("version", [1, 2])


def kernel(version: Any = 2, cpus: int = 8, quota: int = 50_000) -> Kernel:
    """A machine with one pod of one container, both with the same limit as the kubelet writes it."""
    made = Kernel(MachineInfo.declare(cpus, "1Gi"), version)
    made.cgroups.makedirs(MAIN)
    for path in (POD, MAIN) if quota else ():
        made.cgroups.write(path, "cpu.cfs_quota_us" if version == 1 else "cpu.max", str(quota))
    made.advance(1)
    return made


def stat(made: Kernel, path: str = MAIN) -> dict[str, int]:
    return {name: int(value) for name, value in map(str.split, made.cgroups.read(path, "cpu.stat").splitlines())}


def start(made: Kernel, text: str) -> Any:
    return made.processes[made.spawn(declared_workload(text), MAIN)]


@VERSIONS
def test_three_bursts_of_20_ms_with_8_threads_run_72_ms_each_under_a_quota_of_50(version: Any) -> None:
    """Eight processors take 5 ms each, and run until the second tick (8 ms), one of them two ticks longer."""
    made = kernel(version)
    process = start(made, "20ms cpu=8; 180ms cpu=0; 20ms cpu=8; 180ms cpu=0; 20ms cpu=8; cpu=0")
    made.advance(2)
    assert process.cpu_seconds == pytest.approx(0.216)
    for path in (POD, MAIN):
        assert (stat(made, path)["nr_periods"], stat(made, path)["nr_throttled"]) == (7, 3)


@VERSIONS
def test_three_bursts_within_the_quota_are_never_throttled_and_periods_count(version: Any) -> None:
    made = kernel(version)
    process = start(made, "5ms cpu=4; 195ms cpu=0; 5ms cpu=4; 195ms cpu=0; 5ms cpu=4; cpu=0")
    made.advance(2)
    assert process.cpu_seconds == pytest.approx(0.06)
    assert (stat(made)["nr_periods"], stat(made)["nr_throttled"]) == (6, 0)


BURSTS = [
    # quota, CPUs, workload, the CPU time that a burst needs, seconds of the longest burst, throttled periods a burst
    (0, 8, "cpu=8 burst=160ms every=1s", 0.16, 0.020, 0),
    (0, 4, "cpu=8 burst=160ms every=1s", 0.16, 0.040, 0),
    (0, 8, "cpu=1 burst=160ms every=1s", 0.16, 0.160, 0),
    (50_000, 8, "cpu=4 burst=20ms every=1s", 0.02, 0.005, 0),
    (50_000, 8, "cpu=8 burst=160ms every=1s", 0.16, 0.308, 3),
    (50_000, 8, "cpu=1 burst=160ms every=1s", 0.16, 0.308, 3),
    (200_000, 8, "cpu=8 burst=160ms every=1s", 0.16, 0.020, 0),
]


@VERSIONS
@pytest.mark.parametrize(("quota", "cpus", "workload", "work", "longest", "throttled"), BURSTS)
def test_a_burst_takes_as_long_as_its_quota_lets_it(
    version: Any, quota: int, cpus: int, workload: str, work: float, longest: float, throttled: int
) -> None:
    made = kernel(version, cpus, quota)
    process = start(made, workload)
    made.advance(9.5)
    assert len(process.bursts) == 10
    assert process.cpu_seconds == pytest.approx(10 * work)
    assert max(process.bursts) == pytest.approx(longest, abs=0.001)
    assert stat(made).get("nr_throttled", 0) == pytest.approx(10 * throttled, abs=throttled)


def test_a_service_at_a_fifth_of_its_limit_is_throttled_in_every_burst() -> None:
    """100 ms of CPU time a second are 20% of a limit of 500m: ten threads use up 50 ms in 5 of wall-clock time."""
    made = kernel(cpus=10)
    process = start(made, "cpu=10 burst=100ms every=1s")
    made.advance(20)
    assert process.cpu_seconds / 20 == pytest.approx(0.2 * 0.5)
    assert len([one for one in process.bursts if one > 0.1]) == 20
    counted = stat(made)
    assert 20 <= counted["nr_throttled"] <= 25, "once, and now and then again for what it owes"
    assert 60 <= counted["nr_periods"] <= 65, "three periods of each burst, not ten a second"


def test_slices_that_wait_on_other_processors_throttle_although_the_quota_would_do() -> None:
    """8 threads of 5 ms are 40 of 50 ms; at the tick each processor asks for a slice of 5 ms more than it owes."""
    made = kernel()
    process = start(made, "cpu=8 burst=40ms every=1s")
    made.advance(9.5)
    assert stat(made)["nr_throttled"] == 0, "threads give back what they have not used before the period ends"
    assert stat(made)["throttled_usec"] > 9 * 2 * 4000
    assert process.bursts[-1] == pytest.approx(0.0112, abs=0.001)


def test_bursts_that_come_faster_than_the_quota_queue_up() -> None:
    made = kernel()
    process = start(made, "cpu=4 burst=80ms every=100ms")
    made.advance(5)
    assert process.bursts[-1] > 10 * process.bursts[0]
    assert process.cpu_seconds == pytest.approx(2.5, abs=0.05)


def test_a_burst_of_cpu_max_lets_one_through_that_the_quota_alone_would_stop() -> None:
    made = kernel(cpus=4)
    process = start(made, "cpu=4 burst=80ms every=1s")
    made.advance(5)
    slow = process.bursts[-1]
    for path in (POD, MAIN):
        made.cgroups.write(path, "cpu.max.burst", "50000")
    made.advance(5)
    assert (slow > 0.1, process.bursts[-1] < 0.03) == (True, True)
    assert stat(made)["nr_bursts"] in (4, 5), "the last one counts when its period ends"


def test_a_limit_that_is_raised_holds_from_then_on() -> None:
    made = kernel(cpus=4)
    process = start(made, "cpu=4 burst=80ms every=1s")
    made.advance(4.5)
    for path in (POD, MAIN):
        made.cgroups.write(path, "cpu.max", "200000")
    made.advance(4)
    assert process.bursts[3] > 0.1
    assert process.bursts[-1] == pytest.approx(0.02, abs=0.001)
    for path in (POD, MAIN):
        made.cgroups.write(path, "cpu.max", "max")
    made.advance(4)
    assert process.bursts[-1] == pytest.approx(0.02, abs=0.001)


def test_a_neighbour_below_the_same_limit_pays_for_the_burst() -> None:
    made = kernel(quota=0)
    made.cgroups.makedirs(f"{POD}/side")
    made.cgroups.write(POD, "cpu.max", "50000")
    side = made.processes[made.spawn(Workload((Phase(FOREVER, cpus=0.2),)), f"{POD}/side")]
    made.advance(5)
    assert side.cpu_seconds == pytest.approx(1.0)
    start(made, "cpu=8 burst=160ms every=1s")
    made.advance(5)
    assert side.cpu_seconds < 1.95, "it is throttled with the pod"


def test_averages_hold_again_when_work_is_steady() -> None:
    made = kernel()
    process = start(made, "20ms cpu=8; 80ms cpu=0; cpu=2")
    made.advance(1)
    assert not made.scheduler._followed
    used, counted = process.cpu_seconds, stat(made)
    made.advance(10)
    assert process.cpu_seconds - used == pytest.approx(5.0)
    assert stat(made)["nr_throttled"] - counted["nr_throttled"] == 100


def test_a_container_that_ends_in_a_burst_leaves_nothing_behind() -> None:
    made = kernel()
    process = start(made, "cpu=8 burst=160ms every=1s")
    made.advance(2.01)
    made.kill(process.pid)
    made.advance(1)
    assert not made.scheduler._followed
    made.cgroups.rmdir(MAIN)
    made.cgroups.rmdir(POD)
    made.advance(1)


def test_throttled_threads_press_on_the_cpu_and_on_nothing_else() -> None:
    made = kernel()
    start(made, "cpu=8 burst=160ms every=1s")
    made.advance(30)
    some, full = made.cgroups.read(MAIN, "cpu.pressure").splitlines()
    assert 20 < float(some.split()[1].partition("=")[2]) < 32
    assert 20 < float(full.split()[1].partition("=")[2]) < 32


def test_steady_work_is_not_followed() -> None:
    made = kernel()
    made.spawn(Workload((Phase(10, cpus=4), Phase(10, cpus=1), Phase(FOREVER))), MAIN)
    assert not made.scheduler._followed
    assert made.scheduler.upcoming() == FOREVER


@pytest.mark.parametrize("days", [0, 20, 27, 60, 400])
@pytest.mark.parametrize("steps", [1, 30])
def test_bursts_are_the_same_after_any_uptime(days: int, steps: int) -> None:
    made = kernel()
    made.advance(days * 86_400)
    process = start(made, "cpu=8 burst=160ms every=1s")
    for _ in range(steps):
        made.advance(3 / steps)
    made.advance(0.5)
    assert process.bursts == pytest.approx([0.30394, 0.21594, 0.30394, 0.30794], abs=1e-6)
    assert stat(made)["nr_throttled"] == 11


@pytest.mark.parametrize("days", [27, 60, 400])
@pytest.mark.parametrize("toward", [0.0, math.inf])
def test_an_event_is_met_once_by_a_clock_that_is_one_step_beside_it(days: int, toward: float) -> None:
    """After 26 days two neighbouring times in seconds are more than half a nanosecond apart."""
    bandwidth = CfsBandwidth(50_000_000, 100_000_000, 0)
    group = TaskGroup("/a", None, 0, cpus=frozenset({0}), bandwidth=bandwidth)
    bursts = Bursts(lambda pid: 1.0, lambda group, pid, wish, held: None, lambda pid, seconds: None)
    bursts.watch(group.path, bandwidth)
    now = days * 86_400.0
    bursts.follow(group, 1, 1.0, now, work=math.inf, every=math.inf, brief=True)
    met = []
    for _ in range(100):
        met.append(bursts.upcoming())
        bursts.step(math.nextafter(met[-1], toward))
    assert len(set(met)) == len(met)
    assert met == sorted(met)
