"""DynamicResources: a pod runs on a node on which its claims can be used, and claims without devices get some there.

PreEnqueue waits for claims that do not exist. Filter accepts nodes that reach the devices of allocated claims, and on
which the allocator finds devices for the other claims. Reserve records these devices, PreBind writes them into the
claims. PostFilter deallocates a claim that no other pod uses and whose devices are out of reach.

`book` is the DRAManager: the claims, classes and slices, and in `pending` the allocations between Reserve and PreBind,
whose devices count as taken. A pod with extended resources has one more claim, in memory until PreBind creates it.

Source: plugins/dynamicresources (dynamicresources.go); KEP-4381, KEP-5007; extended resources: `extended.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kitlib.api.claims import ClaimError, asked_for, claims_of, deallocated, is_reserved_for, reserved
from kitlib.api.core import Node, Pod, PodExtendedResourceClaimStatus
from kitlib.api.devices import MAX_SUBREQUESTS, MAX_USERS, ResourceClaim
from kitlib.api.serialize import deepcopy
from kitlib.scheduler.framework.dra_manager import DRAManager
from kitlib.scheduler.framework.plugin import (
    SKIP,
    Context,
    FailedCycle,
    PreFilterResult,
    Scores,
    default_normalize,
)
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.post_filter import NOOP, PostFilterResult
from kitlib.scheduler.framework.status import SUCCESS, Code, Rows, Status, Verdicts
from kitlib.scheduler.plugins.descriptions import DynamicResourcesDescription

if TYPE_CHECKING:  # the search for devices is loaded with the first pod that may ask for some
    from kitlib.scheduler.plugins.dynamicresources.state import ClaimState

NAME = "DynamicResources"
NOTHING_TO_FREE, FREED, STILL_NOT = (
    "no new claims to deallocate",
    "deallocation of ResourceClaim completed",
    "still not schedulable",
)
_NOTHING = PreFilterResult(SKIP)


class DynamicResources(DynamicResourcesDescription):
    """The plugin that finds devices for a pod's claims."""

    def pre_enqueue_in(self, pod: Pod, context: Context) -> Status:
        """Return whether the pod's claims exist."""
        if not pod.spec.resource_claims or not context.release.enabled("DynamicResourceAllocation"):
            return SUCCESS
        try:
            list(claims_of(pod, context.claims.find))
        except ClaimError as error:
            return Status(Code.UnschedulableAndUnresolvable, (str(error),), self.name)
        return SUCCESS

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        book = context.claims
        if not info.pod.spec.resource_claims and not book.classes:  # no class can serve an extended resource
            return _NOTHING
        from kitlib.scheduler.plugins.dynamicresources.allocator import Allocator
        from kitlib.scheduler.plugins.dynamicresources.claims import allocated, inventory
        from kitlib.scheduler.plugins.dynamicresources.extended import new_claim, standing_claim, wanted_resources
        from kitlib.scheduler.plugins.dynamicresources.state import ClaimState

        extended = wanted_resources(info.pod, book.classes, context.release)
        if not (info.pod.spec.resource_claims or extended) or not context.release.enabled("DynamicResourceAllocation"):
            return _NOTHING
        try:
            claims = [claim for _, claim in claims_of(info.pod, book.find)]
        except ClaimError as error:
            return _rejected(str(error))
        if not claims and not extended:  # no entry of resourceClaims has led to a claim
            return _NOTHING
        state = ClaimState(book, claims, wanted=extended)
        if extended:
            # the claim that a failed cycle has left in the API, else one in memory
            state.extended = standing_claim(info.pod, book.claims.values()) or new_claim(info.pod)
        waiting = [claim for claim in claims if claim.status.allocation is None]
        for claim in waiting:
            # another pod that shares the claim is between Reserve and PreBind. Source: inFlightAllocations
            if claim.metadata.uid in book.pending:
                return _rejected(f"resource claim {claim.key} is in the process of being allocated")
            for name, asked in asked_for(claim):
                # "request/subrequest"
                if "/" in name and not context.release.enabled("DRAPrioritizedList"):
                    request = name.partition("/")[0]
                    return _rejected(
                        f"resource claim {claim.key}, request {request}: has subrequests, but the DRAPrioritizedList "
                        "feature is disabled"
                    )
                if asked.device_class_name not in book.classes:
                    return _rejected(f"request {name}: device class {asked.device_class_name} does not exist")
        if waiting or extended:
            taken = allocated(book)
            # makes an allocator for given claims: those without devices, on some nodes with the extended claim
            state.make = lambda some: Allocator(some, inventory(book), book.classes, taken, context.release)
            state.allocator = state.make(waiting) if waiting else None
        return PreFilterResult(state)

    def filter(self, state: ClaimState, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        from kitlib.scheduler.plugins.dynamicresources.state import serve_on

        verdicts = Verdicts.passing(len(rows))
        for place, row in enumerate(rows):
            status = serve_on(state, info.pod, context.snapshot.nodes[row])
            if not status.ok:
                verdicts.reject_row(place, status.code, status.reasons)
                if status.code is Code.Error:  # ends the cycle, so the other rows do not matter
                    break
        return verdicts

    def pre_score(self, info: PodInfo, context: Context, rows: Rows) -> Any:
        state = _state(info)
        scored = state is not None and (state.allocator is not None or bool(state.selected))
        # The kit's own gate for the change: upstream scores since 1.35, without a gate of its own.
        return state if scored and context.release.enabled("KitPrioritizedListScores") else SKIP

    def score(self, state: ClaimState, info: PodInfo, context: Context, rows: Rows) -> Scores:
        """Return more points for nodes with alternatives that a claim names earlier.

        A request that gets its first alternative adds MAX_SUBREQUESTS points, each later alternative one point less.

        Source: computeScore.
        """
        from kitlib.scheduler.plugins.dynamicresources.state import allocator_on

        points = np.zeros(len(rows), np.int64)
        for place, row in enumerate(rows):
            name = context.snapshot.names[row]
            allocator = allocator_on(state, name)
            wanted = [claim.spec.devices.requests for claim in allocator.claims] if allocator is not None else []
            # not strict: a node may have no entry in `found`
            for requests, result in zip(wanted, state.found.get(name, ()), strict=False):
                served = {one.request for one in result.devices.results}
                for request in requests:
                    for i, sub in enumerate(request.first_available):
                        points[place] += (MAX_SUBREQUESTS - i) * (f"{request.name}/{sub.name}" in served)
        return points

    def normalize(self, state: ClaimState, scores: Scores) -> Scores:
        return default_normalize(scores)

    def post_filter(self, cycle: FailedCycle, info: PodInfo, context: Context) -> PostFilterResult:
        """Choose a claim to deallocate: one that no other pod uses and whose devices some nodes do not reach.

        Nothing is changed; `commit_post_filter` frees the claim. Upstream takes a random one, this is the first.
        """
        from kitlib.scheduler.plugins.dynamicresources.extended import IN_MEMORY
        from kitlib.scheduler.plugins.dynamicresources.state import ClaimState

        status = cycle.filters.status
        # Another plugin's PreFilter ended the cycle, so upstream's state is missing. Source: framework.ErrNotFound
        if not status.ok and status.plugin != self.name:
            return PostFilterResult(Code.Error, "not found", nominating_mode=NOOP)
        state = cycle.filters.states.get(self.name)
        if not isinstance(state, ClaimState):
            return PostFilterResult(Code.Unschedulable, NOTHING_TO_FREE, nominating_mode=NOOP)
        # left over from an earlier cycle: this claim is deleted, despite the text
        if state.extended is not None and state.extended.name != IN_MEMORY:
            return PostFilterResult(Code.Unschedulable, FREED, nominating_mode=NOOP, effect=state.extended)
        for claim in state.elsewhere:
            # also true without any user
            if all(user.uid == info.pod.metadata.uid for user in claim.status.reserved_for):
                return PostFilterResult(Code.Unschedulable, FREED, nominating_mode=NOOP, effect=claim)
        return PostFilterResult(Code.Unschedulable, STILL_NOT, nominating_mode=NOOP)

    def commit_post_filter(self, effect: ResourceClaim, info: PodInfo, context: Context) -> None:
        from kitlib.scheduler.plugins.dynamicresources.extended import ANNOTATION

        if effect.metadata.annotations.get(ANNOTATION) == "true":
            context.claims.discard(effect)
        else:
            context.claims.save(deallocated(effect))

    def reserve(self, info: PodInfo, node: Node) -> Status:
        """Record the devices as pending, so that no other pod gets them."""
        state = _state(info)
        if state is None:
            return SUCCESS
        from kitlib.scheduler.plugins.dynamicresources.state import allocator_on

        allocator = allocator_on(state, node.name)
        if allocator is None:
            return SUCCESS
        found = state.found.get(node.name)
        if found is None:
            return Status(Code.Error, ("claim allocation not found for node",), self.name)
        for claim, allocation in zip(allocator.claims, found, strict=True):
            made = deepcopy(claim)
            made.status.allocation = allocation
            state.book.pending[claim.metadata.uid] = made
        return SUCCESS

    def unreserve(self, info: PodInfo, node: Node) -> None:
        """Release pending devices, and remove reservations that are written.

        A written allocation stays, so the next cycle finds the same devices. Only the claim for extended resources is
        deleted as a whole.
        """
        state = _state(info)
        if state is None:
            return
        from kitlib.scheduler.plugins.dynamicresources.extended import standing_claim

        if state.extended is not None:
            state.book.pending.pop(state.extended.metadata.uid, None)
            made_for = standing_claim(info.pod, state.book.claims.values())
            if made_for is not None:
                state.book.discard(made_for)
        for claim in state.claims:
            state.book.pending.pop(claim.metadata.uid, None)
            standing = state.book.find(claim.namespace, claim.name)
            if standing is not None and standing.status.allocation is not None and is_reserved_for(standing, info.pod):
                made = deepcopy(standing)
                users = made.status.reserved_for
                made.status.reserved_for = [user for user in users if user.uid != info.pod.metadata.uid]
                state.book.save(made)

    def pre_bind(self, info: PodInfo, node: Node) -> Status:
        """Write the allocation and the reservation into the claims, and check the conditions of their devices.

        If a claim fails, those before it keep their allocation; Unreserve removes the reservations.

        Source: bindClaim.
        """
        state = _state(info)
        if state is None:
            return SUCCESS
        claims = list(state.claims)
        # On a node that is not selected, a device plugin offers the extended resources.
        if node.name in state.selected and state.extended is not None:
            variant, pending = state.selected[node.name], state.book.pending.pop(state.extended.metadata.uid, None)
            status = PodExtendedResourceClaimStatus(request_mappings=variant.mappings)
            # creates the claim; if there is an API, its name and the mappings are written into the pod's status, too
            created = state.book.make(variant.claim, status)
            # the claim in the API has a UID of its own, under which `_bind` looks for the pending allocation
            if pending is not None:
                state.book.pending[created.metadata.uid] = pending
            claims.append(created)
        for claim in claims:
            problem = self._bind(state.book, claim, info.pod)
            if problem:
                return Status(Code.Error, (problem,), self.name)
        for claim in claims:
            problem = unmet_conditions(state.book.find(claim.namespace, claim.name))
            if problem:
                return Status(Code.Unschedulable, (problem,), self.name)
        return SUCCESS

    def _bind(self, book: DRAManager, claim: ResourceClaim, pod: Pod) -> str:
        standing = book.find(claim.namespace, claim.name)
        pending = book.pending.pop(claim.metadata.uid, None)
        if standing is None or standing.metadata.deletion_timestamp is not None:
            return f"claim {claim.key} got deleted in the meantime"
        if is_reserved_for(standing, pod):  # and therefore allocated
            return ""
        if pending is not None and standing.status.allocation is not None:
            return f"claim {claim.key} got allocated elsewhere in the meantime"
        made = reserved(standing, pod)
        if pending is not None:
            made.status.allocation = pending.status.allocation
        # The validation of the API, which `save` does not run in a scheduler without one.
        if len(made.status.reserved_for) > MAX_USERS:
            what = "add allocation and reservation" if pending is not None else "add reservation"
            count = len(made.status.reserved_for)
            return (
                f'{what} to claim {claim.key}: ResourceClaim.resource.k8s.io "{claim.name}" is invalid: '
                f"status.reservedFor: Too many: {count}: must have at most {MAX_USERS} items"
            )
        book.save(made)
        return ""


def unmet_conditions(claim: ResourceClaim | None) -> str:
    """Return the condition that a claim's devices must report before the pod may be bound; "" = none is missing.

    kube-scheduler waits for the conditions in PreBind; here the pod is tried again when the claim changes.

    Source: dynamicresources.go isPodReadyForBinding; KEP-5007.
    """
    allocation = claim.status.allocation if claim is not None else None
    if claim is None or allocation is None:
        return ""
    states = {(one.driver, one.pool, one.device): one.conditions for one in claim.status.devices}
    for result in allocation.devices.results:
        conditions = states.get((result.driver, result.pool, result.device), [])
        met = {condition.type for condition in conditions if condition.status == "True"}
        failed = [name for name in result.binding_failure_conditions if name in met]
        waiting = [name for name in result.binding_conditions if name not in met]
        device = f"{result.driver}/{result.pool}/{result.device}"
        if failed:
            return f"claim {claim.key}: device {device} reports {failed[0]}"
        if waiting:
            return f"claim {claim.key}: device {device} does not report {waiting[0]} yet"
    return ""


def _state(info: PodInfo) -> ClaimState | None:
    # The state of this cycle; None if PreFilter was skipped or the pod has no claims.
    found = info.states.get(NAME) if info.states is not None else None
    if found is None or found is SKIP:
        return None
    from kitlib.scheduler.plugins.dynamicresources.state import ClaimState

    return found if isinstance(found, ClaimState) else None


def _rejected(reason: str) -> PreFilterResult:
    return PreFilterResult(status=Status(Code.UnschedulableAndUnresolvable, (reason,), NAME))
