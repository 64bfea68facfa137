"""The structured allocator: each of its rules, and that it finds a solution exactly where there is one."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitlib.api.core import Node
from kitlib.api.defaults import set_defaults
from kitlib.api.devices import AllocationResult, DeviceClass, ResourceClaim, ResourceSlice
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict, to_dict
from kitlib.scheduler.claims import Claims
from kitlib.scheduler.device_allocator import AllocationError, Allocator, FailedOnNode

DRIVER = "gpu.example.com"
GPU = {"deviceClassName": "gpu"}
NOW = Release("1.36")


def node(name: str = "a", **labels: str) -> Node:
    return from_dict({"metadata": {"name": name, "labels": labels}}, Node)


def device(name: str, model: str = "", numa: int | None = None, **fields: Any) -> dict[str, Any]:
    attributes: dict[str, Any] = {"model": {"string": model}} if model else {}
    if numa is not None:
        attributes["numa"] = {"int": numa}
    return {"name": name, "attributes": attributes, **fields}


def published(*devices: dict[str, Any], name: str = "s", pool: str = "p", **spec: Any) -> ResourceSlice:
    where = {} if {"nodeName", "nodeSelector", "perDeviceNodeSelection"} & set(spec) else {"allNodes": True}
    pool_ = {"name": pool, "generation": spec.pop("generation", 1), "resourceSliceCount": spec.pop("count", 1)}
    data = {"driver": DRIVER, "pool": pool_, "devices": list(devices), **where, **spec}
    return from_dict({"metadata": {"name": name}, "spec": data}, ResourceSlice)


def claim(*requests: dict[str, Any], name: str = "c", **devices: Any) -> ResourceClaim:
    meta = {"name": name, "namespace": "default", "uid": name}
    return set_defaults(
        from_dict({"metadata": meta, "spec": {"devices": {"requests": list(requests), **devices}}}, ResourceClaim)
    )


def exactly(name: str = "r", **fields: Any) -> dict[str, Any]:
    return {"name": name, "exactly": {**GPU, **fields}}


def cel(text: str) -> dict[str, Any]:
    return {"selectors": [{"cel": {"expression": text}}]}


def model(*names: str) -> dict[str, Any]:
    return cel(f'device.attributes["{DRIVER}"].model in {list(names)}'.replace("'", '"'))


def allocator(
    slices: list[ResourceSlice], *claims: ResourceClaim, others: list[ResourceClaim] | None = None, **more: Any
) -> Allocator:
    gpu = from_dict({"metadata": {"name": "gpu"}, **more.get("gpu_class", {})}, DeviceClass)
    book = Claims.of([*slices, gpu, *(others or [])])
    return Allocator(list(claims), book.inventory, book.classes, book.allocated(), more.get("release", NOW))


def given_out(found: list[AllocationResult] | None) -> list[list[str]] | None:
    return None if found is None else [[one.device for one in result.devices.results] for result in found]


def holding(*devices: str, **result: Any) -> ResourceClaim:
    """A claim that has devices already."""
    results = [{"request": "r", "driver": DRIVER, "pool": "p", "device": one, **result} for one in devices]
    made = claim(exactly(), name=f"held-{'-'.join(devices)}")
    made.status = from_dict({"status": {"allocation": {"devices": {"results": results}}}}, ResourceClaim).status
    return made


# ------------------------------------------------------------------------------------------------------------ devices


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


# -------------------------------------------------------------------------------------------------------------- pools


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


# ----------------------------------------------------------------------------------------------------------- requests


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


# -------------------------------------------------------------------------------------------------------- constraints


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


# --------------------------------------------------------------------------------------------------- parts of devices


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
    assert [to_dict(one)["consumedCapacity"] for one in results] == [
        {f"{DRIVER}/bandwidth": "6G"},
        {f"{DRIVER}/bandwidth": "4G"},
    ]
    assert results[0].share_id != results[1].share_id and all(one.share_id for one in results)
    assert allocator(slices, claim(share("6G"), name="one"), claim(share("5G"), name="other")).allocate(node()) is None
    held = holding("nic", shareID="x", consumedCapacity={f"{DRIVER}/bandwidth": "7G"})
    assert given_out(allocator(slices, claim(share("3G")), others=[held]).allocate(node())) == [["nic"]]
    assert allocator(slices, claim(share("4G")), others=[held]).allocate(node()) is None


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
    amount = found and to_dict(found[0].devices.results[0])["consumedCapacity"][f"{DRIVER}/bandwidth"]
    assert amount == consumed


def test_a_request_for_capacity_passes_over_devices_that_have_less() -> None:
    devices = [
        device("d0", capacity={"bandwidth": {"value": "1G"}}),
        device("d1", capacity={"bandwidth": {"value": "9G"}}),
    ]
    assert given_out(allocator([published(*devices)], claim(share("5G"))).allocate(node())) == [["d1"]]


# ------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (cel("device.vendor == 'x'"), "claim default/c: selector #0: CEL compile error: compilation failed"),
        (
            cel(f'device.attributes["{DRIVER}"].speed > 1'),
            "claim default/c: selector #0 on device gpu.example.com/p/d0: CEL runtime error: no such key: speed",
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


def test_devices_that_bind_later_are_refused_in_clear_words() -> None:
    with pytest.raises(AllocationError, match=r"device gpu.example.com/p/d0: has binding conditions"):
        allocator([published(device("d0", bindingConditions=["Ready"]))], claim(exactly())).allocate(node())


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
        {"source": "FromClass", "opaque": {"driver": DRIVER, "parameters": {"a": 1}}},
        {"source": "FromClaim", "opaque": {"driver": DRIVER, "parameters": {"b": 1}}},
        {"source": "FromClaim", "requests": ["y"], "opaque": {"driver": DRIVER, "parameters": {"c": 1}}},
    ]


# -------------------------------------------------------------------------------------------- against all possibilities

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


@settings(max_examples=300, deadline=None)
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


@settings(max_examples=150, deadline=None)
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
