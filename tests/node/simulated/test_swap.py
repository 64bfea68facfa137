"""Swap on the simulated kernel: who goes there and when, what it costs, and where it ends."""

import pytest

from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.common.errors import CgroupError
from kitlib.node.common.workload import declared_workload
from kitlib.node.simulated.kernel import Kernel
from kitlib.node.simulated.swap import READ, WORK, WRITE

MI = 2**20


def kernel(version=2, memory="1Gi", swap="1Gi", **files):
    made = Kernel(MachineInfo.declare(2, memory, swap=swap), version)
    for path in ("/pods/a", "/pods/b"):
        made.cgroups.makedirs(path)
    for file, amount in files.items():
        made.cgroups.write("/pods/a", file.replace("__", "."), str(amount))
    return made


def start(k, text, path="/pods/a"):
    return k.spawn(declared_workload(text), path)


def mib(k, path, file):
    return round(int(k.cgroups.read(path, file)) / MI)


def figure(k, path, file, name):
    return int(next(line.split()[1] for line in k.cgroups.read(path, file).splitlines() if line.split()[0] == name))


def waits(k, path, resource="memory"):
    return k.pressure(resource, path).some if k.pressure(resource, path) else 0.0


LIMITED = {"memory__max": 200 * MI, "memory__swap__max": 200 * MI}


def test_what_does_not_fit_below_the_limit_goes_to_swap_as_fast_as_the_disk_writes():
    k = kernel(**LIMITED)
    start(k, "1s memory=100Mi; cpu=1 memory=350Mi")
    k.advance(1.5)
    assert mib(k, "/pods/a", "memory.current") == 200
    assert waits(k, "/pods/a") == 1.0, "it waits while pages are written"
    k.advance(0.5)  # one of the seconds in which WRITE bytes are written
    assert mib(k, "/pods/a", "memory.swap.current") == WRITE // MI == 100
    k.advance(2)
    assert (mib(k, "/pods/a", "memory.current"), mib(k, "/pods/a", "memory.swap.current")) == (200, 150)
    assert mib(k, "/pods", "memory.swap.peak") == 150
    assert waits(k, "/pods/a") == 0.0
    assert next(iter(k.processes.values())).rate == 1.0, "nothing that it needs is in swap"
    assert not k.exits()


@pytest.mark.parametrize(
    ("files", "swap"),
    [
        ({"memory__max": 200 * MI, "memory__swap__max": 0}, "1Gi"),
        ({"memory__max": 200 * MI}, 0),
    ],
    ids=["no swap for this cgroup", "no swap on the node"],
)
def test_without_swap_the_limit_kills(files, swap):
    k = kernel(swap=swap, **files)
    start(k, "1s memory=100Mi; memory=350Mi")
    k.advance(2)
    assert [gone.oom for gone in k.exits()] == [True]


def test_it_is_killed_when_its_swap_is_full_and_the_swap_is_free_again():
    k = kernel(memory__max=200 * MI, memory__swap__max=120 * MI)
    pid = start(k, "1s memory=100Mi; memory=350Mi")
    k.advance(10)
    (gone,) = k.exits()
    assert (gone.process.pid, gone.where) == (pid, "/pods/a")
    assert gone.at > 2, "first swap was filled"
    assert mib(k, "/pods/a", "memory.swap.current") == 0
    assert mib(k, "/pods/a", "memory.swap.peak") == 120
    assert figure(k, "/pods/a", "memory.swap.events", "max") >= 1
    swapents = next(line for line in k.log if f"[{pid:7d}]" in line).split()[-3]
    assert int(swapents) == 120 * MI // 4096


def test_the_nodes_shortage_swaps_others_cold_pages_where_they_may_swap():
    k = kernel(memory="600Mi")
    k.cgroups.write("/pods/a", "memory.swap.max", "0")
    start(k, "memory=200Mi")
    start(k, "memory=200Mi cpu=1 hot=50Mi", "/pods/b")
    start(k, "2s memory=100Mi; memory=280Mi", "/")
    k.advance(10)
    assert mib(k, "/pods/a", "memory.swap.current") == 0, "a Guaranteed pod's pages stay"
    assert mib(k, "/", "memory.swap.current") >= 80 or k.memory.swap("/") >= 80 * MI
    assert waits(k, "/pods/b") == 0.0, "what it goes over is still in memory"
    assert not k.exits()


@pytest.mark.parametrize(("hot", "lacking"), [(200, 0.0), (220, 20), (250, 50), (300, 100)])
def test_who_needs_more_than_fits_waits_for_the_disk(hot, lacking):
    k = kernel(**LIMITED)
    pid = start(k, f"cpu=1 memory=300Mi hot={hot}Mi")
    k.advance(100)
    part = lacking / hot
    wait = part / READ / (part / READ + 1 / WORK) if part else 0.0
    assert k.processes[pid].rate == pytest.approx(1 - wait, abs=1e-6)
    assert waits(k, "/pods/a") == pytest.approx(wait) == waits(k, "/pods/a", "io")
    assert mib(k, "/pods/a", "memory.current") == 200
    assert (figure(k, "/pods/a", "memory.stat", "pgmajfault") > 0) == (lacking > 0)


def test_pages_that_are_needed_come_back_when_there_is_room_and_others_stay():
    k = kernel(**LIMITED)
    pid = start(k, "cpu=1 memory=300Mi hot=250Mi")
    k.advance(10)
    k.cgroups.write("/pods/a", "memory.max", str(280 * MI))
    k.advance(5)
    assert k.processes[pid].rate == 1.0
    assert mib(k, "/pods/a", "memory.swap.current") == 50, "nobody has asked for the cold ones"


def test_above_memory_high_swap_takes_the_excess_and_nobody_sleeps_long():
    files = {"memory__high": 100 * MI, "memory__max": 300 * MI}
    swaps, sleeps = kernel(**files), kernel(swap=0, **files)
    for k in (swaps, sleeps):
        start(k, "cpu=1 memory=150Mi")
        k.advance(10)
    assert (mib(swaps, "/pods/a", "memory.current"), mib(swaps, "/pods/a", "memory.swap.current")) == (100, 50)
    assert (waits(swaps, "/pods/a"), waits(sleeps, "/pods/a")) == (0.0, 1.0)
    assert 100 < mib(sleeps, "/pods/a", "memory.current") < 115


def test_a_lower_memory_high_swaps_at_once():
    k = kernel()
    start(k, "memory=150Mi")
    k.cgroups.write("/pods/a", "memory.high", str(60 * MI))
    assert (mib(k, "/pods/a", "memory.current"), mib(k, "/pods/a", "memory.swap.current")) == (60, 90)


def test_page_cache_goes_before_anything_is_swapped():
    k = kernel(**LIMITED)
    start(k, "2s memory=50Mi cache=150Mi; memory=150Mi cache=20Mi")
    k.advance(5)
    assert mib(k, "/pods/a", "memory.swap.current") == 0


def test_memory_min_keeps_pages_out_of_swap():
    k = kernel(memory="500Mi")
    for path in ("/pods", "/pods/a"):
        k.cgroups.write(path, "memory.min", str(200 * MI))
    start(k, "memory=200Mi")
    start(k, "memory=150Mi", "/pods/b")
    start(k, "memory=250Mi", "/")
    k.advance(5)
    assert mib(k, "/pods/a", "memory.swap.current") == 0
    assert not k.exits()


@pytest.mark.parametrize(("volumes", "swapped", "killed"), [({}, 40, False), ({"v": None}, 20, True)])
def test_files_in_dev_shm_are_swapped_those_of_a_volume_are_mounted_with_noswap(volumes, swapped, killed):
    k = kernel()
    k.cgroups.write("/pods/a", "memory.max", str(40 * MI))
    k.spawn(declared_workload("memory=20Mi shm=60Mi"), "/pods/a", tmpfs=volumes)
    k.advance(5)
    assert bool(k.exits()) == killed
    assert mib(k, "/pods/a", "memory.swap.current") == (0 if killed else swapped)


@pytest.mark.parametrize(
    ("memsw", "killed"),
    [(200 * MI, True), (400 * MI, False), (280 * MI, True)],
    ids=["no swap", "enough", "too little"],
)
def test_on_v1_memory_and_swap_are_limited_together(memsw, killed):
    k = kernel(1)
    for file, value in (("memory.limit_in_bytes", 200 * MI), ("memory.memsw.limit_in_bytes", memsw)):
        k.cgroups.write("/pods/a", file, str(value))
    start(k, "1s memory=100Mi; memory=300Mi")
    k.advance(10)
    assert bool(k.exits()) == killed
    if not killed:
        assert mib(k, "/pods/a", "memory.usage_in_bytes") == 200
        assert mib(k, "/pods/a", "memory.memsw.usage_in_bytes") == 300
        assert figure(k, "/pods/a", "memory.stat", "swap") == 100 * MI


def test_on_v1_swappiness_0_means_no_swap_at_the_cgroups_own_limit():
    k = kernel(1)
    k.cgroups.write("/pods/a", "memory.limit_in_bytes", str(200 * MI))
    k.cgroups.write("/pods/a", "memory.swappiness", "0")
    start(k, "1s memory=100Mi; memory=300Mi")
    k.advance(10)
    assert [gone.oom for gone in k.exits()] == [True]


def test_what_swap_counts_cannot_be_written():
    k = kernel()
    for file in ("memory.swap.current", "memory.swap.events", "memory.swap.peak"):
        with pytest.raises(CgroupError, match="EINVAL"):
            k.cgroups.write("/pods/a", file, "0")


def test_a_machine_without_swap_counts_none():
    k = kernel(swap=0)
    start(k, "memory=100Mi")
    assert k.cgroups.read("/pods/a", "memory.swap.current") == "0"
    assert k.cgroups.read("/pods/a", "memory.swap.events") == "high 0\nmax 0\nfail 0"


def test_a_limit_of_kernel_memory_is_accepted_and_ignored():
    k = kernel(1)
    k.cgroups.write("/pods/a", "memory.kmem.limit_in_bytes", "10M")
    assert k.cgroups.read("/pods/a", "memory.kmem.limit_in_bytes") == "9223372036854771712"
    with pytest.raises(CgroupError, match="EINVAL"):
        k.cgroups.write("/pods/a", "memory.kmem.limit_in_bytes", "much")
