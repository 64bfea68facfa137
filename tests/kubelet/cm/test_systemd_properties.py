"""What systemd is told for cgroup files, as opencontainers/cgroups computes it."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.serialize import from_dict
from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.cm.cgroup_levels import Desired
from kitlib.kubelet.cm.cgroup_names import OCI_RUNTIMES, Runtime
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.cm.systemd_properties import (
    INFINITY,
    bits,
    cgroups_path,
    is_slice,
    slice_properties,
    slice_quota,
    unit_properties,
)
from kitlib.kubelet.config.machine import MachineInfo

ROWS: list[tuple[str, Any, dict[str, str], dict[str, Any]]] = [
    ("shares", 1, {"cpu.shares": "512"}, {"CPUShares": 512}),
    ("a weight", 2, {"cpu.weight": "20"}, {"CPUWeight": 20}),
    (
        "a whole percent stays",
        1,
        {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "50000"},
        {"CPUQuotaPeriodUSec": 100_000, "CPUQuotaPerSecUSec": 500_000},
    ),
    (
        "a part of a percent is rounded up",
        2,
        {"cpu.max": "12300 100000"},
        {"CPUQuotaPeriodUSec": 100_000, "CPUQuotaPerSecUSec": 130_000},
    ),
    (
        "another period",
        2,
        {"cpu.max": "1000 10000"},
        {"CPUQuotaPeriodUSec": 10_000, "CPUQuotaPerSecUSec": 100_000},
    ),
    (
        "no quota",
        2,
        {"cpu.max": "max 100000"},
        {"CPUQuotaPeriodUSec": 100_000, "CPUQuotaPerSecUSec": INFINITY},
    ),
    ("memory on v1", 1, {"memory.limit_in_bytes": "1048576"}, {"MemoryLimit": 1_048_576}),
    ("no memory limit on v1", 1, {"memory.limit_in_bytes": "-1"}, {"MemoryLimit": INFINITY}),
    (
        "memory on v2",
        2,
        {"memory.max": "max", "memory.min": "1", "memory.low": "2", "memory.high": "3", "memory.swap.max": "0"},
        {"MemoryMax": INFINITY, "MemoryMin": 1, "MemoryLow": 2, "MemoryHigh": 3, "MemorySwapMax": 0},
    ),
    ("processes", 1, {"pids.max": "100"}, {"TasksMax": 100}),
    ("any number of processes", 2, {"pids.max": "max"}, {"TasksMax": INFINITY}),
    ("processors", 2, {"cpuset.cpus": "0-1,9"}, {"AllowedCPUs": b"\x03\x02"}),
    (
        "what systemd has no property for",
        2,
        {"memory.oom.group": "1", "hugetlb.2MB.max": "0"},
        {},
    ),
]


@pytest.mark.parametrize(("version", "files", "wanted"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_files_become_properties(version: Any, files: dict[str, str], wanted: dict[str, Any]) -> None:
    assert {one.name: one.value for one in unit_properties(files, version)} == wanted


def test_a_quota_that_changes_alone_is_told_with_its_period() -> None:
    files = {"cpu.shares": "2", "cpu.cfs_period_us": "50000", "cpu.cfs_quota_us": "25000"}
    told = {one.name: one.value for one in unit_properties(files, 1, ["cpu.cfs_quota_us"])}
    assert told == {"CPUQuotaPeriodUSec": 50_000, "CPUQuotaPerSecUSec": 500_000}


def test_bits_begin_with_the_lowest_processor() -> None:
    assert (bits("0"), bits("7"), bits("8"), bits("0-3,16")) == (b"\x01", b"\x80", b"\x00\x01", b"\x0f\x00\x01")


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/kubepods.slice", True),
        ("/kubepods.slice/kubepods-burstable.slice", True),
        ("/kubepods-burstable.slice", False),
        ("/kubepods", False),
        ("/kube/kubelet", False),
        ("/kubepods.slice/cri-containerd-1f.scope", False),
        ("/", False),
    ],
)
def test_a_slice_stands_below_those_that_its_name_spells(path: str, wanted: bool) -> None:
    assert is_slice(path) is wanted


def test_a_slice_wants_the_one_above_it() -> None:
    assert slice_properties("kubepods.slice")[0].value == ["kubepods.slice"]
    assert slice_properties("")[0].value == ["-.slice"]


def test_a_scope_is_named_to_the_runtime_by_slice_prefix_and_id() -> None:
    path = "/kubepods.slice/kubepods-pod1_2.slice/cri-containerd-1f.scope"
    assert cgroups_path(path) == "kubepods-pod1_2.slice:cri-containerd:1f"


@pytest.mark.parametrize(
    ("quota", "period", "kept"), [(12_300, 100_000, 13_000), (50_000, 100_000, 50_000), (-1, 100_000, -1)]
)
def test_a_slice_keeps_whole_percents(quota: int, period: int, kept: int) -> None:
    assert slice_quota(quota, period) == kept


@pytest.mark.parametrize(("driver", "quota"), [("cgroupfs", "12300"), ("systemd", "13000")])
def test_the_desired_tree_shows_what_systemd_keeps_of_a_pods_quota(driver: str, quota: str) -> None:
    limits = {"cpu": "123m", "memory": "64Mi"}
    container = {"name": "c", "image": "x", "resources": {"limits": limits, "requests": limits}}
    data = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "uid": "u"},
        "spec": {"containers": [container]},
    }
    pod: Pod = from_dict(data)
    node = NodeConfig(machine=MachineInfo(cores=2, memory=2**30), settings=read_settings([f"--cgroup-driver={driver}"]))
    (cgroup,) = Desired(node, 1).pod_level(pod)
    assert cgroup["cpu.cfs_quota_us"].value == quota
    assert ("whole percents" in cgroup["cpu.cfs_quota_us"].reason) is (driver == "systemd")
    scope = Desired(node, 1).container_level(pod, pod.spec.containers[0], "1f")
    assert scope["cpu.cfs_quota_us"].value == quota


@pytest.mark.parametrize(
    ("runtime", "weight", "scope", "inner"),
    [
        ("runc", "100", "124000 100000", ""),
        ("runc<1.3.2", "39", "123500 100000", ""),
        ("crun", "100", "124000 100000", "123500 100000"),
        ("crun<1.23", "39", "124000 100000", "123500 100000"),
    ],
)
def test_weight_and_quota_are_those_of_one_version_of_the_runtime(
    runtime: str, weight: str, scope: str, inner: str
) -> None:
    """runc#4622, opencontainers/cgroups#4, kubernetes#131216: 1235m of limit, 1 CPU of request, systemd, cgroup v2."""
    resources = {"limits": {"cpu": "1235m"}, "requests": {"cpu": "1"}}
    spec = {"containers": [{"name": "c", "image": "x", "resources": resources}]}
    pod: Pod = from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "uid": "u"}, "spec": spec})
    machine, settings = MachineInfo(cores=4, memory=2**32), read_settings(["--cgroup-driver=systemd"])
    node = NodeConfig(machine=machine, settings=settings, runtime=Runtime(oci=runtime))
    made = Desired(node, 2).container_level(pod, pod.spec.containers[0], "1f")
    assert (made["cpu.weight"].value, made["cpu.max"].value) == (weight, scope)
    below = made.inner["cpu.max"].value if made.inner is not None else ""
    assert below == inner
    assert OCI_RUNTIMES[runtime].label in made["cpu.weight"].why.source
