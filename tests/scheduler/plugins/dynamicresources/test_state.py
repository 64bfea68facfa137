"""Whether a node can serve a pod's claims, in the order of the plugin's answers."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Node, Pod
from kitlib.api.devices import AllocationResult, DeviceClass, ResourceClaim
from kitlib.api.resource import Quantity
from kitlib.api.serialize import from_dict
from kitlib.scheduler.framework.dra_manager import DRAManager
from kitlib.scheduler.framework.status import SUCCESS, Code, Status
from kitlib.scheduler.plugins.dynamicresources.extended import new_claim
from kitlib.scheduler.plugins.dynamicresources.search import AllocationError, FailedOnNode
from kitlib.scheduler.plugins.dynamicresources.state import ClaimState, allocator_on, serve_on
from tests.scheduler.plugins.dynamicresources.claimed_pods import claim, pod

NEVER = Code.UnschedulableAndUnresolvable
GPU = "example.com/gpu"


def node(name: str = "a", **offers: str) -> Node:
    return from_dict({"metadata": {"name": name}, "status": {"allocatable": offers}}, Node)


class Fixed:
    """An allocator with a fixed answer for claims."""

    def __init__(self, answer: Any, claims: list[ResourceClaim] | None = None) -> None:
        self.answer, self.claims = answer, claims or []

    def allocate(self, node: Node) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def state(*claims: ResourceClaim, answer: Any = "no allocator", **fields: Any) -> ClaimState:
    allocator: Any = None if answer == "no allocator" else Fixed(answer)
    return ClaimState(DRAManager(), list(claims), allocator, **fields)


RESULT = [AllocationResult()]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (RESULT, SUCCESS),
        ([], SUCCESS),
        (None, Status(NEVER, ("cannot allocate all claims",), "DynamicResources")),
        (FailedOnNode("pool"), Status(NEVER, ("pool",), "DynamicResources")),
        (AllocationError("class"), Status(Code.Error, ("class",), "DynamicResources")),
    ],
)
def test_the_answer_follows_the_allocation(answer: Any, expected: Status) -> None:
    made = state(claim(), answer=answer)
    assert serve_on(made, pod("p"), node()) == expected
    assert made.found == ({"a": answer} if expected.ok else {})


def test_claims_with_devices_must_be_reached() -> None:
    here, far = claim("here", on="a"), claim("far", on="b")
    assert serve_on(state(here), pod("p"), node()) == SUCCESS
    made = state(here, far)
    refused = Status(NEVER, ("resourceclaim not available on the node",), "DynamicResources")
    assert serve_on(made, pod("p"), node()) == refused and made.elsewhere == [far]
    assert serve_on(made, pod("p"), node("b")) == refused and made.elsewhere == [far, here]
    assert serve_on(made, pod("p"), node("c")) == refused
    assert made.elsewhere == [far, here], "each claim is listed once"


def test_a_failed_allocation_is_reported_before_a_claim_that_is_out_of_reach() -> None:
    made = state(claim("far", on="b"), claim("new"), answer=None)
    assert serve_on(made, pod("p"), node()).reasons == ("cannot allocate all claims",)
    assert made.elsewhere == []
    served = state(claim("far", on="b"), claim("new"), answer=RESULT)
    assert not serve_on(served, pod("p"), node()).ok and served.found == {}


def extended(*waiting: ResourceClaim) -> tuple[Pod, ClaimState, list[list[ResourceClaim]]]:
    """Return a pod that requests a GPU and a TPU that classes serve, its state, and the claims of each allocator."""
    asked = pod("p")
    amounts = {GPU: "1", "example.com/tpu": "1"}
    asked.spec.containers[0].resources.requests = {name: Quantity(one) for name, one in amounts.items()}
    classes = [
        from_dict({"metadata": {"name": name}, "spec": {"extendedResourceName": f"example.com/{name}"}}, DeviceClass)
        for name in ("gpu", "tpu")
    ]
    made: list[list[ResourceClaim]] = []

    def make(claims: list[ResourceClaim]) -> Any:
        made.append(claims)
        return Fixed(RESULT, claims)

    found = ClaimState(
        DRAManager.of(classes), list(waiting), extended=new_claim(asked), wanted=list(amounts), make=make
    )
    if waiting:
        allocator: Any = Fixed(RESULT, list(waiting))
        found.allocator = allocator
    return asked, found, made


def test_a_node_that_offers_the_resources_itself_needs_no_claim() -> None:
    asked, made, allocators = extended()
    assert serve_on(made, asked, node(**{GPU: "1", "example.com/tpu": "8"})) == SUCCESS
    assert allocators == [] and made.selected == {} and made.found == {}
    assert allocator_on(made, "a") is None


def test_a_claim_serves_what_a_node_does_not_offer() -> None:
    asked, made, allocators = extended(claim("waiting"))
    for name, offers in (("a", {GPU: "1"}), ("b", {GPU: "1", "example.com/tpu": "0"}), ("c", {})):
        assert serve_on(made, asked, node(name, **offers)) == SUCCESS
    assert made.selected["a"] is made.selected["b"] is not made.selected["c"]
    assert list(made.variants) == [("example.com/tpu",), (GPU, "example.com/tpu")]
    # the claims that wait for devices are served together with the pod's own claim
    assert [[one.name for one in claims] for claims in allocators] == [["waiting", "<extended-resources>"]] * 2
    assert [len(claims[1].spec.devices.requests) for claims in allocators] == [1, 2]
    assert made.extended is not None and made.extended.spec.devices.requests == []
    assert allocator_on(made, "a") is made.selected["a"].allocator and allocator_on(made, "x") is made.allocator


def test_a_claim_that_is_left_over_from_an_earlier_cycle_is_not_used() -> None:
    asked, made, _ = extended()
    made.extended = claim("left")
    expected = Status(Code.Unschedulable, ("cannot schedule extended resource claim",), "DynamicResources")
    assert serve_on(made, asked, node()) == expected
