"""Settings of the cgroups above the pods, and of what is reserved: each is seen to do something."""

from __future__ import annotations

import pytest

from tests.kubelet.config.settings_seen import (
    ALL,
    DISK,
    MI,
    QUIET,
    Row,
    allocatable,
    at,
    check,
    daemon,
    file,
    names,
    path,
)

ROWS = [
    Row(
        "cgroups_per_qos",
        ["--cgroups-per-qos=false"],
        ALL,
        path("kubepods"),
        "/kubepods",
        None,
        ["--enforce-node-allocatable="],
    ),
    Row(
        "cgroup_root",
        ["--cgroup-root=/pods"],
        ALL,
        path("kubepods"),
        "/kubepods",
        "/pods/kubepods",
        [],
        {"cgroups": ["/pods"]},
    ),
    Row("cgroup_driver", ["--cgroup-driver=systemd"], ALL, path("kubepods"), "/kubepods", "/kubepods.slice"),
    Row(
        "cgroup_driver",
        ["--cgroup-driver=systemd"],
        ALL,
        path("pod", "b"),
        "/kubepods/burstable/podUID",
        None,
    ),
    Row(
        "enforce_node_allocatable",
        ["--enforce-node-allocatable=none"],
        ALL,
        file("memory.max"),
        str(7 * 1024 * MI),
        str(8 * 1024 * MI),
        ["--system-reserved=memory=1Gi"],
    ),
    Row(
        "enforce_node_allocatable",
        ["--enforce-node-allocatable=pods,system-reserved-compressible"],
        ALL,
        at("/sys", "cpu.weight"),
        "100",
        "20",
        ["--system-reserved=cpu=500m,memory=1Gi", "--system-reserved-cgroup=/sys"],
        {"cgroups": ["/sys"]},
    ),
    Row(
        "system_reserved",
        ["--system-reserved=memory=1Gi"],
        ALL,
        file("memory.max"),
        str(8 * 1024 * MI),
        str(7 * 1024 * MI),
    ),
    Row("system_reserved", ["--system-reserved=cpu=1"], ALL, allocatable("cpu"), "4", "3"),
    Row(
        "kube_reserved",
        ["--kube-reserved=memory=2Gi"],
        ALL,
        file("memory.limit_in_bytes"),
        str(8 * 1024 * MI),
        str(6 * 1024 * MI),
        version=1,
    ),
    Row(
        "kube_reserved",
        ["--kube-reserved=ephemeral-storage=10Gi"],
        ALL,
        allocatable("ephemeral-storage"),
        "100Gi",
        "90Gi",
        QUIET,
        DISK,
    ),
    Row("kube_reserved", ["--kube-reserved=pid=1000"], ALL, file("pids.max"), "4000", "3000", [], {"max_pid": 4000}),
    Row(
        "system_reserved_cgroup",
        ["--system-reserved-cgroup=/sys", "--enforce-node-allocatable=pods,system-reserved"],
        ALL,
        at("/sys", "memory.max"),
        "max",
        str(1024 * MI),
        ["--system-reserved=memory=1Gi"],
        {"cgroups": ["/sys"]},
    ),
    Row(
        "kube_reserved_cgroup",
        ["--kube-reserved-cgroup=/kube", "--enforce-node-allocatable=pods,kube-reserved"],
        ALL,
        at("/kube", "cpu.shares"),
        "1024",
        "512",
        ["--kube-reserved=cpu=500m"],
        {"cgroups": ["/kube"]},
        version=1,
    ),
    Row(
        "system_cgroups",
        ["--system-cgroups=/sys.slice/system", "--cgroup-root=/"],
        ALL,
        daemon("containerd"),
        "/",
        "/sys.slice/system",
    ),
    Row(
        "kubelet_cgroups", ["--kubelet-cgroups=/kube.slice/kubelet"], ALL, daemon("kubelet"), "/", "/kube.slice/kubelet"
    ),
    Row(
        "qos_reserved",
        ["--qos-reserved=memory=50%"],
        ALL,
        file("memory.max", kind="qos", of="BestEffort"),
        "max",
        str((8 * 1024 - 512 - 128) * MI),
        ["--feature-gates=QOSReserved=true"],
    ),
    Row("reserved_system_cpus", ["--reserved-cpus=0-1"], ALL, allocatable("cpu"), "4", "2"),
]


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_a_setting_changes_what_is_seen(row: Row) -> None:
    check(row)
