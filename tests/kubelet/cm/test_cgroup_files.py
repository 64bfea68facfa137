"""The files of a cgroup on v1 and v2: which are written, their values, the kernel's defaults and the order."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.kubelet.cm.cgroup_config import ResourceConfig
from kitlib.kubelet.cm.cgroup_files import kubelet_files, memory_order, runtime_files, with_defaults
from kitlib.kubelet.cm.cgroup_names import Runtime
from kitlib.kubelet.cm.cgroup_tree import CgroupFile
from kitlib.kubelet.cm.container_config import LinuxContainerResources

MI2 = 2**21
HUGE = ("hugetlb.2MB.max", "hugetlb.2MB.rsvd.max")


def shown(files: list[CgroupFile]) -> dict[str, str]:
    return {file.name: file.value for file in files}


@pytest.mark.parametrize(
    ("config", "v1", "v2"),
    [
        ({}, {}, {}),
        ({"cpu_shares": 1024}, {"cpu.shares": "1024"}, {"cpu.weight": "39"}),
        ({"cpu_shares": 2}, {"cpu.shares": "2"}, {"cpu.weight": "1"}),
        ({"cpu_quota": 5, "cpu_period": 10}, {"cpu.cfs_period_us": "10", "cpu.cfs_quota_us": "5"}, {"cpu.max": "5 10"}),
        ({"cpu_quota": -1}, {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "-1"}, {"cpu.max": "max 100000"}),
        ({"cpu_quota": 1}, {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "1"}, {"cpu.max": "1 100000"}),
        ({"cpu_period": 10}, {"cpu.cfs_period_us": "10"}, {"cpu.max": "max 10"}),
        ({"memory": 0}, {"memory.limit_in_bytes": "0"}, {"memory.max": "0"}),
        ({"memory": -1}, {"memory.limit_in_bytes": "-1"}, {"memory.max": "max"}),
        ({"pids_limit": 0}, {"pids.max": "0"}, {"pids.max": "0"}),
        ({"pids_limit": -1}, {"pids.max": "max"}, {"pids.max": "max"}),
        ({"cpuset": "0-1"}, {"cpuset.cpus": "0-1"}, {"cpuset.cpus": "0-1"}),
        ({"unified": {"memory.min": "1"}}, {}, {"memory.min": "1"}),
    ],
)
def test_what_the_kubelet_writes(config: dict[str, Any], v1: dict[str, str], v2: dict[str, str]) -> None:
    assert shown(kubelet_files(ResourceConfig(**config), 1)) == v1
    assert shown(kubelet_files(ResourceConfig(**config), 2)) == v2


def test_a_page_size_without_a_limit_is_limited_to_zero() -> None:
    found = shown(kubelet_files(ResourceConfig(huge_page_limit={MI2: 5}), 2, huge_page_sizes=(MI2, 2**30)))
    assert found == dict.fromkeys(HUGE, "5") | dict.fromkeys(("hugetlb.1GB.max", "hugetlb.1GB.rsvd.max"), "0")
    on_v1 = kubelet_files(ResourceConfig(), 1, huge_page_sizes=(MI2,))
    assert shown(on_v1) == {"hugetlb.2MB.limit_in_bytes": "0", "hugetlb.2MB.rsvd.limit_in_bytes": "0"}


@pytest.mark.parametrize(
    ("resources", "v1", "v2"),
    [
        ({}, {}, {}),
        ({"cpu_quota": 5, "cpu_period": 10}, {"cpu.cfs_period_us": "10", "cpu.cfs_quota_us": "5"}, {"cpu.max": "5 10"}),
        ({"cpu_period": 10}, {"cpu.cfs_period_us": "10"}, {"cpu.max": "max 10"}),
        (
            {"cpu_quota": -1, "cpu_period": 7},
            {"cpu.cfs_period_us": "7", "cpu.cfs_quota_us": "-1"},
            {"cpu.max": "max 7"},
        ),
        ({"memory_limit": 5}, {"memory.limit_in_bytes": "5"}, {"memory.max": "5"}),
        ({"memory_swap_limit": 6}, {"memory.memsw.limit_in_bytes": "6"}, {}),
        (
            {"cpuset_cpus": "1", "cpuset_mems": "0"},
            {"cpuset.cpus": "1", "cpuset.mems": "0"},
            {"cpuset.cpus": "1", "cpuset.mems": "0"},
        ),
        ({"unified": {"memory.oom.group": "1"}}, {}, {"memory.oom.group": "1"}),
    ],
)
def test_what_the_runtime_writes(resources: dict[str, Any], v1: dict[str, str], v2: dict[str, str]) -> None:
    given = LinuxContainerResources(cpu_shares=1024, **resources)
    assert shown(runtime_files(given, 1, Runtime())) == {"cpu.shares": "1024", **v1}
    assert shown(runtime_files(given, 2, Runtime())) == {"cpu.weight": "100", **v2}


def test_defaults_of_the_kernel_are_shown_and_not_written() -> None:
    v1 = with_defaults([CgroupFile("cpu.shares", "7"), CgroupFile("pids.max", "1")], 1)
    assert list(v1) == ["cpu.shares", "cpu.cfs_quota_us", "cpu.cfs_period_us", "memory.limit_in_bytes", "pids.max"]
    assert {name: file.value for name, file in v1.items() if file.written} == {"cpu.shares": "7", "pids.max": "1"}
    v2 = with_defaults([], 2)
    assert shown(list(v2.values())) == {"cpu.weight": "100", "cpu.max": "max 100000", "memory.max": "max"}
    assert with_defaults([], 2, root=True) == {}
    assert list(with_defaults([], 1, root=True)) == list(with_defaults([], 1))


@pytest.mark.parametrize(
    ("both", "now", "first"),
    [("-1", "10", True), ("11", "10", True), ("10", "10", False), ("9", "10", False)],
    ids=["unlimited", "rises", "stays", "falls"],
)
def test_the_limit_of_memory_and_swap_is_never_below_that_of_memory(both: str, now: str, first: bool) -> None:
    memory, swap = CgroupFile("memory.limit_in_bytes", "5"), CgroupFile("memory.memsw.limit_in_bytes", both)
    expected = [swap, memory] if first else [memory, swap]
    assert memory_order([memory, swap], {swap.name: now}.__getitem__) == expected
    assert memory_order([memory], {}.__getitem__) == [memory]
