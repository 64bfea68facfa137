"""The finer parts of the simulated kernel: pressure, pids.max, memory.high, memory.min and low, cpusets that differ."""

import pytest

from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.common.workload import FOREVER, Phase, Workload, declared_workload
from kitlib.node.simulated.commands import behaviour
from kitlib.node.simulated.kernel import Kernel
from kitlib.node.simulated.memory import growth

MI = 2**20
BUSY = Workload((Phase(FOREVER, cpus=1.0),))


def kernel(version=2, cpus=1, memory="1Gi", max_pid=0):
    made = Kernel(MachineInfo.declare(cpus, memory, max_pid=max_pid), version)
    for path in ("/pods/a", "/pods/b"):
        made.cgroups.makedirs(path)
    return made


def line(k, path, file, kind="some"):
    found = next(text for text in k.cgroups.read(path, file).splitlines() if text.startswith(kind))
    return {name: float(value) for name, value in (pair.split("=") for pair in found.split()[1:])}


def test_nobody_waits_where_there_is_enough():
    k = kernel(cpus=2)
    k.spawn(BUSY, "/pods/a")
    k.advance(100)
    assert k.cgroups.read("/pods/a", "cpu.pressure").startswith("some avg10=0.00 avg60=0.00 avg300=0.00 total=0")


def test_a_throttled_container_waits_for_the_rest_of_every_period():
    k = kernel(cpus=4)
    k.cgroups.write("/pods/a", "cpu.max", "25000 100000")
    k.spawn(BUSY, "/pods/a")
    k.advance(1000)
    assert line(k, "/pods/a", "cpu.pressure")["avg10"] == pytest.approx(75, abs=0.1)
    assert line(k, "/pods/a", "cpu.pressure", "full")["avg300"] == pytest.approx(75, abs=3)
    assert line(k, "/", "cpu.pressure", "full")["total"] == 0


def test_two_busy_loops_on_one_cpu_each_wait_half_the_time():
    k = kernel()
    k.spawn(BUSY, "/pods/a")
    k.spawn(BUSY, "/pods/b")
    k.advance(200)
    for path in ("/pods/a", "/pods/b"):
        assert line(k, path, "cpu.pressure")["avg10"] == pytest.approx(50, abs=0.1)
    assert line(k, "/pods", "cpu.pressure")["avg10"] == pytest.approx(100, abs=0.1)


def test_pids_max_refuses_forks_and_counts_them():
    k = kernel()
    k.cgroups.write("/pods", "pids.max", "100")
    k.spawn(declared_workload("pids=30"), "/pods/b")
    k.spawn(declared_workload("5s pids=10; pids=500"), "/pods/a")
    assert k.cgroups.read("/pods", "pids.current") == "40"
    k.advance(6)
    assert k.cgroups.read("/pods/a", "pids.current") == "70"
    assert k.cgroups.read("/pods", "pids.current") == k.cgroups.read("/pods", "pids.peak") == "100"
    assert (k.cgroups.read("/pods/a", "pids.events"), k.cgroups.read("/pods", "pids.events")) == ("max 430", "max 0")
    assert k.log[-1].endswith("fork rejected by pids controller in /pods/a")


def test_a_machine_without_a_free_process_id_counts_no_refused_fork():
    k = kernel(max_pid=50)
    k.cgroups.write("/pods/a", "pids.max", "60")
    k.spawn(declared_workload("pids=90"), "/pods/a")
    assert k.cgroups.read("/pods/a", "pids.current") == "50"
    assert k.cgroups.read("/pods/a", "pids.events") == "max 0"
    assert len(k.log) == 0


def test_above_memory_high_a_process_grows_slowly_and_is_not_killed():
    k = kernel(memory="4Gi")
    k.cgroups.write("/pods/a", "memory.high", str(100 * MI))
    k.cgroups.write("/pods/a", "memory.max", str(200 * MI))
    k.spawn(Workload((Phase(FOREVER, cpus=1.0, memory=150 * MI),)), "/pods/a")
    assert k.usage("/pods/a") == 100 * MI
    k.advance(10)
    ten = k.usage("/pods/a")
    # o³ = 3 · 256 KiB · t / (64 · high): 10.5 percent over after 10 seconds
    assert 109 * MI < ten < 112 * MI
    k.advance(60)
    assert ten < k.usage("/pods/a") < 125 * MI
    assert not k.exits()
    # when it asked for the 150 MiB, and in each of the 70 seconds in which it got a little more
    assert "high 71" in k.cgroups.read("/pods/a", "memory.events").splitlines()
    assert line(k, "/pods/a", "memory.pressure")["avg10"] > 90
    k.cgroups.write("/pods/a", "memory.high", "max")
    k.advance(1)
    assert k.usage("/pods/a") == 150 * MI
    assert next(iter(k.processes.values())).rate == 1.0


def test_growth_in_steps_is_growth_at_once():
    high, total = 100 * MI, 0
    for _ in range(200):
        total += growth(total, high, 0.5)
    assert total == pytest.approx(growth(0, high, 100), rel=0.001)
    assert growth(high, high, 10) == 5 * 256 * 1024


def test_memory_low_keeps_a_cache_while_others_have_some_and_min_always():
    k = kernel()
    keeps = Workload((Phase(FOREVER, memory=10 * MI, cache=300 * MI),))
    for path in ("/pods", "/pods/a"):  # a child has no more protection than its parent hands down
        k.cgroups.write(path, "memory.low", str(250 * MI))
    k.spawn(keeps, "/pods/a")
    k.spawn(keeps, "/pods/b")
    k.spawn(Workload((Phase(FOREVER, memory=700 * MI),)), "/")
    assert k.memory.cache("/pods/a") >= 230 * MI
    k.spawn(Workload((Phase(FOREVER, memory=200 * MI),)), "/")
    events = dict(x.split() for x in k.cgroups.read("/pods/a", "memory.events").splitlines())
    assert events["low"] == "1"
    k = kernel()
    k.cgroups.write("/pods", "memory.min", str(250 * MI))
    k.cgroups.write("/pods/a", "memory.min", str(250 * MI))
    k.spawn(keeps, "/pods/a")
    pid = k.spawn(Workload((Phase(FOREVER, memory=900 * MI),)), "/")
    assert [gone.process.pid for gone in k.exits()] == [pid]
    assert k.usage("/pods/a") >= 250 * MI


def test_a_cache_that_is_too_small_means_waiting_for_memory_and_disk():
    k = kernel()
    k.cgroups.write("/pods/a", "memory.max", str(110 * MI))
    k.spawn(Workload((Phase(FOREVER, cpus=0.5, memory=10 * MI, cache=200 * MI),)), "/pods/a")
    k.advance(300)
    assert line(k, "/pods/a", "io.pressure")["avg10"] == pytest.approx(50, abs=1)
    assert line(k, "/pods", "memory.pressure")["avg60"] == pytest.approx(50, abs=1)
    k.cgroups.write("/pods/a", "memory.max", "max")


@pytest.mark.parametrize("version", [1, 2])
def test_exclusive_cpus_are_nobody_elses(version):
    k = kernel(version, cpus=4)
    k.cgroups.makedirs("/pods/c")
    for path, cpus in (("/pods/a", "2-3"), ("/pods/b", "0-1"), ("/pods/c", "0-1")):
        k.cgroups.write(path, "cpuset.cpus", cpus)
    greedy = Workload((Phase(FOREVER, cpus=4.0),))
    b, c = k.spawn(greedy, "/pods/b"), k.spawn(greedy, "/pods/c")
    own = k.spawn(Workload((Phase(FOREVER, cpus=0.5),)), "/pods/a")
    k.advance(10)
    assert [k.processes[pid].rate for pid in (b, c, own)] == [pytest.approx(1), pytest.approx(1), pytest.approx(0.5)]
    k.kill(own)
    k.advance(10)
    assert k.processes[b].cpu_seconds == pytest.approx(20)


def test_a_process_that_is_moved_takes_its_cpu_and_pids_with_it_and_leaves_its_memory():
    k = kernel()
    k.cgroups.write("/pods/a", "cpu.max", "10000 100000")
    pid = k.spawn(Workload((Phase(FOREVER, cpus=1.0, memory=50 * MI, pids=3),)), "/pods/a")
    k.advance(1)
    k.cgroups.write("/pods/b", "cgroup.procs", str(pid))
    k.advance(1)
    assert k.processes[pid].cpu_seconds == pytest.approx(1.1)
    assert (k.usage("/pods/a"), k.usage("/pods/b")) == (50 * MI, 0)
    assert k.cgroups.read("/pods/b", "pids.current") == "3"
    k.cgroups.rmdir("/pods/a")
    k.kill(pid)
    assert k.usage("/pods") == 0


@pytest.mark.parametrize("script", [":(){ :|:& };:", "bomb() { bomb | bomb & }; bomb"])
def test_a_fork_bomb_stays_within_pids_max(script):
    k = kernel()
    k.cgroups.write("/pods/a", "pids.max", "100")
    k.spawn(behaviour(("sh", "-c", script)).workload, "/pods/a")
    assert k.cgroups.read("/pods/a", "pids.current") == "100"
    assert int(k.cgroups.read("/pods/a", "pids.events").split()[1]) > 30_000
