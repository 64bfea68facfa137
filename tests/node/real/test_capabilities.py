"""Where the engine or the host refuses something, the node makes do and says so: all without an engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.kubelet.config.machine import HugePages, MachineInfo
from kitlib.node.real import capabilities, host, mounts
from kitlib.node.real.cgroupfs import RealCgroupFS
from kitlib.node.real.container import _missing_controller

MACHINE = MachineInfo(cores=2, memory=2**30)


def tree(folder: Path, controllers: str) -> RealCgroupFS:
    """A cgroup v2 file system as a node finds it, of ordinary files."""
    (folder / "cgroup.controllers").write_text(controllers)
    (folder / "cgroup.procs").write_text("")
    (folder / "cgroup.subtree_control").write_text("")
    return RealCgroupFS({"": str(folder)})


@pytest.mark.parametrize(
    ("info", "why"),
    [
        ({"CgroupVersion": "2"}, ""),
        ({"CgroupVersion": "1"}, ""),
        ({"CgroupVersion": "2", "SecurityOptions": ["name=rootless"]}, ""),
        ({"CgroupVersion": "1", "SecurityOptions": ["name=seccomp", "name=rootless"]}, "only root may own cgroups"),
        ({"Rootless": True}, "a host with cgroup v2"),
        ({"OSType": "windows"}, "Linux containers"),
    ],
)
def test_where_no_node_can_start_the_cause_and_the_way_out_are_said(info: dict[str, Any], why: str) -> None:
    found = host.hindrance(info)
    assert bool(found) == bool(why)
    assert why in found
    assert (found in host.refusals(info)) == bool(why)


@pytest.mark.parametrize(
    ("said", "controller"),
    [
        ("crun: the requested cgroup controller `cpuset` is not available: OCI runtime error", "cpuset"),
        ("crun: the requested cgroup controller `memory` is not available: OCI runtime error", "memory"),
        ("runc: open /sys/fs/cgroup/user.slice/x/pids.max: no such file or directory: unknown", "pids"),
        ("crun: open executable: no such file or directory", ""),
        ("runc: unable to apply caps: operation not permitted: cgroup", ""),
        ("crun: the requested cgroup controller `io` is not available", ""),
    ],
)
def test_a_bound_that_the_engine_cannot_give_is_known_by_its_words(said: str, controller: str) -> None:
    assert _missing_controller(said) == controller


def test_a_controller_that_is_not_there_is_said_with_what_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capabilities, "in_user_namespace", lambda: True)
    some = tree(tmp_path, "cpu memory pids")
    assert capabilities.limits(some, MACHINE, 100) == [
        "oom_score_adj below 100 is refused here (the engine runs without root)",
        "a pod's process may lower its own oom_score_adj to 100 here, which Kubernetes refuses "
        "(the engine runs without root)",
        "no cpuset controller here: no pod is kept to its CPUs, exclusive ones neither",
        "more controllers come with more delegation to the engine's user "
        "(systemd: Delegate=cpu cpuset io memory pids for user@.service)",
    ]
    assert some.lacks("cpuset.cpus")
    assert some.lacks("memory.swap.max")  # swap is not counted
    assert not some.lacks("memory.max")
    whole = tree(tmp_path, "cpuset cpu memory pids")
    assert capabilities.limits(whole, MACHINE, -1000) == []
    monkeypatch.setattr(capabilities, "in_user_namespace", lambda: False)
    assert capabilities.limits(whole, MACHINE, 0) == [
        "oom_score_adj below 0 is refused here (no CAP_SYS_RESOURCE)",
        "a pod's process may lower its own oom_score_adj to 0 here, which Kubernetes refuses (no CAP_SYS_RESOURCE)",
    ]


@pytest.mark.parametrize(
    ("uid_map", "mapped"),
    [
        ("         0          0 4294967295\n", False),
        ("         0      65536      65536\n", True),
        ("         0       1000          1\n         1     100000      65536\n", True),
        (None, False),
    ],
    ids=["the machine's users", "hostUsers: false", "a rootless engine", "a kernel without user namespaces"],
)
def test_a_node_reads_from_inside_whether_its_users_are_the_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uid_map: str | None, mapped: bool
) -> None:
    file = tmp_path / "uid_map"
    if uid_map is not None:
        file.write_text(uid_map)
    monkeypatch.setattr(capabilities, "_UID_MAP", str(file))
    assert capabilities.in_user_namespace() is mapped


def test_huge_pages_are_missed_only_where_the_node_was_to_have_some(tmp_path: Path) -> None:
    machine = MachineInfo(cores=1, memory=2**30, huge_pages=(HugePages(2**21, 4), HugePages(2**30, 0)))
    without = tree(tmp_path, "cpuset cpu memory pids")
    assert capabilities.limits(without, machine, -1000) == ["no hugetlb controller here: no limit of huge pages holds"]
    (tmp_path / "hugetlb.2MB.max").write_text("max")
    some = tree(tmp_path, "cpuset cpu memory pids hugetlb")
    assert capabilities.limits(some, machine, -1000) == [
        "no huge pages of 1073741824 bytes here: their limits do not hold",
    ]
    assert some.lacks("hugetlb.1GB.max")
    assert not some.lacks("hugetlb.2MB.max")


@pytest.mark.parametrize("least", [-1000, 0, 100, 200])
def test_the_agent_finds_the_lowest_score_that_it_may_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, least: int
) -> None:
    """Source: __set_oom_adj: without CAP_SYS_RESOURCE nothing below oom_score_adj_min."""
    score = tmp_path / "oom_score_adj"
    score.write_text("200")

    def kernel(value: int) -> bool:
        if value >= least:
            score.write_text(str(value))
        return value >= least

    monkeypatch.setattr(capabilities, "_SCORE", str(score))
    monkeypatch.setattr(capabilities, "_set", kernel)
    assert capabilities.lowest_score() == least
    assert int(score.read_text()) == max(least, capabilities.AGENT_SCORE)


def test_a_tree_that_is_somebody_elses_is_named_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mounts, "make_writable", lambda place: None)
    monkeypatch.setattr("os.access", lambda place, how: False)
    with pytest.raises(KitError, match=r"cannot create cgroups: the container engine runs without root.*delegated"):
        tree(tmp_path, "cpu memory").prepare()


def test_a_node_that_stands_in_the_engines_own_cgroup_says_so_and_leaves_it_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mounts, "make_writable", lambda place: None)
    made = tree(tmp_path, "cpu memory")
    (tmp_path / "cgroup.procs").write_text("0\n17\n")
    with pytest.raises(KitError, match=r"engine run in this node's cgroup.*KITLIB_CGROUP_PARENT"):
        made.prepare()
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "cgroup.controllers",
        "cgroup.procs",
        "cgroup.subtree_control",
    ]
