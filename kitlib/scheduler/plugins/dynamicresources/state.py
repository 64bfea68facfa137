"""The state of a cycle about a pod's claims, and the check whether a node can serve them.

Source: plugins/dynamicresources (stateData, Filter); filterExtendedResources.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from kitlib.api.core import Node, Pod
from kitlib.api.devices import AllocationResult, ResourceClaim
from kitlib.api.selectors import matches_node_selector
from kitlib.api.serialize import deepcopy
from kitlib.scheduler.framework.dra_manager import DRAManager
from kitlib.scheduler.framework.status import SUCCESS, Code, Status
from kitlib.scheduler.plugins.dynamicresources.allocator import Allocator
from kitlib.scheduler.plugins.dynamicresources.extended import Mappings, requests_of
from kitlib.scheduler.plugins.dynamicresources.search import AllocationError, FailedOnNode

NAME = "DynamicResources"
NOT_ALL = "cannot allocate all claims"
NOT_THERE = "resourceclaim not available on the node"


class Variant(NamedTuple):
    """A pod's claim for the extended resources that a node does not offer itself."""

    claim: ResourceClaim
    mappings: Mappings
    allocator: Allocator


@dataclass
class ClaimState:
    """The state of a cycle about the pod's claims.

    Attributes:
        book: the manager through which claims are looked up and written.
        claims: the pod's claims, in its order.
        allocator: the allocator for claims without devices; None = all have devices.
        elsewhere: the claims whose devices some node does not reach.
        found: node -> the allocations that the claims without devices would get there.
        extended: the pod's claim for extended resources; None = it needs none.
        wanted: the pod's extended resources that classes serve.
        variants: resources that a node does not offer itself -> the claim for them, its mappings, and an allocator.
        selected: node -> its variant.
        make: the function that makes an allocator for claims; None = no claim needs devices.
    """

    book: DRAManager
    claims: list[ResourceClaim]
    allocator: Allocator | None = None
    elsewhere: list[ResourceClaim] = field(default_factory=list)
    found: dict[str, list[AllocationResult]] = field(default_factory=dict)
    extended: ResourceClaim | None = None
    wanted: list[str] = field(default_factory=list)
    variants: dict[tuple[str, ...], Variant] = field(default_factory=dict)
    selected: dict[str, Variant] = field(default_factory=dict)
    make: Callable[[list[ResourceClaim]], Allocator] | None = None


def allocator_on(state: ClaimState, node: str) -> Allocator | None:
    """Return the allocator for the pod's claims on a node; None = all of them have devices."""
    return state.selected[node].allocator if node in state.selected else state.allocator


def _choose(state: ClaimState, pod: Pod, node: Node) -> Status:
    """Choose the variant of the extended resources that the node does not offer. Source: filterExtendedResources."""
    assert state.extended is not None and state.make is not None
    # A claim with requests is left over from an earlier cycle, perhaps for another node: PostFilter deletes it.
    if state.extended.spec.devices.requests:
        return Status(Code.Unschedulable, ("cannot schedule extended resource claim",), NAME)
    offered = node.status.allocatable
    lacking = tuple(name for name in state.wanted if name not in offered or offered[name].is_zero())
    if not lacking:
        return SUCCESS
    if lacking not in state.variants:
        claim = deepcopy(state.extended)
        claim.spec.devices.requests, mappings = requests_of(pod, lacking, state.book.classes)
        waiting = list(state.allocator.claims) if state.allocator is not None else []
        state.variants[lacking] = Variant(claim, mappings, state.make([*waiting, claim]))
    state.selected[node.name] = state.variants[lacking]
    return SUCCESS


def serve_on(state: ClaimState, pod: Pod, node: Node) -> Status:
    """Return whether the pod's claims can be used on a node, and store what they would get there. Source: Filter."""
    if state.extended is not None:
        status = _choose(state, pod, node)
        if not status.ok:
            return status
    # The order of the answers is upstream's: a failed allocation is reported before a claim that is out of reach.
    elsewhere = [claim for claim in state.claims if not _reached(claim, node)]
    found: list[AllocationResult] | None = None
    allocator = allocator_on(state, node.name)
    if allocator is not None:
        try:
            found = allocator.allocate(node)
        except FailedOnNode as error:
            return Status(Code.UnschedulableAndUnresolvable, (str(error),), NAME)
        except AllocationError as error:
            return Status(Code.Error, (str(error),), NAME)
        if found is None:
            return Status(Code.UnschedulableAndUnresolvable, (NOT_ALL,), NAME)
    if elsewhere:
        state.elsewhere += [claim for claim in elsewhere if claim not in state.elsewhere]
        return Status(Code.UnschedulableAndUnresolvable, (NOT_THERE,), NAME)
    if found is not None:
        state.found[node.name] = found
    return SUCCESS


def _reached(claim: ResourceClaim, node: Node) -> bool:
    """Return whether a node reaches the claim's devices; True if it has none."""
    selector = claim.status.allocation.node_selector if claim.status.allocation is not None else None
    return selector is None or matches_node_selector(selector, node)
