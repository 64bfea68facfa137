"""Files in a pod's tmpfs and second processes on the simulated kernel: what is charged, who is killed, what stays."""

from typing import Any

import pytest

from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.common.workload import declared_workload
from kitlib.node.simulated.kernel import Kernel

MI = 2**20
POD, MAIN = "/pods/a", "/pods/a/main"
VERSIONS = pytest.mark.parametrize("version", [1, 2])


def kernel(version: Any, limit: int) -> Kernel:
    made = Kernel(MachineInfo.declare(2, "1Gi"), version)
    made.cgroups.makedirs(MAIN)
    made.cgroups.write(MAIN, "memory.limit_in_bytes" if version == 1 else "memory.max", str(limit * MI))
    return made


def stat(made: Kernel, path: str, name: str) -> int:
    figures = dict(map(str.split, made.cgroups.read(path, "memory.stat").splitlines()))
    return int(figures[f"total_{name}" if made.version == 1 else name]) // MI


@VERSIONS
def test_files_in_a_tmpfs_count_as_shmem_and_are_no_cache_that_can_be_given_back(version: Any) -> None:
    made = kernel(version, 200)
    made.spawn(declared_workload("memory=50Mi shm=100Mi cache=500Mi"), MAIN, tmpfs={"v": None})
    assert stat(made, MAIN, "shmem") == 100
    assert stat(made, MAIN, "inactive_file") == 50
    assert made.usage(MAIN) == 200 * MI


@VERSIONS
def test_files_stay_with_the_pod_when_their_container_is_killed_and_go_with_the_pod(version: Any) -> None:
    made = kernel(version, 150)
    made.spawn(declared_workload("2s memory=50Mi; memory=50Mi shm=120Mi"), MAIN, tmpfs={"v": None})
    made.advance(5)
    assert [one.oom for one in made.exits()] == [True]
    made.cgroups.rmdir(MAIN)
    assert (made.usage(POD), stat(made, POD, "shmem")) == (100 * MI, 100)
    made.cgroups.rmdir(POD)
    assert made.usage("/") == 0


@VERSIONS
def test_files_that_do_not_fit_at_all_are_not_written(version: Any) -> None:
    made = kernel(version, 100)
    made.spawn(declared_workload("memory=10Mi shm=300Mi"), MAIN, tmpfs={"v": None})
    assert made.usage(MAIN) <= 100 * MI


@VERSIONS
def test_what_is_left_after_a_kill_is_what_fitted_beside_the_killed_process(version: Any) -> None:
    """kubernetes/kubernetes#128339: 60 MiB of files, then 300; the process has 20 and the limit is 100."""
    made = kernel(version, 100)
    made.spawn(declared_workload("5s shm=60Mi memory=20Mi; shm=300Mi memory=20Mi"), MAIN, tmpfs={"v": None})
    made.advance(10)
    assert [one.oom for one in made.exits()] == [True]
    assert (stat(made, MAIN, "shmem"), made.usage(MAIN)) == (80, 80 * MI)


@pytest.mark.parametrize(("volumes", "fits"), [({}, 64), ({"v": 50 * MI}, 50), ({"v": 80 * MI, "w": None}, 80)])
def test_a_tmpfs_takes_no_more_than_its_size(volumes: Any, fits: int) -> None:
    made = kernel(2, 300)
    made.spawn(declared_workload("memory=10Mi shm=90Mi"), MAIN, tmpfs=volumes)
    made.advance(1)
    assert not made.exits()  # the writer is told ENOSPC
    assert stat(made, MAIN, "shmem") == fits


def test_a_process_that_maps_more_than_fits_dies_of_sigbus() -> None:
    made = kernel(2, 300)
    made.spawn(declared_workload("2s mapped=60Mi; mapped=70Mi"), MAIN)
    made.advance(1)
    assert not made.exits()
    made.advance(2)
    assert [(one.code, one.oom) for one in made.exits()] == [(135, False)]
    assert stat(made, MAIN, "shmem") == 64


def test_each_writer_is_charged_for_what_it_added() -> None:
    made = kernel(2, 300)
    made.cgroups.makedirs(f"{POD}/side")
    made.spawn(declared_workload("shm=30Mi"), MAIN, tmpfs={"v": None})
    made.spawn(declared_workload("1s; shm=50Mi"), f"{POD}/side", tmpfs={"v": None})
    made.advance(3)
    assert [stat(made, path, "shmem") for path in (MAIN, f"{POD}/side", POD)] == [30, 20, 50]


CHILDREN = [
    # cgroup version, memory.oom.group, whether the first process lives on
    (1, False, True),
    (2, False, True),
    (2, True, False),
]


@pytest.mark.parametrize(("version", "group", "lives"), CHILDREN)
def test_a_child_over_the_limit_dies_alone_unless_its_cgroup_dies_as_a_group(
    version: Any, group: bool, lives: bool
) -> None:
    made = kernel(version, 150)
    if group:
        made.cgroups.write(MAIN, "memory.oom.group", "1")
    parent = made.spawn(declared_workload("2s memory=20Mi child=60Mi; memory=20Mi child=160Mi"), MAIN)
    made.advance(1)
    assert made.usage(MAIN) == 80 * MI
    made.advance(5)
    assert (parent in made.processes) is lives
    assert made.usage(MAIN) == (20 * MI if lives else 0)
    made.kill(parent)
    assert not made.processes
    assert made.usage("/") == 0
