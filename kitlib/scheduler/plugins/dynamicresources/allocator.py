"""The structured allocator: it finds devices for the claims of a pod on a node by a depth-first search.

It serves the claims in order, the requests of each claim in order, and for each request the devices in order. Each
choice is checked at once and undone if a later request cannot be served. The first solution is the answer:
alternatives (`firstAvailable`) in their order, pools and slices by name, devices in the slice's order.

Source: k8s.io/dynamic-resource-allocation/structured (allocator.go, internal/incubating/allocator_incubating.go).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence

from kitlib.api.claims import Asked, repels, tolerates
from kitlib.api.core import Node
from kitlib.api.devices import (
    MAX_RESULTS,
    AllocationResult,
    DeviceAllocationResult,
    DeviceClass,
    DeviceConstraint,
    DeviceRequestAllocationResult,
    DeviceSelector,
    ResourceClaim,
)
from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.scheduler.plugins.dynamicresources.capacity import consumed_by, fits_beside
from kitlib.scheduler.plugins.dynamicresources.pools import Allocated, DeviceID, Inventory, Offer
from kitlib.scheduler.plugins.dynamicresources.results import configurations, node_selector_of
from kitlib.scheduler.plugins.dynamicresources.search import AllocationError, FailedOnNode, Pick, Search, Wanted

MOST_STEPS = 100_000
"""The number of devices tried on one node before the search is given up; kube-scheduler has a limit of ten seconds."""


class Allocator:
    """The allocator for a pod's claims that have no devices yet.

    Args:
        claims: the claims of one pod, in the pod's order.
        inventory: the devices that drivers publish.
        classes: name -> class.
        allocated: the devices of other claims.
        release: the release whose feature gates apply.
    """

    def __init__(
        self,
        claims: Sequence[ResourceClaim],
        inventory: Inventory,
        classes: Mapping[str, DeviceClass],
        allocated: Allocated,
        release: Release,
    ) -> None:
        self.claims, self.inventory, self.classes, self.allocated = claims, inventory, classes, allocated
        self._enabled: Callable[[str], bool] = release.enabled
        self._fractions = release.enabled("DRAFractionalCapacityRange")
        self._requests: list[list[Wanted]] | None = None
        self._selected: dict[tuple[int, DeviceID], bool] = {}
        self._left: dict[str, dict[tuple[str, str], int]] = {}

    def allocate(self, node: Node) -> list[AllocationResult] | None:
        """Return the devices for every claim if the pod runs on the node; None = not all can be served there.

        Raises:
            AllocationError: a claim, a class or a device has an error, which ends the cycle.
            FailedOnNode: the search on this node failed; other nodes are tried.
        """
        requests = self.requests()
        search = self._look_around(node)
        for wanted in (
            alternative for alternatives in requests for alternative in alternatives if alternative.everything
        ):
            search.everything[wanted] = self._all_devices(wanted, search)
        for number, claim in enumerate(self.claims):
            self._check_size(number, claim, search)
        if self._serve(search, 0):
            return [self._result(number, claim, search.picks, node.name) for number, claim in enumerate(self.claims)]
        if any(pool.invalid for pool, _ in search.pools):
            raise FailedOnNode("invalid resource pools were encountered")
        return None

    def requests(self) -> list[list[Wanted]]:
        """Return the alternatives of every request of every claim. Source: validateDeviceRequest."""
        if self._requests is None:
            self._requests = [
                self._alternatives(number, claim, place)
                for number, claim in enumerate(self.claims)
                for place in range(len(claim.spec.devices.requests))
            ]
        return self._requests

    def _alternatives(self, number: int, claim: ResourceClaim, place: int) -> list[Wanted]:
        request = claim.spec.devices.requests[place]
        if request.first_available and not self._enabled("DRAPrioritizedList"):
            raise AllocationError(
                f"claim {claim.key}, request {request.name}: has subrequests, but the DRAPrioritizedList feature is "
                "disabled"
            )
        asked: list[tuple[str, Asked]] = [(alternative.name, alternative) for alternative in request.first_available]
        if request.exactly is not None:
            asked = [("", request.exactly)]
        found = []
        for sub, one in asked:
            where = f"claim {claim.key}, request {sub or request.name}"
            for i, selector in enumerate(one.selectors):
                if selector.cel is None:
                    problem = "CEL expression empty (unsupported selector type?)"
                    raise AllocationError(f"{where}, selector #{i}: {problem}")
            if getattr(one, "admin_access", None) is not None and not self._enabled("DRAAdminAccess"):
                raise AllocationError(f"{where}: admin access is requested, but the feature is disabled")
            of_class = self.classes.get(one.device_class_name)
            if of_class is None:
                name = one.device_class_name
                raise AllocationError(
                    f'{where}: could not retrieve device class {name}: deviceclass.resource.k8s.io "{name}" not found'
                )
            found.append(Wanted(number, request.name, sub, one, of_class))
        for constraint in claim.spec.devices.constraints:
            if constraint.match_attribute is None and not self._distinct(constraint):
                index = claim.spec.devices.constraints.index(constraint)
                problem = "empty constraint (unsupported constraint type?)"
                raise AllocationError(f"claim {claim.key}, constraint #{index}: {problem}")
        return found

    def _distinct(self, constraint: DeviceConstraint) -> bool:
        return constraint.distinct_attribute is not None and self._enabled("DRAConsumableCapacity")

    def _look_around(self, node: Node) -> Search:
        pools = self.inventory.near(node, self._enabled("DRAPartitionableDevices"))
        usable = [offer for pool, offers in pools if not pool.incomplete and not pool.invalid for offer in offers]
        return Search(pools, usable)

    def _all_devices(self, wanted: Wanted, search: Search) -> list[Offer]:
        """Return the devices for a request of all devices, for which every pool must be complete and valid."""
        claim = self.claims[wanted.claim]
        for pool, _ in search.pools:
            problem = "being updated" if pool.incomplete else "invalid" if pool.invalid else ""
            if problem:
                raise AllocationError(
                    f"claim {claim.key}, request {wanted.sub or wanted.request}: asks for all devices, but resource "
                    f"pool {pool} is currently {problem}"
                )
        return [offer for offer in search.offers if self.selects(wanted, offer) and self._has_capacity(wanted, offer)]

    def _has_capacity(self, wanted: Wanted, offer: Offer) -> bool:
        """Return whether a device has what a request for all devices consumes. Source: CmpRequestOverCapacity."""
        if not self._enabled("DRAConsumableCapacity"):
            return True
        consumes = consumed_by(wanted.asked.capacity, offer, fractions=self._fractions)
        return consumes is not None and (not self._is_shared(offer) or self._enough((), consumes, offer))

    def _number(self, wanted: Wanted, search: Search) -> int:
        return len(search.everything[wanted]) if wanted.everything else wanted.asked.count

    def _check_size(self, number: int, claim: ResourceClaim, search: Search) -> None:
        mine = [alternatives for alternatives in self.requests() if alternatives and alternatives[0].claim == number]
        least = sum(min(self._number(alternative, search) for alternative in alternatives) for alternatives in mine)
        if least > MAX_RESULTS:
            raise AllocationError(
                f"claim {claim.key}: number of requested devices {least} exceeds the claim limit of {MAX_RESULTS}"
            )

    def _serve(self, search: Search, place: int) -> bool:
        """Serve the requests from index `place` on; return whether all of them are served."""
        requests = self.requests()
        if place == len(requests):
            return True
        return any(
            self._take(search, place, wanted, self._number(wanted, search), 0)
            for wanted in requests[place]
            if not wanted.everything or search.everything[wanted]
        )

    def _take(self, search: Search, place: int, wanted: Wanted, missing: int, start: int) -> bool:
        """Find `missing` devices for a request among the offers from index `start` on, then serve the next requests."""
        if not missing:
            return self._serve(search, place + 1)
        if missing + sum(pick.wanted.claim == wanted.claim for pick in search.picks) > MAX_RESULTS:
            return False
        offers = search.everything[wanted] if wanted.everything else search.offers
        for number in range(start, len(offers)):
            if len(offers) - number < missing:
                self._ask_selectors(search, wanted, offers[number:])
                return False
            search.steps += 1
            if search.steps > MOST_STEPS:
                raise FailedOnNode("timed out trying to allocate devices")
            pick = self.pick(search, wanted, offers[number])
            if pick is not None:
                search.picks.append(pick)
                # `number + 1`: a request gets at most one share of a shared device. Source: allocateOne, nextLocation
                if self._take(search, place, wanted, missing - 1, number + 1):
                    return True
                self._give_back(search, pick)
            if wanted.everything:
                return False  # a request for all devices needs this one
        return False

    def _ask_selectors(self, search: Search, wanted: Wanted, offers: Sequence[Offer]) -> None:
        """Evaluate the selectors for devices that are too few to serve the request, since an error in one still counts.

        Raises:
            AllocationError: a selector fails.
        """
        if not wanted.everything:
            for offer in offers:
                if not self._in_use(search.picks, wanted, offer):
                    self.selects(wanted, offer)

    def pick(self, search: Search, wanted: Wanted, offer: Offer) -> Pick | None:
        """Return the device as a choice for the request; None = it cannot be added to the choices made so far.

        Source: allocateDevice.
        """
        picks = search.picks
        if self._in_use(picks, wanted, offer) or not self.selects(wanted, offer):
            return None
        shared = self._is_shared(offer)
        consumes: Mapping[str, Quantity] | None = None
        if self._enabled("DRAConsumableCapacity"):
            consumes = consumed_by(wanted.asked.capacity, offer, fractions=self._fractions)
            if consumes is None or (shared and not self._enough(picks, consumes, offer)):
                return None
        pick = Pick(wanted, offer, consumes if shared else None)
        if not self._take_counters(search, offer) or self._repelled(wanted, offer):
            return None
        return pick if self._keeps_constraints(picks, pick) else None

    def _repelled(self, wanted: Wanted, offer: Offer) -> bool:
        """Return whether a taint of the device prevents the allocation. Source: taintPreventsAllocation."""
        taints = offer.device.taints if self._enabled("DRADeviceTaints") else ()
        return any(
            repels(taint) and not any(tolerates(toleration, taint) for toleration in wanted.asked.tolerations)
            for taint in taints
        )

    def _is_shared(self, offer: Offer) -> bool:
        return bool(offer.device.allow_multiple_allocations) and self._enabled("DRAConsumableCapacity")

    def _in_use(self, picks: Sequence[Pick], wanted: Wanted, offer: Offer) -> bool:
        """Return whether the device is used in a way that excludes the request.

        Admin access ignores other claims, but a claim gets a device only once. Source: deviceInUse,
        allocatingDeviceForClaim.
        """
        shared = self._is_shared(offer)
        if wanted.admin:
            return not shared and any(pick.offer is offer and pick.wanted.claim == wanted.claim for pick in picks)
        if offer.id in self.allocated.whole:
            return True
        return not shared and (offer.id in self.allocated.shares or any(pick.offer is offer for pick in picks))

    def _enough(self, picks: Sequence[Pick], consumes: Mapping[str, Quantity], offer: Offer) -> bool:
        used = Allocated(shares={offer.id: dict(self.allocated.shares.get(offer.id, {}))})
        for pick in picks:
            if pick.offer is offer and pick.consumes is not None:
                used.consume(offer.id, pick.consumes)
        return fits_beside(consumes, used.shares[offer.id], offer)

    def _take_counters(self, search: Search, offer: Offer) -> bool:
        """Consume the counters that the device shares with others; return whether they suffice.

        Counters stay consumed if a taint or a constraint rejects the device afterwards, and if a share of a device is
        given back: kube-scheduler 1.36 releases them only at the end of the search on the node.

        Source: checkAvailableCounters.
        """
        if not offer.device.consumes_counters or (self._is_shared(offer) and self._capacity_in_use(search, offer)):
            return True
        if not self._enabled("DRAPartitionableDevices"):
            return False
        left = self._counters(offer)
        taken = search.counters.setdefault(offer.id.pool, {})
        self._count(taken, offer, 1)
        if any(taken.get(key, 0) > amount for key, amount in left.items()):
            self._count(taken, offer, -1)
            return False
        return True

    def _count(self, taken: dict[tuple[str, str], int], offer: Offer, sign: int) -> None:
        for consumed in offer.device.consumes_counters:
            for name, counter in consumed.counters.items():
                key = consumed.counter_set, name
                taken[key] = taken.get(key, 0) + sign * counter.value.nano

    def _capacity_in_use(self, search: Search, offer: Offer) -> bool:
        """Return whether a share of the device is allocated or chosen. Source: deviceCapacityInUse."""
        return offer.id in self.allocated.shares or any(pick.offer is offer for pick in search.picks)

    def _give_back(self, search: Search, pick: Pick) -> None:
        """Undo the last choice. Source: allocateDevice's rollback."""
        search.picks.pop()
        if not self._is_shared(pick.offer) and self._enabled("DRAPartitionableDevices"):
            self._count(search.counters.setdefault(pick.offer.id.pool, {}), pick.offer, -1)

    def _counters(self, offer: Offer) -> dict[tuple[str, str], int]:
        """Return a pool's counters, less those of its allocated devices, in billionths; cached by the pool's name."""
        name = offer.id.pool
        if name not in self._left:
            pool = next(
                candidate for candidate in self.inventory.pools if (candidate.driver, candidate.name) == offer.id[:2]
            )
            left = {
                (group, key): amount for group, counters in pool.counters.items() for key, amount in counters.items()
            }
            for other in (device for _, offers in pool.offers for device in offers if self.allocated.has(device.id)):
                used: dict[tuple[str, str], int] = {}
                self._count(used, other, 1)
                for key, amount in used.items():
                    if key in left:
                        left[key] -= amount
            self._left[name] = left
        return self._left[name]

    def _keeps_constraints(self, picks: Sequence[Pick], pick: Pick) -> bool:
        """Return whether the claim's constraints allow the choice.

        Source: matchAttributeConstraint.add, distinctAttributeConstraint.add.
        """
        wanted, claim = pick.wanted, self.claims[pick.wanted.claim]
        for constraint in claim.spec.devices.constraints:
            if not _covers(constraint, wanted):
                continue
            same = constraint.match_attribute is not None
            name = (constraint.match_attribute if same else constraint.distinct_attribute) or ""
            value = pick.offer.attribute(name)
            others = [
                other.offer.attribute(name)
                for other in picks
                if other.wanted.claim == wanted.claim and _covers(constraint, other.wanted)
            ]
            if value is not None and all((value == other) == same for other in others):
                continue
            if wanted.everything:
                raise AllocationError(
                    f"claim {claim.key}, request {wanted.sub or wanted.request}: cannot add device {pick.offer.id} "
                    "because a claim constraint would not be satisfied"
                )
            return False
        return True

    def selects(self, wanted: Wanted, offer: Offer) -> bool:
        """Return whether class and request select the device; cached by device. Source: isSelectable."""
        key = (id(wanted), offer.id)  # `_requests` keeps the Wanted objects, so that an id is never used again
        found = self._selected.get(key)
        if found is None:
            if offer.device.binding_conditions and not self._enabled("DRADeviceBindingConditions"):
                return False
            of_class, claim = wanted.of_class, self.claims[wanted.claim]
            found = _match(f"class {of_class.name}", of_class.spec.selectors, offer)
            found = found and _match(f"claim {claim.key}", wanted.asked.selectors, offer)
            self._selected[key] = found
        return found

    def _result(self, number: int, claim: ResourceClaim, picks: Sequence[Pick], node: str) -> AllocationResult:
        mine = [pick for pick in picks if pick.wanted.claim == number]
        results = [_device_result(claim, place, pick) for place, pick in enumerate(mine)]
        chosen: dict[str, tuple[str, DeviceClass]] = {
            p.wanted.request: (p.wanted.name, p.wanted.of_class) for p in mine
        }
        return AllocationResult(
            devices=DeviceAllocationResult(results=results, config=configurations(claim, chosen)),
            node_selector=node_selector_of([pick.offer for pick in mine], node),
        )


def _covers(constraint: DeviceConstraint, wanted: Wanted) -> bool:
    return not constraint.requests or wanted.request in constraint.requests or wanted.name in constraint.requests


def _match(whose: str, selectors: Sequence[DeviceSelector], offer: Offer) -> bool:
    if not selectors:
        return True
    from kitlib.cel.device_selectors import CompileError, EvaluationError, compile_selector, subject

    for i, selector in enumerate(selectors):
        try:
            asked = compile_selector(selector.cel.expression if selector.cel is not None else "")
        except CompileError as error:
            raise AllocationError(f"{whose}: selector #{i}: CEL compile error: {error}") from error
        try:
            if not asked(subject(offer.device, offer.id.driver)):
                return False
        except EvaluationError as error:
            raise AllocationError(f"{whose}: selector #{i}: CEL runtime error: {error}") from error
    return True


def _device_result(claim: ResourceClaim, place: int, pick: Pick) -> DeviceRequestAllocationResult:
    shared = pick.consumes is not None
    # kube-scheduler's share IDs are random; these are the same on every run
    share = uuid.uuid5(uuid.NAMESPACE_OID, f"{claim.metadata.uid or claim.key}/{place}/{pick.offer.id}")
    return DeviceRequestAllocationResult(
        request=pick.wanted.name,
        driver=pick.offer.id.driver,
        pool=pick.offer.id.pool,
        device=pick.offer.id.device,
        admin_access=True if pick.wanted.admin else None,
        tolerations=list(pick.wanted.asked.tolerations),
        share_id=str(share) if shared else None,
        consumed_capacity=dict(pick.consumes or {}) if shared else {},
        binding_conditions=list(pick.offer.device.binding_conditions),
        binding_failure_conditions=list(pick.offer.device.binding_failure_conditions),
    )
