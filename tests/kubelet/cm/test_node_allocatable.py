"""Capacity, allocatable and the limit of all pods: what is subtracted where, and what happens at 0."""

from __future__ import annotations

import pytest

from kitlib.api.resource import Quantity
from kitlib.kubelet.cm.node_allocatable import (
    NodeAllocatableError,
    Reservations,
    eviction_reservation,
    left_formula,
    node_allocatable_absolute,
    node_allocatable_reservation,
    node_status,
    pods_cgroup,
    pods_limit,
    threshold_quantity,
    validate_node_allocatable,
)
from kitlib.kubelet.config.machine import MachineInfo


def amounts(**given: str) -> dict[str, Quantity]:
    return {name: Quantity(text) for name, text in given.items()}


MACHINE = MachineInfo.declare(4, "1000Mi", ephemeral_storage="100Gi", max_pid=1000)
RESERVED = Reservations(
    kube_reserved=amounts(cpu="500m", memory="100Mi", pid="100"),
    system_reserved=amounts(cpu="250m", memory="50Mi"),
    eviction_hard={"memory.available": "10Mi", "nodefs.available": "10%", "imagefs.available": "15%"},
)


def shown(resources: dict[str, Quantity]) -> dict[str, str]:
    return {name: str(amount) for name, amount in resources.items()}


def test_a_nodes_status_subtracts_reservations_and_hard_thresholds() -> None:
    status = node_status(MACHINE, RESERVED, 110)
    assert shown(status.capacity) == {"cpu": "4", "memory": "1000Mi", "ephemeral-storage": "100Gi", "pods": "110"}
    assert shown(status.allocatable) == {
        "cpu": "3250m",
        "memory": "840Mi",
        "ephemeral-storage": str(Quantity("100Gi") - threshold_quantity("10%", Quantity("100Gi"))),
        "pods": "110",
    }


def test_the_limit_of_all_pods_does_not_subtract_thresholds() -> None:
    assert shown(pods_limit(MACHINE, RESERVED)) == {"cpu": "3250m", "memory": "850Mi", "pid": "900"}
    config = pods_cgroup(MACHINE, RESERVED)
    assert (config.cpu_shares, config.memory, config.pids_limit) == (3328, 850 * 2**20, 900)
    free = Reservations(RESERVED.kube_reserved, RESERVED.system_reserved, enforce_pods=False)
    assert shown(pods_limit(MACHINE, free)) == {"cpu": "4", "memory": "1000Mi", "pid": "1k"}


@pytest.mark.parametrize(("resource", "expected"), [("cpu", "4"), ("memory", str(850 * 2**20)), ("pid", "900")])
def test_the_shown_arithmetic_has_the_same_result(resource: str, expected: str) -> None:
    assert left_formula(resource, MACHINE, RESERVED).result() == expected
    free = Reservations(RESERVED.kube_reserved, RESERVED.system_reserved, enforce_pods=False)
    whole = {"cpu": "4", "memory": str(1000 * 2**20), "pid": "1000"}
    assert left_formula(resource, MACHINE, free).result() == whole[resource]


@pytest.mark.parametrize(
    ("per_core", "most", "expected"), [(0, 110, 110), (10, 110, 40), (28, 110, 110), (1, 110, 4), (27, 110, 108)]
)
def test_pods_per_core_lowers_the_number_of_pods(per_core: int, most: int, expected: int) -> None:
    assert node_status(MACHINE, Reservations(), most, per_core).capacity["pods"].value() == expected


@pytest.mark.parametrize(
    ("capacity", "reserved", "expected"),
    [("100", "99", "1"), ("100", "100", "0"), ("100", "101", "0"), ("1Gi", "2Gi", "0")],
)
def test_what_is_left_is_never_negative(capacity: str, reserved: str, expected: str) -> None:
    for one in (
        Reservations(kube_reserved=amounts(cpu=reserved)),
        Reservations(system_reserved=amounts(cpu=reserved)),
    ):
        assert shown(node_allocatable_absolute(amounts(cpu=capacity), one)) == {"cpu": expected}
    whole = node_status(
        MACHINE, Reservations(kube_reserved=amounts(cpu=reserved)), 1, container_manager_capacity=amounts(cpu=capacity)
    )
    assert str(whole.allocatable["cpu"]) == expected


@pytest.mark.parametrize(("pages", "memory"), [(0, "1000Mi"), (100, "800Mi"), (500, "0")])
def test_huge_pages_are_not_allocatable_twice(pages: int, memory: str) -> None:
    machine = MachineInfo.declare(4, "1000Mi", huge_pages={"2Mi": pages})
    status = node_status(machine, Reservations(), 1)
    assert shown(status.allocatable)["memory"] == memory
    assert status.capacity["memory"] == Quantity("1000Mi")
    assert status.allocatable["hugepages-2Mi"] == status.capacity["hugepages-2Mi"]
    full = node_status(machine, Reservations(kube_reserved=amounts(memory="1Gi")), 1)
    assert shown(full.allocatable)["memory"] == "0"


def test_reservations_are_summed_without_zeros() -> None:
    capacity = {**amounts(cpu="4", memory="1000Mi"), "ephemeral-storage": Quantity("100")}
    assert shown(node_allocatable_reservation(capacity, RESERVED)) == {
        "cpu": "750m",
        "memory": "160Mi",
        "ephemeral-storage": "10",
    }
    assert node_allocatable_reservation(capacity, Reservations(kube_reserved=amounts(cpu="0"))) == {}
    assert eviction_reservation({"memory.available": "1Mi", "pid.available": "5"}, amounts(memory="2Mi")) == amounts(
        memory="1Mi"
    )
    assert eviction_reservation({"memory.available": "1Mi"}, amounts(cpu="1")) == {}


@pytest.mark.parametrize(
    ("threshold", "capacity", "expected"),
    [
        ("100Mi", "1Gi", "100Mi"),
        ("50%", "1000", "500"),
        ("0%", "1000", "0"),
        ("12.5%", "1000", "125"),
        ("100%", "7", "7"),
    ],
)
def test_a_threshold_is_an_amount_or_a_part_of_the_capacity(threshold: str, capacity: str, expected: str) -> None:
    assert threshold_quantity(threshold, Quantity(capacity)) == Quantity(expected)


@pytest.mark.parametrize(("reserved", "valid"), [("999Mi", True), ("1000Mi", True), ("1001Mi", False)])
def test_reservations_may_use_up_the_capacity_but_not_more(reserved: str, valid: bool) -> None:
    given = Reservations(kube_reserved=amounts(memory=reserved))
    if valid:
        validate_node_allocatable(amounts(memory="1000Mi"), given)
        return
    with pytest.raises(NodeAllocatableError, match=r'Resource "memory" has a reservation of .* Expected capacity'):
        validate_node_allocatable(amounts(memory="1000Mi"), given)
