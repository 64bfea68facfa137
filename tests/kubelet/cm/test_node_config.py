"""A node's configuration: reservations, limited swap, and the inputs of containers' resources."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.kubelet.cm.devicemanager.manager import DevicePlugin
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.kubelet.config.settings import KubeletSettings

MACHINE = MachineInfo.declare(4, "1Gi", huge_pages={"2Mi": 10})


def node(release: str = "1.36", **settings: Any) -> NodeConfig:
    return NodeConfig(machine=MACHINE, settings=KubeletSettings(**settings), release=Release(release))


def test_reserved_processors_replace_both_reservations_of_cpu() -> None:
    kube, system = {"cpu": Quantity("1"), "memory": Quantity("1Mi")}, {"cpu": Quantity("2")}
    found = node(kube_reserved=kube, system_reserved=system, reserved_system_cpus="0,2-3").reservations
    assert (dict(found.kube_reserved), dict(found.system_reserved)) == (
        {"memory": Quantity("1Mi")},
        {"cpu": Quantity("3")},
    )
    found = node(kube_reserved=kube, system_reserved=system).reservations
    assert (found.kube_reserved, found.system_reserved) == (kube, system)
    assert set(kube) == {"cpu", "memory"}, "the settings are as before"


@pytest.mark.parametrize(("enforced", "expected"), [(("pods",), True), (("none",), False), (("pods", "x"), True)])
def test_pods_are_limited_where_the_setting_names_them(enforced: tuple[str, ...], expected: bool) -> None:
    assert node(enforce_node_allocatable=enforced).reservations.enforce_pods is expected


@pytest.mark.parametrize(
    ("version", "settings", "expected"),
    [
        (1, {}, True),
        (2, {}, False),
        (2, {"cgroup_driver": "systemd"}, True),
        (2, {"kubelet_cgroups": "/kubelet"}, True),
    ],
)
def test_a_kubelet_in_the_root_cgroup_finds_no_file_that_limits_swap(
    version: Any, settings: dict[str, Any], expected: bool
) -> None:
    """Source: checkSwapControllerAvailability."""
    assert node(**settings).can_limit_swap(version) is expected
    assert node(**settings).container_context(version).swap_controller is expected
    known = NodeConfig(machine=MACHINE, settings=KubeletSettings(**settings), swap_controller=not expected)
    assert known.can_limit_swap(version) is not expected


@pytest.mark.parametrize(
    ("release", "gate", "settings", "expected"),
    [
        ("1.36", None, {}, False),
        ("1.36", True, {}, True),
        ("1.37", None, {}, False),
        ("1.37", None, {"memory_throttling_factor": 0.9}, True),
        ("1.37", None, {"memory_reservation_policy": "TieredReservation"}, True),
        ("1.37", False, {"memory_throttling_factor": 0.9}, False),
    ],
    ids=["off", "on", "since 1.37 it needs a setting", "a factor", "a policy", "turned off"],
)
def test_memory_qos(release: str, gate: bool | None, settings: dict[str, Any], expected: bool) -> None:
    gates = {} if gate is None else {"MemoryQoS": gate}
    made = NodeConfig(machine=MACHINE, settings=KubeletSettings(**settings), release=Release(release).with_gates(gates))
    assert made.container_context(2).memory_qos is expected
    assert made.container_context(1).memory_qos is False


@pytest.mark.parametrize(
    ("setting", "version", "expected"),
    [(None, 1, True), (None, 2, False), (False, 1, False), (True, 2, True)],
)
def test_a_single_process_is_killed_on_v1_where_the_setting_says_nothing(
    setting: bool | None, version: Any, expected: bool
) -> None:
    assert node(single_process_oom_kill=setting).container_context(version).oom_group is not expected


def test_the_inputs_of_containers_resources() -> None:
    context = node(kube_reserved={"memory": Quantity("24Mi")}, cpu_cfs_quota_period=5000).container_context(2)
    assert (context.memory_capacity, context.node_allocatable_memory) == (2**30, 1000 * 2**20)
    assert (context.swap_behavior, context.cpu_cfs_quota_period, context.huge_page_sizes) == ("NoSwap", 5000, (2**21,))
    assert node(memory_swap_behavior="LimitedSwap").container_context(2).swap_behavior == "LimitedSwap"


def test_extended_resources_with_and_without_devices_are_offered() -> None:
    plugin = DevicePlugin("example.com/gpu", {"a": None, "b": 0})
    made = NodeConfig(machine=MACHINE, resources={"example.com/fpga": 3}, devices=(plugin,))
    assert made.offered == {"example.com/fpga": 3, "example.com/gpu": 2}
