"""The cgroups of a node, level by level: which exist under which settings, and their files."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.api.serialize import from_dict
from kitlib.kubelet.cm.assigned import Assigned
from kitlib.kubelet.cm.cgroup_levels import Desired, container_id, running_containers
from kitlib.kubelet.cm.cgroup_names import Runtime
from kitlib.kubelet.cm.cgroup_tree import Cgroup
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.kubelet.config.settings import KubeletSettings

MACHINE = MachineInfo.declare(4, "1000Mi", huge_pages={"2Mi": 5}, max_pid=1000)
PAGES = "hugetlb.2MB.max"


def desired(
    version: Any = 2, gates: dict[str, bool] | None = None, node: dict[str, Any] | None = None, **settings: Any
) -> Desired:
    release = Release("1.36").with_gates(gates or {})
    config = NodeConfig(machine=MACHINE, settings=KubeletSettings(**settings), release=release, **(node or {}))
    return Desired(config, version)


def pod(requests: dict[str, str], limits: dict[str, str] | None = None, **spec: Any) -> Pod:
    resources = {"requests": requests, "limits": limits or {}}
    meta = {"name": "p", "namespace": "n", "uid": "u"}
    return from_dict({"metadata": meta, "spec": {"containers": [{"name": "c", "resources": resources}], **spec}}, Pod)


SAME = {"cpu": "1500m", "memory": "100Mi"}
GUARANTEED, BURSTABLE = pod(SAME, SAME), pod({"cpu": "300m", "memory": "40Mi"})


def files(cgroup: Cgroup) -> dict[str, str]:
    return {name: file.value for name, file in cgroup.files.items() if file.written}


def test_the_node_level_has_the_cgroup_of_all_pods_unless_it_is_turned_off() -> None:
    assert [one.path for one in desired().node_level()] == ["/kubepods"]
    assert desired(cgroups_per_qos=False).node_level() == []
    many = desired(
        system_reserved={"cpu": Quantity("1")}, system_reserved_cgroup="/sys", kubelet_cgroups="/kubelet/",
        enforce_node_allocatable=("pods", "system-reserved"), system_cgroups="/others",
    )  # fmt: skip
    assert [one.path for one in many.node_level()] == ["/kubepods", "/sys", "/kubelet", "/others"]


@pytest.mark.parametrize(
    ("enforced", "cgroup", "expected"),
    [
        ("system-reserved", "/sys", {"cpu.weight": "39", "memory.max": "50", PAGES: "0"}),
        ("system-reserved-compressible", "/sys", {"cpu.weight": "39", PAGES: "0"}),
        ("kube-reserved", "/sys", None),
        ("system-reserved", "", None),
    ],
)
def test_reserved_resources_are_enforced_where_setting_and_cgroup_say_so(
    enforced: str, cgroup: str, expected: dict[str, str] | None
) -> None:
    reserved = {"cpu": Quantity("1"), "memory": Quantity("50")}
    found = desired(
        system_reserved=reserved, system_reserved_cgroup=cgroup, enforce_node_allocatable=("pods", enforced)
    ).reserved_level()
    assert bool(found) is (expected is not None)
    if expected is not None:
        has = files(found[0])
        assert {name: has[name] for name in expected} == expected
        assert ("memory.max" in has) is ("memory.max" in expected)
        assert found[0].title == "reserved for system daemons"


def test_reserved_memory_is_protected_with_memory_qos() -> None:
    settings = {
        "kube_reserved": {"memory": Quantity("50")}, "kube_reserved_cgroup": "/kube",
        "enforce_node_allocatable": ("kube-reserved",),
    }  # fmt: skip
    assert files(desired(gates={"MemoryQoS": True}, **settings).reserved_level()[0])["memory.min"] == "50"
    assert "memory.min" not in files(desired(**settings).reserved_level()[0])
    settings["kube_reserved"] = {"cpu": Quantity("1")}
    assert "memory.min" not in files(desired(gates={"MemoryQoS": True}, **settings).reserved_level()[0])


@pytest.mark.parametrize(
    ("policy", "processors", "expected"),
    [("none", "", "0-3"), ("none", "0-63", "0-63"), ("none", None, None), ("static", "", None)],
)
def test_the_cpuset_of_all_pods(policy: str, processors: str | None, expected: str | None) -> None:
    found = desired(cpu_manager_policy=policy, node={"processors": processors}).kubepods_level()
    assert files(found).get("cpuset.cpus") == expected


@pytest.mark.parametrize(("path", "expected"), [("", []), ("/", []), ("/a/b/", ["/a/b"]), ("a", ["/a"])])
def test_daemons_have_a_cgroup_unless_it_is_the_root(path: str, expected: list[str]) -> None:
    assert [one.path for one in desired(kubelet_cgroups=path).daemon_level()] == expected
    assert [one.path for one in desired(system_cgroups=path).daemon_level()] == expected


def test_qos_cgroups_have_the_sums_of_their_pods_and_unbounded_pages() -> None:
    kubepods, burstable, best_effort = desired().qos_level([GUARANTEED, BURSTABLE, BURSTABLE])
    assert (burstable.path, best_effort.path) == ("/kubepods/burstable", "/kubepods/besteffort")
    assert files(burstable)["cpu.weight"] == str(1 + (614 - 2) * 9999 // 262142)
    assert files(best_effort)["cpu.weight"] == "1"
    assert {files(one)[PAGES] for one in (kubepods, burstable, best_effort)} == {str(2**62)}
    assert not {"memory.max", "memory.low", "memory.min"} & {*files(burstable), *files(best_effort)}
    assert desired(cgroups_per_qos=False).qos_level([BURSTABLE]) == []


@pytest.mark.parametrize(
    ("gate", "reserved", "limits"),
    [(True, {"memory": "50%"}, ["950Mi", "930Mi"]), (True, {}, [None, None]), (False, {"memory": "50%"}, [None, None])],
)
def test_qos_reserved_needs_its_gate(gate: bool, reserved: dict[str, str], limits: list[str | None]) -> None:
    found = desired(gates={"QOSReserved": gate}, qos_reserved=reserved, eviction_hard={}).qos_level(
        [GUARANTEED, BURSTABLE]
    )
    expected = [str(Quantity(limit).value()) if limit else None for limit in limits]
    assert [files(one).get("memory.max") for one in found[1:]] == expected


@pytest.mark.parametrize(
    ("gates", "policy", "version", "expected"),
    [
        ({"MemoryQoS": True}, "TieredReservation", 2, (str(140 * 2**20), str(40 * 2**20))),
        ({"MemoryQoS": True}, "None", 2, ("0", "0")),
        ({"MemoryQoS": True}, "TieredReservation", 1, (None, None)),
        ({}, "TieredReservation", 2, (None, None)),
    ],
)
def test_protected_memory_of_the_classes(gates: dict[str, bool], policy: str, version: int, expected: Any) -> None:
    levels = desired(version, gates, memory_reservation_policy=policy)
    kubepods, burstable, _ = levels.qos_level([GUARANTEED, BURSTABLE])
    assert (files(kubepods).get("memory.min"), files(burstable).get("memory.low")) == expected
    of_pod = files(levels.pod_level(BURSTABLE)[0]).get("memory.low")
    assert of_pod == (str(40 * 2**20) if expected[1] not in (None, "0") else None)


@pytest.mark.parametrize(("pids", "expected"), [(-1, None), (0, None), (1, "1"), (100, "100")])
def test_a_pods_process_limit(pids: int, expected: str | None) -> None:
    assert files(desired(pod_pids_limit=pids).pod_level(GUARANTEED)[0]).get("pids.max") == expected


@pytest.mark.parametrize(
    ("driver", "quota"), [("cgroupfs", "123400"), ("systemd", "124000")], ids=["exact", "whole percents"]
)
def test_a_pods_quota_by_driver(driver: str, quota: str) -> None:
    made = pod({"cpu": "1234m", "memory": "1Mi"}, {"cpu": "1234m", "memory": "1Mi"})
    found = desired(cgroup_driver=driver).pod_level(made)[0]
    assert files(found)["cpu.max"] == f"{quota} 100000"
    assert (found.pod, found.uid, found.qos) == ("n/p", "u", "Guaranteed")
    assert desired(cgroups_per_qos=False).pod_level(made) == []


@pytest.mark.parametrize(
    ("enforced", "gate", "given", "expected"),
    [
        (True, True, {"c": Assigned(cpus="0", exclusive=True)}, "max"),
        (True, False, {"c": Assigned(cpus="0", exclusive=True)}, "150000"),
        (True, True, {"c": Assigned(cpus="0")}, "150000"),
        (True, True, {"other": Assigned(cpus="0", exclusive=True)}, "150000"),
        (False, True, {}, "max"),
    ],
)
def test_a_pod_with_exclusive_processors_has_no_quota(
    enforced: bool, gate: bool, given: dict[str, Assigned], expected: str
) -> None:
    levels = desired(gates={"DisableCPUQuotaWithExclusiveCPUs": gate}, cpu_cfs_quota=enforced)
    found = levels.pod_level(GUARANTEED, {("u", name): one for name, one in given.items()})[0]
    assert files(found)["cpu.max"] == f"{expected} 100000"


def test_running_containers_are_sidecars_containers_and_ephemeral_ones_that_have_not_ended() -> None:
    made = from_dict(
        {
            "spec": {
                "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
                "containers": [{"name": "c"}],
                "ephemeralContainers": [{"name": "e"}, {"name": "gone"}],
            },
            "status": {
                "ephemeralContainerStatuses": [
                    {"name": "gone", "state": {"terminated": {"exitCode": 0}}},
                    {"name": "e", "state": {"running": {}}},
                ]
            },
        },
        Pod,
    )
    assert [one.name for one in running_containers(made)] == ["s", "c", "e"]
    assert container_id("a", "b") != container_id("a", "c")
    assert len(container_id("a", "b")) == 64


@pytest.mark.parametrize(
    ("driver", "oci", "version", "nested"),
    [
        ("systemd", "crun", 2, True),
        ("systemd", "crun", 1, False),
        ("systemd", "runc", 2, False),
        ("cgroupfs", "crun", 2, False),
    ],
)
def test_crun_makes_a_cgroup_below_a_scope_on_v2(driver: str, oci: str, version: Any, nested: bool) -> None:
    levels = desired(version, node={"runtime": Runtime(oci=oci)}, cgroup_driver=driver)
    found = levels.container_level(GUARANTEED, GUARANTEED.spec.containers[0], "a" * 64)
    assert (found.inner is not None) is nested
