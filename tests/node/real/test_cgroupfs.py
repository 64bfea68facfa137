"""The agent's view of cgroup hierarchies, on directories that stand in for the kernel's."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from kitlib.api.errors import KitError
from kitlib.node.common.errors import CgroupError
from kitlib.node.real.cgroupfs import RealCgroupFS


@pytest.fixture
def one(tmp_path: Path) -> RealCgroupFS:
    for name in ("cpu", "memory", "cpuset", "pids"):
        (tmp_path / name).mkdir()
    (tmp_path / "memory/memory.limit_in_bytes").write_text("1024\n")
    (tmp_path / "cpu/cpu.shares").write_text("1024\n")
    (tmp_path / "cpuset/cpuset.cpus").write_text("0-1\n")
    (tmp_path / "cpuset/cpuset.mems").write_text("0\n")
    names = {name: str(tmp_path / name) for name in ("cpu", "memory", "pids")}
    return RealCgroupFS(names)


@pytest.fixture
def two(tmp_path: Path) -> RealCgroupFS:
    (tmp_path / "cgroup.controllers").write_text("cpu memory\n")
    (tmp_path / "cgroup.subtree_control").write_text("cpu memory\n")
    (tmp_path / "cgroup.procs").write_text("")
    (tmp_path / "cpu.weight").write_text("100\n")
    return RealCgroupFS({"": str(tmp_path)})


def test_each_file_stands_in_its_controllers_hierarchy(one: RealCgroupFS) -> None:
    assert one.version == 1
    assert one.read("/", "memory.limit_in_bytes") == "1024"
    assert one.read("/", "cpu.shares") == "1024"
    one.makedirs("/kubepods/burstable")
    assert all(Path(root, "kubepods/burstable").is_dir() for root in one.hierarchies.values())
    assert one.children("/") == ["/kubepods"]
    assert list(one.paths()) == ["/", "/kubepods", "/kubepods/burstable"]
    one.rmdir("/kubepods/burstable")
    assert not one.exists("/kubepods/burstable")


def test_the_hierarchies_without_a_cgroup_are_named(one: RealCgroupFS, two: RealCgroupFS) -> None:
    Path(one.hierarchies["memory"], "system.slice").mkdir()
    assert list(one.absent("/system.slice")) == ["cpu", "pids"]
    one.makedirs("/system.slice")
    assert list(one.absent("/system.slice")) == []
    assert list(two.absent("/system.slice")) == [""]


def test_a_controller_that_the_node_has_not_is_named(one: RealCgroupFS) -> None:
    with pytest.raises(CgroupError, match="no hugetlb controller"):
        one.read("/", "hugetlb.2MB.limit_in_bytes")


def test_on_v2_there_is_one_tree_and_the_agents_leaf_is_not_shown(two: RealCgroupFS) -> None:
    assert two.version == 2
    assert two.controllers == ["cpu", "memory"]
    Path(two.hierarchies[""], "agent").mkdir()
    Path(two.hierarchies[""], "kubepods").mkdir()
    assert two.children("/") == ["/kubepods"]
    assert two.read("/", "cpu.weight") == "100"
    two.write("/", "cpu.weight", "50")
    assert two.read("/", "cpu.weight").startswith("50")


@pytest.mark.parametrize("path", ["relative", "/../etc", "/a/../../b", "/a\0b"])
def test_a_path_stays_in_the_tree(one: RealCgroupFS, path: str) -> None:
    with pytest.raises(KitError, match="not a file in the cgroup tree of this node"):
        one.read(path, "cpu.shares")
    with pytest.raises(KitError, match="not a file in the cgroup tree of this node"):
        one.write("/", "../cpu.shares", "1")


@pytest.mark.parametrize("path", ["/no/such", "/"])
def test_a_file_that_is_not_there_is_the_kernels_error(one: RealCgroupFS, path: str) -> None:
    with pytest.raises(CgroupError, match="No such file"):
        one.read(path, "cpu.none")


def test_kills_are_counted_from_the_cgroups_own_counter(one: RealCgroupFS, two: RealCgroupFS) -> None:
    Path(one.hierarchies["memory"], "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
    Path(two.hierarchies[""], "memory.events").write_text("low 0\noom 1\noom_kill 2\noom_group_kill 1\n")
    assert (one.oom_kills("/"), two.oom_kills("/"), one.oom_kills("/gone")) == (3, 2, 0)


@pytest.mark.parametrize("version", [1, 2])
def test_before_processes_come_the_agent_moves_itself_to_where_it_stands(
    version: int, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    cgroups: RealCgroupFS = request.getfixturevalue("one" if version == 1 else "two")
    place = Path(cgroups.roots[0], "mine" if version == 1 else "agent", "cgroup.procs")
    place.parent.mkdir()
    place.write_text("")
    monkeypatch.setattr(cgroups, "_text", lambda path: "8:pids:/other\n3:cpuacct,cpu:/mine\n0::/agent\n")
    cgroups.expect_processes()
    deadline = time.monotonic() + 5
    while not place.read_text() and time.monotonic() < deadline:
        time.sleep(0.001)
    assert place.read_text() == str(os.getpid())
    assert not list(Path(cgroups.roots[-1]).glob("other"))


def test_where_the_agent_may_not_move_processes_nothing_happens(one: RealCgroupFS) -> None:
    one.expect_processes()
    one.expect_processes()
    assert not list(Path(one.roots[0]).rglob("cgroup.procs"))
