"""The structured allocator: counters that parts of a device share, and capacity that claims share."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitlib.api.release import Release
from kitlib.api.serialize import to_dict
from kitlib.scheduler.plugins.dynamicresources.search import FailedOnNode
from tests.scheduler.plugins.dynamicresources.device_cases import (
    allocator,
    claim,
    device,
    exactly,
    given_out,
    holding,
    node,
    published,
)
from tests.sizes import examples


def test_parts_of_a_device_share_its_counters() -> None:
    def part(name: str, memory: str) -> dict[str, Any]:
        used = {"counterSet": "gpu-0", "counters": {"memory": {"value": memory}}}
        return device(name, consumesCounters=[used])

    slices = [
        published(
            name="counters", count=2, sharedCounters=[{"name": "gpu-0", "counters": {"memory": {"value": "40Gi"}}}]
        ),
        published(part("whole", "40Gi"), part("half-0", "20Gi"), part("half-1", "20Gi"), count=2),
    ]
    assert given_out(allocator(slices, claim(exactly(count=2))).allocate(node())) == [["half-0", "half-1"]]
    assert given_out(allocator(slices, claim(exactly()), others=[holding("half-1")]).allocate(node())) == [["half-0"]]
    assert allocator(slices, claim(exactly()), others=[holding("whole")]).allocate(node()) is None
    assert allocator(slices, claim(exactly()), release=Release("1.35")).allocate(node()) is None
    unknown = [slices[0], published(device("d", consumesCounters=[{"counterSet": "no"}]), count=2)]
    with pytest.raises(FailedOnNode):
        allocator(unknown, claim(exactly())).allocate(node())


def shared(name: str = "nic", **policy: Any) -> dict[str, Any]:
    capacity = {"bandwidth": {"value": "10G", **({"requestPolicy": policy} if policy else {})}}
    return device(name, allowMultipleAllocations=True, capacity=capacity)


def share(amount: str | None) -> dict[str, Any]:
    return exactly(capacity={"requests": {"bandwidth": amount}}) if amount else exactly()


def test_several_claims_share_a_device_as_long_as_its_capacity_lasts() -> None:
    slices = [published(shared())]
    found = allocator(slices, claim(share("6G"), name="one"), claim(share("4G"), name="other")).allocate(node())
    assert found is not None and given_out(found) == [["nic"], ["nic"]]
    results = [one.devices.results[0] for one in found]
    assert [to_dict(one)["consumedCapacity"] for one in results] == [{"bandwidth": "6G"}, {"bandwidth": "4G"}]
    assert results[0].share_id != results[1].share_id and all(one.share_id for one in results)
    assert allocator(slices, claim(share("6G"), name="one"), claim(share("5G"), name="other")).allocate(node()) is None
    held = holding("nic", shareID="x", consumedCapacity={"bandwidth": "7G"})
    assert given_out(allocator(slices, claim(share("3G")), others=[held]).allocate(node())) == [["nic"]]
    assert allocator(slices, claim(share("4G")), others=[held]).allocate(node()) is None


def test_a_request_never_gets_two_parts_of_one_device() -> None:
    two = exactly(count=2, capacity={"requests": {"bandwidth": "1G"}})
    assert allocator([published(shared())], claim(two)).allocate(node()) is None
    assert given_out(allocator([published(shared("n0"), shared("n1"))], claim(two)).allocate(node())) == [["n0", "n1"]]
    each = claim(exactly("x"), exactly("y"))
    assert given_out(allocator([published(shared(default="1G"))], each).allocate(node())) == [["nic", "nic"]]


def test_counters_of_a_refused_device_stay_consumed_on_that_node() -> None:
    """kube-scheduler 1.36 does not give back what it consumed for a device that a taint then refuses."""
    taint = {"key": "broken", "value": "x", "effect": "NoSchedule"}

    def part(name: str, memory: str, **more: Any) -> dict[str, Any]:
        used = {"counterSet": "s", "counters": {"memory": {"value": memory}}}
        return device(name, consumesCounters=[used], **more)

    counters = published(name="a", count=2, sharedCounters=[{"name": "s", "counters": {"memory": {"value": "80Gi"}}}])
    slices = [counters, published(part("d0", "20Gi", taints=[taint]), part("d1", "80Gi"), part("d2", "20Gi"), count=2)]
    assert given_out(allocator(slices, claim(exactly())).allocate(node())) == [["d2"]]


@pytest.mark.parametrize(
    ("policy", "asked", "consumed"),
    [
        ({}, None, "10G"),  # nothing said: all of it
        ({"default": "1G"}, None, "1G"),
        ({"default": "1G", "validRange": {"min": "1G", "max": "8G", "step": "1G"}}, "2500M", "3G"),
        ({"default": "1G", "validRange": {"min": "1G", "max": "8G"}}, "10M", "1G"),
        ({"default": "1G", "validRange": {"min": "1G", "max": "8G"}}, "9G", None),
        ({"default": "1G", "validValues": ["1G", "5G"]}, "2G", "5G"),
        ({"default": "1G", "validValues": ["1G", "5G"]}, "6G", None),
        ({}, "11G", None),
    ],
)
def test_what_a_request_consumes_follows_the_devices_policy(
    policy: dict[str, Any], asked: str | None, consumed: str | None
) -> None:
    found = allocator([published(shared(**policy))], claim(share(asked))).allocate(node())
    amount = found and to_dict(found[0].devices.results[0])["consumedCapacity"]["bandwidth"]
    assert amount == consumed


@pytest.mark.parametrize(
    ("asked", "before", "since"),
    [
        ("1500m", "2", "1500m"),
        ("1510m", "2", "1600m"),
        ("100m", "200m", "200m"),
        ("2900m", "3", "2900m"),
        ("3100m", None, None),
        ("1500100u", "2", None),  # not a number of thousandths
    ],
)
def test_steps_are_thousandths_since_1_37(asked: str, before: str | None, since: str | None) -> None:
    """Source: roundUpRange, violateValidRange; before 1.37 min and step count as 1 each."""
    policy = {"default": "1", "validRange": {"min": "200m", "max": "3", "step": "100m"}}
    for release, expected in (("1.36", before), ("1.37", since)):
        found = allocator([published(shared(**policy))], claim(share(asked)), release=Release(release)).allocate(node())
        amount = found and to_dict(found[0].devices.results[0])["consumedCapacity"]["bandwidth"]
        assert amount == expected, release


def test_a_request_for_capacity_passes_over_devices_that_have_less() -> None:
    devices = [
        device("d0", capacity={"bandwidth": {"value": "1G"}}),
        device("d1", capacity={"bandwidth": {"value": "9G"}}),
    ]
    assert given_out(allocator([published(*devices)], claim(share("5G"))).allocate(node())) == [["d1"]]


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_parts_never_exceed_what_is_shared(sizes: list[int], asked: list[int]) -> None:
    """Devices of these sizes over one counter of 10, and claims for so much of one shared device of 10."""
    counters = [{"name": "s", "counters": {"c": {"value": "10"}}}]
    parts = [
        device(f"d{i}", consumesCounters=[{"counterSet": "s", "counters": {"c": {"value": str(size)}}}])
        for i, size in enumerate(sizes)
    ]
    slices = [published(name="counters", count=2, sharedCounters=counters), published(*parts, count=2)]
    for count in range(1, len(sizes) + 1):
        found = given_out(allocator(slices, claim(exactly(count=count))).allocate(node()))
        assert (found is not None) == (sum(sorted(sizes)[:count]) <= 10)
        assert found is None or sum(sizes[int(name[1:])] for name in found[0]) <= 10
    one = device("nic", allowMultipleAllocations=True, capacity={"bandwidth": {"value": "10"}})
    claims = [claim(share(str(amount)), name=f"c{i}") for i, amount in enumerate(asked)]
    assert (allocator([published(one)], *claims).allocate(node()) is not None) == (sum(asked) <= 10)


@pytest.mark.parametrize(
    ("held", "asked", "expected"),
    [(None, "10G", ["n0", "n1"]), (None, "11G", None), ("3G", "7G", ["n0", "n1"]), ("3G", "8G", ["n1"])],
)
def test_a_request_for_all_devices_gets_those_with_the_capacity(
    held: str | None, asked: str, expected: list[str] | None
) -> None:
    """Source: CmpRequestOverCapacity. Without shares the whole capacity of each device is free."""
    others = [holding("n0", shareID="x", consumedCapacity={"bandwidth": held})] if held else []
    every = exactly(allocationMode="All", capacity={"requests": {"bandwidth": asked}})
    found = allocator([published(shared("n0"), shared("n1"))], claim(every), others=others).allocate(node())
    assert given_out(found) == (None if expected is None else [expected])


@pytest.mark.parametrize(("shared_", "first"), [("59", ["whole"]), ("60", ["whole"]), ("19", None), ("39", ["half"])])
def test_counters_may_be_used_up_but_not_more(shared_: str, first: list[str] | None) -> None:
    """Source: checkAvailableCounters."""

    def part(name: str, memory: str) -> dict[str, Any]:
        return device(name, consumesCounters=[{"counterSet": "s", "counters": {"m": {"value": memory}}}])

    counters = published(name="a", count=2, sharedCounters=[{"name": "s", "counters": {"m": {"value": shared_}}}])
    slices = [counters, published(part("whole", "59"), part("half", "20"), count=2)]
    found = given_out(allocator(slices, claim(exactly())).allocate(node()))
    assert found == (None if first is None else [first])


def test_a_step_counts_from_the_least_amount() -> None:
    """Source: roundUpRange."""
    policy = {"default": "1", "validRange": {"min": "3", "max": "20", "step": "5"}}
    for asked, expected in (("3", "3"), ("4", "8"), ("8", "8"), ("9", "13"), ("18", "18"), ("19", None)):
        capacity = {"bandwidth": {"value": "100", "requestPolicy": policy}}
        slices = [published(device("d", allowMultipleAllocations=True, capacity=capacity))]
        found = allocator(slices, claim(share(asked))).allocate(node())
        amount = found and to_dict(found[0].devices.results[0])["consumedCapacity"]["bandwidth"]
        assert amount == expected, asked
