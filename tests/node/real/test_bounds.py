"""What a node in a pod gives itself: which processors, and below which cgroup."""

from __future__ import annotations

import pytest

from kitlib.api.errors import KitError
from kitlib.node.real.bounds import Bounds, own_cgroup, picked, read


def test_bounds_are_read_from_the_command_line() -> None:
    assert read(["--cpus=2", "--memory=1024", "--pids=0"]) == Bounds(2, 1024, 0)
    for wrong in ("--cpus=some", "--gpus=1", "--cpus"):
        with pytest.raises(KitError, match="must be one of --cpus=N, --memory=BYTES, --pids=N"):
            read([wrong])


@pytest.mark.parametrize(
    ("available", "wanted", "found"),
    [
        ([0, 1, 2, 3], 4, [0, 1, 2, 3]),
        ([0, 1], 4, [0, 1]),
        ([0, 1, 2], 0, [0, 1, 2]),
        ([4, 5, 6], 2, [4, 5]),
    ],
)
def test_a_node_gets_as_many_processors_as_it_wants_where_there_are_some(
    available: list[int], wanted: int, found: list[int]
) -> None:
    assert picked(available, wanted, "node-1") == found


def test_nodes_of_one_machine_spread_over_its_processors() -> None:
    found = [tuple(picked(range(64), 4, f"kitlib-node-1-{number:08x}")) for number in range(200)]
    assert {len(one) for one in found} == {4} and all(one[0] % 4 == 0 for one in found)
    assert len(set(found)) == 16  # all places of the machine are used


MOUNT = "31 23 0:27 {top} /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n"
POD = "/kubepods.slice/kubepods-pod1.slice/cri-containerd-2.scope"


@pytest.mark.parametrize(
    ("top", "cgroup", "found"),
    [
        ("/", "0::/\n", "/sys/fs/cgroup"),
        ("/", f"0::{POD}\n", f"/sys/fs/cgroup{POD}"),
        (POD, f"0::{POD}\n", "/sys/fs/cgroup"),
        (POD, f"0::{POD}/leaf\n", "/sys/fs/cgroup/leaf"),
        ("/", f"1:name=systemd:/x\n0::{POD}\n", f"/sys/fs/cgroup{POD}"),
    ],
    ids=["a namespace of its own", "cgroups of its whole machine", "its own, bound", "a leaf of its own", "hybrid"],
)
def test_a_pods_own_cgroup_is_found_whatever_its_runtime_mounts(top: str, cgroup: str, found: str) -> None:
    assert own_cgroup(MOUNT.format(top=top), cgroup) == found


@pytest.mark.parametrize(("top", "cgroup"), [("/other", f"0::{POD}\n"), ("/", "0::/../x\n"), ("/", "")])
def test_a_cgroup_that_is_not_below_the_mount_is_refused(top: str, cgroup: str) -> None:
    with pytest.raises(KitError, match="is outside of /sys/fs/cgroup"):
        own_cgroup(MOUNT.format(top=top), cgroup)
