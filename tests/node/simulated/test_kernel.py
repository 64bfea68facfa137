"""The model of the kernel: CPU by weight and quota, throttling, memory limits, and whom the OOM killer chooses."""

import random

import pytest

from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.common.errors import CgroupError
from kitlib.node.common.workload import FOREVER, Phase, Workload
from kitlib.node.simulated.cpu.sharing import water_fill
from kitlib.node.simulated.kernel import Kernel

MI = 2**20
BUSY = Workload((Phase(FOREVER, cpus=1.0),))


def kernel(version=2, cpus=1, memory="1Gi"):
    made = Kernel(MachineInfo.declare(cpus, memory), version)
    for path in ("/pods/a", "/pods/b"):
        made.cgroups.makedirs(path)
    return made


def eats(megabytes, after=0.0):
    phases = ((Phase(after),) if after else ()) + (Phase(FOREVER, memory=megabytes * MI),)
    return Workload(phases)


@pytest.mark.parametrize("version", [1, 2])
def test_shares_of_one_to_two_give_one_to_two(version):
    k = kernel(version)
    file, values = ("cpu.shares", ("512", "1024")) if version == 1 else ("cpu.weight", ("50", "100"))
    for path, value in zip(("/pods/a", "/pods/b"), values, strict=True):
        k.cgroups.write(path, file, value)
        k.spawn(BUSY, path)
    k.advance(30)
    first, second = (p.cpu_seconds for p in k.processes.values())
    assert (first, second) == (pytest.approx(10), pytest.approx(20))


def test_what_one_does_not_want_goes_to_the_others():
    assert water_fill([(1, 0.1), (1, 5), (2, 5)], 4) == [pytest.approx(0.1), pytest.approx(1.3), pytest.approx(2.6)]


@pytest.mark.parametrize("seed", range(50))
def test_no_group_gets_more_than_it_wants_and_those_that_get_less_get_the_same_for_each_unit_of_weight(seed):
    dice = random.Random(seed)
    wishes = [(2.0 ** dice.uniform(0, 18), dice.choice([dice.uniform(0, 0.2), 1.0, 4.0])) for _ in range(200)]
    wanted = sum(want for _, want in wishes)
    amount = dice.uniform(0.01, 1.2) * wanted
    given = water_fill(wishes, amount)
    assert sum(given) == pytest.approx(min(amount, wanted))
    assert all(got <= want for got, (_, want) in zip(given, wishes, strict=True))
    levels = [got / weight for got, (weight, want) in zip(given, wishes, strict=True) if got < want]
    assert levels == [pytest.approx(level) for level in levels[:1] * len(levels)]
    for got, (weight, _) in zip(given, wishes, strict=True):
        assert not levels or got / weight <= levels[0] * 1.000001


@pytest.mark.parametrize("version", [1, 2])
def test_a_quota_holds_a_busy_loop_at_half_a_cpu_and_counts_throttling(version):
    k = kernel(version, cpus=4)
    k.cgroups.write("/pods/a", *(("cpu.cfs_quota_us", "50000") if version == 1 else ("cpu.max", "50000")))
    pid = k.spawn(BUSY, "/pods/a")
    k.advance(10)
    assert k.processes[pid].cpu_seconds == pytest.approx(5)
    stat = dict(line.split() for line in k.cgroups.read("/pods/a", "cpu.stat").splitlines())
    assert (stat["nr_periods"], stat["nr_throttled"]) == ("100", "100")


def test_a_cpuset_limits_how_many_cpus_are_used():
    k = kernel(cpus=4)
    k.cgroups.write("/pods/a", "cpuset.cpus", "0-1")
    pid = k.spawn(Workload((Phase(FOREVER, cpus=4.0),)), "/pods/a")
    k.advance(1)
    assert k.processes[pid].rate == pytest.approx(2)


def test_a_process_over_its_cgroups_limit_is_killed_and_its_neighbour_lives():
    k = kernel()
    k.cgroups.write("/pods/a", "memory.max", "100M")
    small, big = k.spawn(eats(50), "/pods/b"), k.spawn(eats(120, after=5), "/pods/a")
    k.advance(10)
    (end,) = k.exits()
    assert (end.process.pid, end.code, end.oom, end.at) == (big, 137, True, 5)
    assert small in k.processes
    assert "Memory cgroup out of memory: Killed process" in k.log[-1]
    assert "oom_memcg=/pods/a,task_memcg=/pods/a" in k.log[-2]


def test_the_limit_above_chooses_among_everything_below():
    k = kernel()
    k.cgroups.write("/pods", "memory.max", "200M")
    k.spawn(eats(120), "/pods/a", oom_score_adj=-997)
    second = k.spawn(eats(90), "/pods/b", oom_score_adj=1000)
    assert [e.process.pid for e in k.exits()] == [second]


ORDER = [
    # (MiB, oom_score_adj) of each, index of the victim
    ([(300, 0), (100, 0)], 0),
    ([(300, -997), (100, 1000)], 1),
    ([(600, 500), (50, 1000)], 0),
    ([(300, -1000), (10, 0)], 1),
    ([(300, 0), (300, 0)], 1),  # oom_evaluate_task: equal points replace the chosen task
]


@pytest.mark.parametrize(("processes", "victim"), ORDER)
def test_the_machine_out_of_memory_kills_the_one_with_the_most_points(processes, victim):
    k = kernel()
    pids = [k.spawn(eats(size), "/pods/a", adjustment) for size, adjustment in processes]
    k.spawn(eats(1024 - sum(size for size, _ in processes) + 1), "/pods/b", oom_score_adj=-1000)
    assert [e.process.pid for e in k.exits()] == [pids[victim]]
    assert "global_oom" in k.log[-2]


@pytest.mark.parametrize("limit", ["/pods", "/pods/a"])
def test_a_process_that_must_not_be_killed_waits_at_the_limit(limit):
    k = kernel()
    k.cgroups.write(limit, "memory.max", str(32 * MI))
    grows = Workload((Phase(1, memory=20 * MI), Phase(FOREVER, memory=36 * MI)))
    pid = k.spawn(grows, "/pods/a", oom_score_adj=-1000)
    k.advance(5)
    assert (k.usage("/pods/a"), k.exits()) == (32 * MI, [])
    k.cgroups.write(limit, "memory.max", str(64 * MI))
    k.advance(5)
    assert (k.usage("/pods/a"), pid in k.processes) == (36 * MI, True)


def test_page_cache_is_given_back_before_anybody_dies():
    k = kernel()
    k.cgroups.write("/pods/a", "memory.max", "200M")
    k.spawn(Workload((Phase(FOREVER, memory=10 * MI, cache=500 * MI),)), "/pods/a")
    assert (
        int(k.cgroups.read("/pods/a", "memory.current")) == 200 * 10**6 // 4096 * 4096 or k.usage("/pods/a") <= 200 * MI
    )
    k.spawn(eats(100), "/pods/a")
    assert not k.exits()


def test_oom_group_kills_the_whole_cgroup():
    k = kernel()
    k.cgroups.write("/pods/a", "memory.max", "100M")
    k.cgroups.write("/pods/a", "memory.oom.group", "1")
    first, second = k.spawn(eats(30), "/pods/a"), k.spawn(eats(80), "/pods/a")
    assert {e.process.pid for e in k.exits()} == {first, second}


def test_an_idle_cgroup_gets_next_to_nothing_and_keeps_its_weight():
    k = kernel()
    idle, other = (k.spawn(Workload((Phase(FOREVER, cpus=1.0),)), path) for path in ("/pods/a", "/pods/b"))
    k.cgroups.write("/pods/a", "cpu.idle", "1")
    k.advance(1.0)
    assert k.processes[idle].rate == pytest.approx(3 / 1027)
    assert k.cgroups.read("/pods/a", "cpu.weight") == "0"
    with pytest.raises(CgroupError, match="EINVAL"):
        k.cgroups.write("/pods/a", "cpu.weight", "50")
    k.cgroups.write("/pods/a", "cpu.idle", "0")
    k.advance(1.0)
    assert (k.processes[idle].rate, k.processes[other].rate) == (0.5, 0.5)
    assert k.cgroups.read("/pods/a", "cpu.weight") == "100"


def test_oom_score_is_what_proc_shows():
    k = kernel()
    pid = k.spawn(eats(512), "/pods/a", oom_score_adj=0)
    assert k.oom_score(pid) == (1000 + 500) * 2 // 3


def test_a_process_told_to_end_follows_its_workload_until_then():
    k = kernel()
    pid = k.spawn(Workload((Phase(1.5, cpus=1.0, memory=10 * MI), Phase(FOREVER, memory=500 * MI))), "/pods/a")
    k.advance(1.0)
    k.end_in(pid, 2.0, 143)
    k.advance(1.9)
    assert (k.processes[pid].rate, k.processes[pid].memory) == (0.0, 500 * MI)
    k.advance(0.2)
    assert [(gone.at, gone.code) for gone in k.exits()] == [(3.0, 143)]


def test_a_process_told_to_end_may_end_before_by_itself():
    k = kernel()
    pid = k.spawn(Workload((Phase(1.5),), exit_code=4), "/pods/a")
    k.end_in(pid, 2.0, 143)
    k.end_in(pid, 1.8, 143)
    k.advance(5.0)
    assert [(gone.at, gone.code) for gone in k.exits()] == [(1.5, 4)]


def test_a_limit_set_below_what_is_in_use_kills_on_v2_and_is_refused_on_v1():
    k = kernel(version=2)
    k.spawn(eats(150), "/pods/a")
    k.cgroups.write("/pods/a", "memory.max", str(100 * MI))
    k.advance(1)
    assert [(gone.code, gone.oom) for gone in k.exits()] == [(137, True)]
    k = kernel(version=1)
    k.spawn(eats(150), "/pods/a")
    with pytest.raises(CgroupError, match="EBUSY"):
        k.cgroups.write("/pods/a", "memory.limit_in_bytes", str(100 * MI))
    k.advance(1)
    assert k.exits() == []
