"""Pools of devices: the newest generation, which are whole and valid, and which devices a node reaches."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import NodeSelector
from kitlib.api.resource import Quantity
from kitlib.api.serialize import from_dict
from kitlib.scheduler.plugins.dynamicresources.pools import Allocated, DeviceID, Inventory, Offer, reaches
from tests.scheduler.plugins.dynamicresources.device_cases import DRIVER, device, node, published


def selecting(zone: str) -> dict[str, Any]:
    return {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}]}


def near(slices: list[Any], at: Any, per_device: bool = True) -> dict[str, list[str]]:
    found = Inventory(slices).near(at, per_device)
    return {pool.name: [offer.id.device for offer in offers] for pool, offers in found}


@pytest.mark.parametrize(
    ("name", "everywhere", "selector", "expected"),
    [
        ("a", None, None, True),
        ("b", None, None, False),
        ("b", True, None, False),
        (None, True, None, True),
        (None, False, None, False),
        (None, None, None, False),
        (None, None, "x", True),
        (None, None, "y", False),
        ("", None, "x", True),
    ],
)
def test_a_node_is_reached_by_name_everywhere_or_by_selector(
    name: str | None, everywhere: bool | None, selector: str | None, expected: bool
) -> None:
    """Source: NodeMatches."""
    chosen = from_dict(selecting(selector), NodeSelector) if selector else None
    assert reaches(node("a", zone="x"), name, everywhere, chosen) is expected


def test_only_the_newest_generation_of_a_pool_counts() -> None:
    slices = [
        published(device("old"), name="s1", generation=1),
        published(device("new"), name="s3", generation=2, count=2),
        published(device("newer"), name="s2", generation=2, count=2),
        published(device("other"), name="s4", pool="a"),
    ]
    found = Inventory(slices)
    assert [(str(pool), pool.incomplete) for pool in found.pools] == [(f"{DRIVER}/a", False), (f"{DRIVER}/p", False)]
    assert near(slices, node()) == {"a": ["other"], "p": ["newer", "new"]}
    assert Inventory(slices[:2]).pools[0].incomplete


@pytest.mark.parametrize(
    ("slices", "problem"),
    [
        ([published(device("x"), device("y"))], ""),
        ([published(device("x"), device("x"))], "duplicate device name x"),
        ([published(device("x"), name="1", count=2), published(device("x"), name="2", count=2)], "duplicate"),
    ],
)
def test_a_name_stands_for_one_device_of_a_pool(slices: list[Any], problem: str) -> None:
    found = Inventory(slices).pools[0].invalid
    assert found.startswith(problem)
    assert bool(found) is bool(problem)


@pytest.mark.parametrize(
    ("consumed", "valid"),
    [
        ({"counterSet": "set", "counters": {"m": {"value": "1"}}}, True),
        ({"counterSet": "set", "counters": {"m": {"value": "1"}, "n": {"value": "1"}}}, True),
        ({"counterSet": "set", "counters": {"other": {"value": "1"}}}, False),
        ({"counterSet": "set", "counters": {"m": {"value": "1"}, "other": {"value": "1"}}}, False),
        ({"counterSet": "none", "counters": {"m": {"value": "1"}}}, False),
    ],
)
def test_devices_consume_counters_that_the_pool_has(consumed: dict[str, Any], valid: bool) -> None:
    shared = {"sharedCounters": [{"name": "set", "counters": {"m": {"value": "8"}, "n": {"value": "2"}}}]}
    found = Inventory([published(device("x", consumesCounters=[consumed]), **shared)]).pools[0]
    assert (found.invalid == "") is valid
    assert found.counters == {"set": {"m": 8 * 10**9, "n": 2 * 10**9}}


def test_slices_and_devices_select_nodes() -> None:
    slices = [
        published(device("here"), pool="1", nodeName="a"),
        published(device("there"), pool="2", nodeName="b"),
        published(device("zone"), pool="3", nodeSelector=selecting("x")),
        published(device("all"), pool="4"),
        published(
            device("d1", nodeName="a"), device("d2", nodeName="b"), device("d3", allNodes=True),
            pool="5", perDeviceNodeSelection=True,
        ),
    ]  # fmt: skip
    assert near(slices, node("a", zone="x")) == {"1": ["here"], "3": ["zone"], "4": ["all"], "5": ["d1", "d3"]}
    assert near(slices, node("b")) == {"2": ["there"], "4": ["all"], "5": ["d2", "d3"]}
    assert near(slices, node("a"), per_device=False) == {"1": ["here"], "4": ["all"]}
    assert near([published(device("d", nodeName="b"), perDeviceNodeSelection=True)], node("a")) == {}


def offer(**fields: Any) -> Offer:
    made = published(device("x", **fields))
    return Offer(DeviceID(DRIVER, "p", "x"), made.spec.devices[0], made)


@pytest.mark.parametrize(
    ("attributes", "name", "expected"),
    [
        ({"a": {"string": "s"}}, f"{DRIVER}/a", ("string", "s")),
        ({"a": {"int": 0}}, f"{DRIVER}/a", ("int", 0)),
        ({"a": {"bool": False}}, f"{DRIVER}/a", ("bool", False)),
        ({"a": {"version": "1.0.0"}}, f"{DRIVER}/a", ("version", "1.0.0")),
        ({"other.io/a": {"int": 1}}, "other.io/a", ("int", 1)),
        ({f"{DRIVER}/a": {"int": 2}, "a": {"int": 1}}, f"{DRIVER}/a", ("int", 2)),
        ({"a": {"int": 1}}, "other.io/a", None),
        ({}, f"{DRIVER}/a", None),
        ({"a": {}}, f"{DRIVER}/a", None),
    ],
)
def test_an_attribute_by_its_full_name(attributes: dict[str, Any], name: str, expected: Any) -> None:
    """Source: lookupAttribute."""
    assert offer(attributes=attributes).attribute(name) == expected


def test_a_capacity_by_either_spelling() -> None:
    found = offer(capacity={"memory": {"value": "1"}, f"{DRIVER}/memory": {"value": "2"}, "cores": {"value": "3"}})
    assert set(found.capacity) == {f"{DRIVER}/memory", "cores"}
    names = [found.capacity_name(name) for name in ("memory", f"{DRIVER}/memory", "cores", f"{DRIVER}/cores", "x")]
    assert names == [f"{DRIVER}/memory", f"{DRIVER}/memory", "cores", "cores", ""]


def test_shares_of_a_device_add_up() -> None:
    used, one, other = Allocated(), DeviceID(DRIVER, "p", "x"), DeviceID(DRIVER, "p", "y")
    assert not used.has(one)
    used.consume(one, {"memory": Quantity("2"), "cores": Quantity("1")})
    used.consume(one, {"memory": Quantity("3")})
    assert used.shares == {one: {"memory": 5 * 10**9, "cores": 10**9}}
    used.whole.add(other)
    assert (used.has(one), used.has(other), used.has(DeviceID(DRIVER, "p", "z"))) == (True, True, False)
