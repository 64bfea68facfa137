"""The structured allocator: each of its rules, and that it finds a solution exactly where there is one."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitlib.api.release import Release
from kitlib.api.serialize import to_dict
from kitlib.scheduler.plugins.dynamicresources.search import AllocationError, FailedOnNode
from tests.scheduler.plugins.dynamicresources.device_cases import (
    DRIVER,
    GPU,
    NOW,
    allocator,
    cel,
    claim,
    device,
    exactly,
    given_out,
    holding,
    model,
    node,
    published,
)
from tests.sizes import examples


def test_the_first_devices_that_are_free_and_meant_are_given_out() -> None:
    devices = [device("d0", "A"), device("d1", "B"), device("d2", "A"), device("d3", "A")]
    asked = allocator([published(*devices)], claim(exactly(count=2, **model("A"))), others=[holding("d0")])
    assert given_out(asked.allocate(node())) == [["d2", "d3"]]


def test_classes_select_too() -> None:
    selector = {"spec": model("B")}
    asked = allocator([published(device("d0", "A"), device("d1", "B"))], claim(exactly()), gpu_class=selector)
    assert given_out(asked.allocate(node())) == [["d1"]]


def test_no_device_serves_two_requests_or_two_claims() -> None:
    slices = [published(device("d0"), device("d1"))]
    two = [claim(exactly(), name="one"), claim(exactly(), name="other")]
    assert given_out(allocator(slices, *two).allocate(node())) == [["d0"], ["d1"]]
    assert allocator(slices, *two, claim(exactly(), name="third")).allocate(node()) is None


def test_a_choice_is_taken_back_where_what_follows_cannot_be_served() -> None:
    slices = [published(device("d0", "A"), device("d1", "B"))]
    asked = claim(exactly("any"), exactly("a", **model("A")))
    assert given_out(allocator(slices, asked).allocate(node())) == [["d1", "d0"]]


@pytest.mark.parametrize(
    ("spec", "reached"),
    [
        ({"nodeName": "a"}, True),
        ({"nodeName": "b"}, False),
        ({"allNodes": True}, True),
        (
            {
                "nodeSelector": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "z", "operator": "In", "values": ["1"]}]}]
                }
            },
            True,
        ),
        (
            {
                "nodeSelector": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "z", "operator": "In", "values": ["2"]}]}]
                }
            },
            False,
        ),
    ],
)
def test_a_node_gets_only_devices_that_it_reaches(spec: dict[str, Any], reached: bool) -> None:
    found = allocator([published(device("d0"), **spec)], claim(exactly())).allocate(node(z="1"))
    assert (found is not None) is reached


def test_each_device_may_say_where_it_is() -> None:
    devices = [device("d0", nodeName="b"), device("d1", allNodes=True)]
    asked = allocator([published(*devices, perDeviceNodeSelection=True)], claim(exactly()))
    assert given_out(asked.allocate(node("a"))) == [["d1"]]
    assert given_out(asked.allocate(node("b"))) == [["d0"]]
    older = allocator(
        [published(*devices, perDeviceNodeSelection=True)], claim(exactly()), release=Release("1.35")
    )  # without DRAPartitionableDevices such slices do not count
    assert older.allocate(node("a")) is None


def test_the_result_names_the_nodes_that_reach_all_devices() -> None:
    term = {"matchExpressions": [{"key": "z", "operator": "In", "values": ["1"]}]}
    slices = [
        published(device("d0"), name="s0", pool="p0", nodeSelector={"nodeSelectorTerms": [term]}),
        published(device("d1"), name="s1", pool="p1"),
        published(device("d2"), name="s2", pool="p2", nodeName="a"),
    ]

    def selector(count: int) -> Any:
        found = allocator(slices, claim(exactly(count=count))).allocate(node(z="1"))
        assert found is not None
        return to_dict(found[0]).get("nodeSelector")

    assert selector(2) == {"nodeSelectorTerms": [term]}
    only = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]
    assert selector(3) == {"nodeSelectorTerms": only}
    everywhere = allocator([published(device("d0"))], claim(exactly())).allocate(node())
    assert everywhere is not None and everywhere[0].node_selector is None


def test_nothing_is_given_out_of_a_pool_that_is_not_complete() -> None:
    slices = [published(device("d0"), count=2)]
    assert allocator(slices, claim(exactly())).allocate(node()) is None
    other = published(device("d1"), name="t", count=2, nodeName="b")  # of no use here, but the pool is complete now
    assert given_out(allocator([*slices, other], claim(exactly())).allocate(node())) == [["d0"]]
    with pytest.raises(
        AllocationError, match=r"asks for all devices, but resource pool gpu.example.com/p is currently"
    ):
        allocator(slices, claim(exactly(allocationMode="All"))).allocate(node())


def test_only_the_newest_generation_counts() -> None:
    slices = [published(device("old")), published(device("new"), name="t", generation=2)]
    assert given_out(allocator(slices, claim(exactly())).allocate(node())) == [["new"]]
    moved = [published(device("old")), published(device("new"), name="t", generation=2, nodeName="b")]
    assert allocator(moved, claim(exactly())).allocate(node("a")) is None


def test_a_pool_that_contradicts_itself_is_not_used_and_said_where_nothing_else_helps() -> None:
    twice = [published(device("d0"), count=2), published(device("d0"), name="t", count=2)]
    with pytest.raises(FailedOnNode, match=r"^invalid resource pools were encountered$"):
        allocator(twice, claim(exactly())).allocate(node())
    good = published(device("d9"), name="u", pool="q")
    assert given_out(allocator([*twice, good], claim(exactly())).allocate(node())) == [["d9"]]


def test_all_means_every_device_that_is_selected_and_fails_where_one_is_taken() -> None:
    slices = [published(device("d0", "A"), device("d1", "B"), device("d2", "A"))]
    everything = claim(exactly(allocationMode="All", **model("A")))
    assert given_out(allocator(slices, everything).allocate(node())) == [["d0", "d2"]]
    assert allocator(slices, everything, others=[holding("d2")]).allocate(node()) is None
    assert allocator(slices, claim(exactly(allocationMode="All", **model("C")))).allocate(node()) is None


def test_alternatives_are_tried_in_their_order() -> None:
    slices = [published(device("d0", "small"), device("d1", "small"), device("d2", "large"))]
    either = {
        "name": "r",
        "firstAvailable": [
            {"name": "large", **GPU, **model("large")},
            {"name": "small", **GPU, **model("small"), "count": 2},
        ],
    }
    first = allocator(slices, claim(either)).allocate(node())
    assert first is not None and [one.request for one in first[0].devices.results] == ["r/large"]
    second = allocator(slices, claim(either), others=[holding("d2")]).allocate(node())
    assert second is not None and given_out(second) == [["d0", "d1"]]
    assert {one.request for one in second[0].devices.results} == {"r/small"}
    with pytest.raises(AllocationError, match="has subrequests, but the DRAPrioritizedList feature is disabled"):
        off = NOW.with_gates({"DRAPrioritizedList": False})
        allocator(slices, claim(either), release=off).allocate(node())


def test_a_claim_gets_no_more_than_32_devices() -> None:
    slices = [published(*(device(f"d{i}") for i in range(40)))]
    with pytest.raises(AllocationError, match="number of requested devices 33 exceeds the claim limit of 32"):
        allocator(slices, claim(exactly(count=33))).allocate(node())
    either = [{"name": "many", **GPU, "count": 30}, {"name": "few", **GPU, "count": 2}]
    asked = claim(exactly("first", count=20), {"name": "r", "firstAvailable": either})
    found = allocator(slices, asked).allocate(node())
    assert found is not None and len(found[0].devices.results) == 22


def test_admin_access_takes_devices_that_others_use_and_leaves_them_free() -> None:
    slices = [published(device("d0"))]
    watching = claim(exactly(adminAccess=True))
    found = allocator(slices, watching, others=[holding("d0")]).allocate(node())
    assert found is not None and found[0].devices.results[0].admin_access is True
    assert given_out(allocator(slices, claim(exactly()), others=[holding("d0", adminAccess=True)]).allocate(node()))
    assert allocator(slices, claim(exactly("a", adminAccess=True), exactly("b"))).allocate(node()) is None
    with pytest.raises(AllocationError, match="admin access is requested, but the feature is disabled"):
        allocator(slices, watching, release=NOW.with_gates({"DRAAdminAccess": False})).allocate(node())


@pytest.mark.parametrize(
    ("effect", "tolerations", "free"),
    [
        ("NoSchedule", [], False),
        ("NoExecute", [], False),
        ("None", [], True),
        ("NoSchedule", [{"operator": "Exists"}], True),
        ("NoSchedule", [{"key": "k", "value": "v"}], True),
        ("NoSchedule", [{"key": "k", "operator": "Exists", "effect": "NoExecute"}], False),
    ],
)
def test_a_tainted_device_is_for_requests_that_tolerate_it(effect: str, tolerations: list[Any], free: bool) -> None:
    slices = [published(device("d0", taints=[{"key": "k", "value": "v", "effect": effect}]))]
    asked = claim(exactly(tolerations=tolerations))
    assert (allocator(slices, asked).allocate(node()) is not None) is free
    assert allocator(slices, asked, release=Release("1.35")).allocate(node()) is not None  # taints came with 1.36


def test_devices_with_a_common_attribute_are_found_together() -> None:
    slices = [published(device("d0", numa=0), device("d1", numa=1), device("d2", numa=1), device("d3"))]
    together = {"constraints": [{"matchAttribute": f"{DRIVER}/numa"}]}
    assert given_out(allocator(slices, claim(exactly(count=2), **together)).allocate(node())) == [["d1", "d2"]]
    assert allocator(slices, claim(exactly(count=3), **together)).allocate(node()) is None
    some = {"constraints": [{"requests": ["x", "y"], "matchAttribute": f"{DRIVER}/numa"}]}
    asked = claim(exactly("free"), exactly("x"), exactly("y"), **some)
    assert given_out(allocator(slices, asked).allocate(node())) == [["d0", "d1", "d2"]]


def test_values_of_different_types_are_different() -> None:
    devices = [device("d0"), device("d1")]
    devices[0]["attributes"] = {"v": {"int": 1}}
    devices[1]["attributes"] = {"v": {"bool": True}}
    together = {"constraints": [{"matchAttribute": f"{DRIVER}/v"}]}
    assert allocator([published(*devices)], claim(exactly(count=2), **together)).allocate(node()) is None


def test_distinct_attributes_keep_devices_apart() -> None:
    slices = [published(device("d0", numa=0), device("d1", numa=0), device("d2", numa=1))]
    apart = {"constraints": [{"distinctAttribute": f"{DRIVER}/numa"}]}
    assert given_out(allocator(slices, claim(exactly(count=2), **apart)).allocate(node())) == [["d0", "d2"]]
    with pytest.raises(AllocationError, match="constraint #0: empty constraint"):
        allocator(slices, claim(exactly(), **apart), release=Release("1.35")).allocate(node())


def test_all_devices_under_a_constraint_that_they_break_is_an_error() -> None:
    slices = [published(device("d0", numa=0), device("d1", numa=1))]
    asked = claim(exactly(allocationMode="All"), constraints=[{"matchAttribute": f"{DRIVER}/numa"}])
    with pytest.raises(AllocationError, match=r"cannot add device gpu.example.com/p/d1 because a claim constraint"):
        allocator(slices, asked).allocate(node())


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (cel("device.vendor == 'x'"), "claim default/c: selector #0: CEL compile error: compilation failed"),
        (
            cel(f'device.attributes["{DRIVER}"].speed > 1'),
            "claim default/c: selector #0: CEL runtime error: no such key: speed",
        ),
        (
            {"deviceClassName": "tpu"},
            'could not retrieve device class tpu: deviceclass.resource.k8s.io "tpu" not found',
        ),
    ],
)
def test_what_is_wrong_with_a_claim_ends_the_search(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(AllocationError) as error:
        allocator([published(device("d0"))], claim({"name": "r", "exactly": {**GPU, **fields}})).allocate(node())
    assert words in str(error.value)


def test_a_search_without_end_is_given_up() -> None:
    slices = [published(*(device(f"d{i}", "A") for i in range(60)))]
    asked = claim(exactly(count=10), exactly("x", **model("none")))
    with pytest.raises(FailedOnNode, match="timed out trying to allocate devices"):
        allocator(slices, asked).allocate(node())


def test_configuration_comes_from_class_and_claim() -> None:
    of_class = {"spec": {"config": [{"opaque": {"driver": DRIVER, "parameters": {"a": 1}}}]}}
    config = [
        {"opaque": {"driver": DRIVER, "parameters": {"b": 1}}},
        {"requests": ["y"], "opaque": {"driver": DRIVER, "parameters": {"c": 1}}},
    ]
    asked = claim(exactly("x"), exactly("y"), config=config)
    found = allocator([published(device("d0"), device("d1"))], asked, gpu_class=of_class).allocate(node())
    assert found is not None
    assert [to_dict(one) for one in found[0].devices.config] == [
        {"source": "FromClass", "requests": ["x", "y"], "opaque": {"driver": DRIVER, "parameters": {"a": 1}}},
        {"source": "FromClaim", "opaque": {"driver": DRIVER, "parameters": {"b": 1}}},
        {"source": "FromClaim", "requests": ["y"], "opaque": {"driver": DRIVER, "parameters": {"c": 1}}},
    ]


MODELS, NUMA = ("A", "B"), (0, 1, 2)
some_devices = st.lists(st.tuples(st.sampled_from(MODELS), st.sampled_from(NUMA)), min_size=0, max_size=6)
some_requests = st.lists(
    st.tuples(st.sampled_from(("", *MODELS)), st.integers(1, 3), st.booleans()), min_size=1, max_size=3
)
kinds = st.sampled_from((None, "matchAttribute", "distinctAttribute"))


def suits(what: str, one: tuple[str, int]) -> bool:
    return what in ("", one[0])


def solvable(devices: list[tuple[str, int]], free: list[int], slots: list[tuple[str, bool]], kind: str | None) -> bool:
    """Whether any way of giving every slot a free device keeps the constraint."""
    for chosen in itertools.permutations(free, len(slots)):
        if not all(suits(what, devices[i]) for i, (what, _) in zip(chosen, slots, strict=True)):
            continue
        values = [devices[i][1] for i, (_, bound) in zip(chosen, slots, strict=True) if bound]
        if (
            kind is None
            or (kind == "matchAttribute" and len(set(values)) <= 1)
            or (kind == "distinctAttribute" and len(set(values)) == len(values))
        ):
            return True
    return False


@settings(max_examples=examples(300), deadline=None)
@given(some_devices, some_requests, kinds, st.sets(st.integers(0, 5)))
def test_a_solution_is_found_exactly_where_there_is_one_and_keeps_every_rule(
    devices: list[tuple[str, int]], requests: list[tuple[str, int, bool]], kind: str | None, held: set[int]
) -> None:
    slots = [(what, bound) for what, count, bound in requests for _ in range(count)]
    free = [i for i in range(len(devices)) if i not in held]
    bound_names = [f"r{i}" for i, (_, _, bound) in enumerate(requests) if bound]
    constraints = [{kind: f"{DRIVER}/numa", "requests": bound_names}] if kind and bound_names else []
    asked = claim(
        *(exactly(f"r{i}", count=n, **(model(what) if what else {})) for i, (what, n, _) in enumerate(requests)),
        constraints=constraints,
    )
    slices = [published(*(device(f"d{i}", what, numa) for i, (what, numa) in enumerate(devices)))]
    others = [holding(f"d{i}") for i in held if i < len(devices)]
    found = given_out(allocator(slices, asked, others=others).allocate(node()))
    possible = len(slots) <= len(free) and solvable(devices, free, slots, kind if constraints else None)
    assert (found is not None) == possible
    if found is None:
        return
    given_devices = [int(name[1:]) for name in found[0]]
    assert len(set(given_devices)) == len(slots) == len(given_devices)
    assert not set(given_devices) & held
    assert all(suits(what, devices[i]) for i, (what, _) in zip(given_devices, slots, strict=True))
    values = [devices[i][1] for i, (_, bound) in zip(given_devices, slots, strict=True) if bound]
    if constraints:
        assert len(set(values)) <= 1 if kind == "matchAttribute" else len(set(values)) == len(values)


@pytest.mark.parametrize(("count", "fails"), [(32, False), (33, True)])
def test_a_claim_has_at_most_32_results(count: int, fails: bool) -> None:
    """Source: resourceapi.AllocationResultsMaxSize."""
    asked = allocator([published(*(device(f"d{i:02}") for i in range(40)))], claim(exactly(count=count)))
    if fails:
        with pytest.raises(AllocationError, match=r"number of requested devices 33 exceeds the claim limit of 32$"):
            asked.allocate(node())
    else:
        assert given_out(asked.allocate(node())) == [[f"d{i:02}" for i in range(32)]]
