"""The scheduler's view of claims, classes, slices and taint rules."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import PodExtendedResourceClaimStatus
from kitlib.api.devices import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.scheduler.framework.dra_manager import DRAManager, backed_resources, device_class_of, with_rules

NOW = Release("1.36")


def claim(name: str, namespace: str = "a") -> ResourceClaim:
    return from_dict({"metadata": {"name": name, "namespace": namespace, "uid": name}}, ResourceClaim)


def a_class(name: str, resource: str = "", created: str = "") -> DeviceClass:
    meta = {"name": name} | ({"creationTimestamp": created} if created else {})
    spec = {"extendedResourceName": resource} if resource else {}
    return from_dict({"metadata": meta, "spec": spec}, DeviceClass)


def a_slice(name: str = "s", *devices: str, driver: str = "d.io", pool: str = "p") -> ResourceSlice:
    spec = {"driver": driver, "pool": {"name": pool}, "devices": [{"name": one} for one in devices]}
    return from_dict({"metadata": {"name": name}, "spec": spec}, ResourceSlice)


def rule(name: str, **selector: str) -> DeviceTaintRule:
    spec = {"deviceSelector": selector, "taint": {"key": name, "effect": "NoSchedule"}}
    return from_dict({"metadata": {"name": name}, "spec": spec}, DeviceTaintRule)


@pytest.mark.parametrize("make", [lambda: claim("x"), lambda: a_class("x"), lambda: a_slice("x"), lambda: rule("x")])
def test_an_object_is_added_replaced_and_removed(make: Any) -> None:
    manager, first, second = DRAManager(), make(), make()
    assert manager.put(first) is None
    assert manager.put(second) is first
    manager.drop(first)
    assert manager.put(first) is None, "an object is removed by name"
    manager.drop(first)
    manager.drop(first)


def test_objects_of_other_kinds_are_left_out() -> None:
    manager = DRAManager.of([claim("c"), a_class("k"), a_slice("s"), rule("r"), object()])
    assert [len(one) for one in (manager.claims, manager.classes, manager.slices, manager.rules)] == [1, 1, 1, 1]


def test_a_claim_is_found_by_namespace_and_name() -> None:
    manager, mine, plain = DRAManager(), claim("c"), claim("c", "")
    manager.put(mine)
    manager.put(plain)
    assert manager.find("a", "c") is mine
    assert manager.find("", "c") is manager.find("default", "c") is plain
    assert manager.find("b", "c") is None


def test_the_stored_claim_is_the_one_that_the_api_returns() -> None:
    manager, stored = DRAManager(), claim("c")
    assert manager.save(claim("c")) is manager.find("a", "c")
    manager.write = lambda changed: stored
    assert manager.save(claim("c")) is stored is manager.find("a", "c")


def test_a_claim_for_extended_resources_gets_its_name_from_the_api() -> None:
    manager, status, asked = DRAManager(), PodExtendedResourceClaimStatus(), claim("")
    asked.metadata.generate_name = "pod-extended-"
    made = manager.make(asked, status)
    assert made.name == "pod-extended-0" and manager.find("a", "pod-extended-0") is made
    assert manager.make(asked, status).name == "pod-extended-1", "names are unique"
    assert asked.name == "", "the template is not changed"
    named, given = claim("from-api"), []
    manager.create = lambda *call: given.append(call) or named  # type: ignore[func-returns-value]
    assert manager.make(asked, status) is named is manager.find("a", "from-api")
    assert given == [(asked, status)]


def test_a_discarded_claim_is_deleted_in_the_api_too() -> None:
    manager, mine = DRAManager(), claim("c")
    manager.put(mine)
    removed: list[ResourceClaim] = []
    manager.remove = removed.append
    manager.discard(mine)
    assert removed == [mine] and manager.find("a", "c") is None


def test_a_value_of_the_slices_is_kept_until_a_slice_or_a_rule_changes() -> None:
    manager, calls = DRAManager(obeys_rules=True), []

    def names(slices: Any) -> list[str]:
        calls.append(1)
        return [one.name for one in slices]

    manager.put(a_slice("s"))
    assert manager.of_slices("names", names) == ["s"] == manager.of_slices("names", names)
    assert len(calls) == 1
    manager.put(claim("c"))
    manager.put(a_class("k"))
    manager.of_slices("names", names)
    assert len(calls) == 1
    changes = [lambda: manager.put(a_slice("t")), lambda: manager.put(rule("r")), lambda: manager.drop(rule("r"))]
    for number, change in enumerate([*changes, lambda: manager.drop(a_slice("t"))], start=2):
        change()
        manager.of_slices("names", names)
        assert len(calls) == number


def taints(slice_: ResourceSlice) -> list[list[str]]:
    return [[taint.key for taint in device.taints] for device in slice_.spec.devices]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({}, [["r"], ["r"]]),
        ({"driver": "d.io"}, [["r"], ["r"]]),
        ({"driver": "e.io"}, [[], []]),
        ({"pool": "p", "device": "two"}, [[], ["r"]]),
        ({"pool": "q", "device": "two"}, [[], []]),
    ],
)
def test_a_rule_taints_the_devices_that_it_selects(selector: dict[str, str], expected: list[list[str]]) -> None:
    given = a_slice("s", "one", "two")
    found = with_rules(given, [rule("r", **selector)])
    assert taints(found) == expected and taints(given) == [[], []]
    assert (found is given) is (expected == [[], []])


def test_rules_apply_in_the_order_of_their_names_after_the_devices_own_taints() -> None:
    given = a_slice("s", "one")
    given.spec.devices[0].taints = [rule("own").spec.taint]
    for on, expected in ((True, [["own", "a", "b"]]), (False, [["own"]])):
        manager = DRAManager.of([rule("b"), rule("a"), given])
        manager.obeys_rules = on
        assert manager.of_slices("taints", lambda slices: [taints(one) for one in slices]) == [expected]


OLD, YOUNG = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        ([], None),
        ([a_class("a", "x.io/g")], None),
        ([a_class("b", "x.io/gpu"), a_class("a", "x.io/gpu")], "a"),
        ([a_class("a", "x.io/gpu", OLD), a_class("b", "x.io/gpu", YOUNG)], "b"),
        ([a_class("b", "x.io/gpu", OLD), a_class("a", "x.io/gpu", OLD)], "a"),
        ([a_class("a", "x.io/gpu"), a_class("b", "x.io/gpu", OLD)], "b"),
    ],
)
def test_the_youngest_class_serves_a_resource_then_the_first_by_name(
    classes: list[DeviceClass], expected: str | None
) -> None:
    """Source: DeviceClassResolver, the comparison of deviceclass timestamps and names."""
    found = device_class_of("x.io/gpu", {one.name: one for one in classes})
    assert (found.name if found else None) == expected


def test_every_class_serves_its_implicit_resource() -> None:
    classes = {"gpu": a_class("gpu")}
    assert device_class_of("deviceclass.resource.kubernetes.io/gpu", classes) is classes["gpu"]
    assert device_class_of("deviceclass.resource.kubernetes.io/tpu", classes) is None


def test_the_resources_that_classes_serve() -> None:
    on, off = (NOW.with_gates({"DRAExtendedResource": value}) for value in (True, False))
    classes = {"k": a_class("k", "x.io/gpu"), "c": a_class("c", "cpu")}
    wanted = ["x.io/gpu", "deviceclass.resource.kubernetes.io/k", "x.io/other", "cpu", "memory"]
    assert backed_resources(wanted, classes, on) == ["deviceclass.resource.kubernetes.io/k", "x.io/gpu"]
    assert backed_resources(wanted, classes, off) == [] == backed_resources(wanted, {}, on)
