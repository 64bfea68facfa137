"""Page cache: active and inactive lists, dirty pages, and what reclaim counts."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from kitlib.cluster import Cluster
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.common.errors import CgroupError
from kitlib.node.common.workload import WorkloadError, declared_workload
from kitlib.node.simulated.kernel import Kernel

MI = 2**20
POD, MAIN = "/pods/a", "/pods/a/main"
VERSIONS = pytest.mark.parametrize("version", [1, 2])


def kernel(version: Any, limit: int, at: str = MAIN) -> Kernel:
    made = Kernel(MachineInfo.declare(2, "1Gi"), version)
    made.cgroups.makedirs(MAIN)
    made.cgroups.write(at, "memory.limit_in_bytes" if version == 1 else "memory.max", str(limit * MI))
    return made


def stat(made: Kernel, path: str, *names: str) -> list[int]:
    figures = dict(map(str.split, made.cgroups.read(path, "memory.stat").splitlines()))
    if made.version == 1:
        return [int(figures[f"total_{name}"]) // MI for name in names]
    return [int(figures[{"dirty": "file_dirty"}.get(name, name)]) // MI for name in names]


@VERSIONS
def test_pages_that_are_used_again_are_on_the_active_list(version: Any) -> None:
    made = kernel(version, 500)
    made.spawn(declared_workload("memory=10Mi cache=200Mi active=120Mi dirty=30Mi"), MAIN)
    assert stat(made, POD, "active_file", "inactive_file", "dirty") == [120, 80, 30]
    assert made.memory.working_set(POD) == 130 * MI


@VERSIONS
def test_inactive_pages_go_before_active_ones(version: Any) -> None:
    made = kernel(version, 250)
    made.spawn(declared_workload("1s cache=200Mi active=120Mi; cache=200Mi active=120Mi memory=100Mi"), MAIN)
    made.advance(2)
    assert stat(made, MAIN, "active_file", "inactive_file") == [120, 30]
    made.spawn(declared_workload("memory=100Mi"), MAIN)
    assert stat(made, MAIN, "active_file", "inactive_file") == [50, 0]
    assert not made.exits()


def test_new_page_cache_drives_out_that_of_others_in_a_full_cgroup() -> None:
    made = kernel(2, 128, "/pods")
    for name in ("a", "b", "c"):
        made.cgroups.makedirs(f"/pods/{name}/main")
    for name, size in (("a", 40), ("b", 40), ("c", 120)):
        made.spawn(declared_workload(f"memory=0 cache={size}Mi"), f"/pods/{name}/main")
    assert made.usage("/pods") == 128 * MI
    left = [made.usage(f"/pods/{name}") // MI for name in ("a", "b", "c")]
    assert left[0] == left[1] == 25


def test_reclaim_counts_each_try_in_the_full_cgroup() -> None:
    """388 MiB beyond the limit are 99,328 pages: 3,104 reclaims of 32 pages, and a failed try for each page more."""
    v1, v2 = kernel(1, 512, POD), kernel(2, 512, POD)
    for made in (v1, v2):
        made.spawn(declared_workload("memory=0 cache=900Mi"), MAIN)
    assert v1.cgroups.read(POD, "memory.failcnt") == str(99_328 + 3_104)
    assert v1.cgroups.read(MAIN, "memory.failcnt") == "0"
    assert [v2.cgroups.read(path, "memory.events").splitlines()[2] for path in (MAIN, POD, "/pods")] == [
        "max 0",
        "max 3104",
        "max 3104",
    ]
    local = [v2.cgroups.read(path, "memory.events.local").splitlines()[2] for path in (POD, "/pods")]
    assert local == ["max 3104", "max 0"]


@pytest.mark.parametrize(("version", "killed", "dirty"), [(1, True, 0), (2, False, 20)])
def test_dirty_pages_have_a_limit_for_each_cgroup_on_v2_alone(version: Any, killed: bool, dirty: int) -> None:
    """docker/for-linux#651: cp dies of its dirty pages; on v2 it waits for the disk at 20% of the limit."""
    made = kernel(version, 100)
    made.spawn(declared_workload("memory=5Mi cache=150Mi dirty=150Mi"), MAIN)
    assert [one.oom for one in made.exits()] == [True] * killed
    assert stat(made, MAIN, "dirty") == [dirty]


def test_parts_of_the_page_cache_are_no_larger_than_it() -> None:
    with pytest.raises(WorkloadError, match="active= and dirty= are parts of cache="):
        declared_workload("cache=3Gi active=2Gi dirty=2Gi")


@VERSIONS
@pytest.mark.parametrize(("active", "evicted"), [("0", False), ("3450Mi", True)])
def test_active_page_cache_puts_a_node_under_pressure(version: Any, active: str, evicted: bool) -> None:
    """kubernetes/kubernetes#43916: cAdvisor takes inactive_file alone out of the working set."""
    node = {"name": "n", "memory": "4Gi", "kubelet": {"evictionHard": {"memory.available": "500Mi"}}}
    with Cluster.simulated([node], cgroup_version=version) as cluster:
        meta = {
            "name": "db",
            "annotations": {"kitlib.dev/workload.c": f"memory=200Mi cache=3500Mi active={active}"},
        }
        spec = {"containers": [{"name": "c", "image": "postgres"}]}
        cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        cluster.advance(30)
        assert (cluster.pod("db").status.reason == "Evicted") is evicted


def test_memory_reclaim_takes_page_cache_below_the_cgroup_and_refuses_what_is_not_there() -> None:
    made = kernel(2, 500)
    made.spawn(declared_workload("memory=10Mi cache=200Mi active=120Mi"), MAIN)
    made.cgroups.write(POD, "memory.reclaim", "100M\n")
    assert stat(made, MAIN, "active_file", "inactive_file") == [100, 0]
    assert [made.usage(path) // MI for path in ("/pods", POD, MAIN)] == [110] * 3
    made.cgroups.write(POD, "memory.reclaim", "0")
    with pytest.raises(CgroupError, match="104857600 bytes were reclaimed, and nothing more can be") as short:
        made.cgroups.write(POD, "memory.reclaim", "1G")  # anonymous memory needs swap
    assert short.value.errno == errno.EAGAIN and made.usage(MAIN) == 10 * MI
    assert made.cgroups.read(MAIN, "memory.events").splitlines()[2] == "max 0"  # no limit was reached
    assert not made.exits()


def test_memory_reclaim_leaves_memory_min_alone() -> None:
    made = kernel(2, 500)
    made.cgroups.write(MAIN, "memory.min", str(60 * MI))
    made.spawn(declared_workload("memory=10Mi cache=100Mi"), MAIN)
    with pytest.raises(CgroupError, match=f"{50 * MI} bytes were reclaimed"):
        made.cgroups.write(POD, "memory.reclaim", "110M")
    assert made.usage(MAIN) == 60 * MI


@pytest.mark.parametrize(
    ("version", "path", "file", "reads", "writes"),
    [
        (2, POD, "memory.reclaim", errno.EINVAL, errno.EINVAL),
        (2, "/", "memory.reclaim", errno.EINVAL, errno.EINVAL),
        (1, POD, "memory.reclaim", errno.ENOENT, errno.ENOENT),
        (2, POD, "cgroup.kill", errno.EINVAL, errno.ERANGE),
        (2, "/", "cgroup.kill", errno.ENOENT, errno.ENOENT),
        (1, POD, "cgroup.kill", errno.ENOENT, errno.ENOENT),
    ],
)
def test_files_that_act_cannot_be_read(version: Any, path: str, file: str, reads: int, writes: int) -> None:
    made = kernel(version, 500)
    with pytest.raises(CgroupError) as read:
        made.cgroups.read(path, file)
    with pytest.raises(CgroupError) as written:
        made.cgroups.write(path, file, "-5" if file == "memory.reclaim" else "5")
    assert (read.value.errno, written.value.errno) == (reads, writes)


def test_a_v1_limit_that_is_refused_has_cost_the_page_cache() -> None:
    """Seen on Linux 6.1 (tests/vm/test_memory_scenes.py, scene 3): EBUSY comes after reclaim has found nothing more."""
    made = kernel(1, 200)
    made.spawn(declared_workload("memory=60Mi cache=40Mi"), MAIN)
    with pytest.raises(CgroupError) as refused:
        made.cgroups.write(MAIN, "memory.limit_in_bytes", str(30 * MI))
    assert refused.value.errno == errno.EBUSY
    assert stat(made, MAIN, "cache") == [0]
    assert made.memory.usage(MAIN) == 60 * MI
