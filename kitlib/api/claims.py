"""Which claims a pod means, and who may use a claim: the small rules that scheduler, controller and kubelet share.

Source: k8s.io/dynamic-resource-allocation/resourceclaim (claim.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kitlib.api.core import Pod, PodResourceClaim
from kitlib.api.devices import (
    FINALIZER,
    DeviceSubRequest,
    DeviceTaint,
    DeviceTaintRule,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimConsumerReference,
)
from kitlib.api.errors import KitError
from kitlib.api.serialize import deepcopy

Asked = ExactDeviceRequest | DeviceSubRequest


class ClaimError(KitError):
    """A pod's claim cannot be used (yet); the text is Kubernetes'."""


class NotCreatedYet(ClaimError):
    """The claim of a template is not there yet. Source: ErrClaimNotFound."""


def claim_name(pod: Pod, wanted: PodResourceClaim) -> tuple[str | None, bool]:
    """Name of the ResourceClaim behind an entry of `spec.resourceClaims`, and whether the pod must own it.

    Returns:
        None as the name where no claim is needed.

    Raises:
        NotCreatedYet: the controller has not made it.
        ClaimError: the entry names neither a claim nor a template.

    Source: resourceclaim.Name.
    """
    if wanted.resource_claim_name is not None:
        return wanted.resource_claim_name, False
    if wanted.resource_claim_template_name is not None:
        for status in pod.status.resource_claim_statuses:
            if status.name == wanted.name:
                return status.resource_claim_name, True
        raise NotCreatedYet(f'pod "{pod.key}": ResourceClaim not created yet')
    raise ClaimError(f'pod "{pod.key}", spec.resourceClaim "{wanted.name}": none of the supported fields are set')


def claims_of(pod: Pod, find: Callable[[str, str], ResourceClaim | None]) -> Iterator[tuple[str, ResourceClaim]]:
    """A pod's claims: the name in the pod, and the object.

    Args:
        find: (namespace, name) -> claim, or None.

    Raises:
        ClaimError: one is missing, on its way out, or another pod's.

    Source: DynamicResources.foreachPodResourceClaim.
    """
    for wanted in pod.spec.resource_claims:
        name, must_own = claim_name(pod, wanted)
        if name is None:
            continue
        claim = find(pod.metadata.namespace, name)
        if claim is None:
            raise ClaimError(f'could not find ResourceClaim "{pod.metadata.namespace}/{name}"')
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimError(f'resourceclaim "{claim.name}" is being deleted')
        if must_own and not is_for_pod(claim, pod):
            raise ClaimError(
                f"ResourceClaim {claim.key} was not created for Pod {pod.key} (Pod is not owner)",
            )
        yield wanted.name, claim


def is_for_pod(claim: ResourceClaim, pod: Pod) -> bool:
    """Whether the claim was made for this very pod. Source: resourceclaim.IsForPod."""
    owned = any(ref.controller and ref.uid == pod.metadata.uid for ref in claim.metadata.owner_references)
    return owned and claim.namespace == pod.namespace


def owning_pod(claim: ResourceClaim) -> tuple[str, str]:
    """Name and UID of the pod that the claim was made for; two empty texts where a user made it."""
    for ref in claim.metadata.owner_references:
        if ref.controller and ref.api_version == "v1" and ref.kind == "Pod":
            return ref.name, ref.uid
    return "", ""


def is_reserved_for(claim: ResourceClaim, pod: Pod) -> bool:
    """Whether the pod is among those that the claim is reserved for. Source: resourceclaim.IsReservedForPod."""
    return any(user.uid == pod.metadata.uid for user in claim.status.reserved_for)


def reserved(claim: ResourceClaim, pod: Pod) -> ResourceClaim:
    """A copy that is reserved for the pod too."""
    made = deepcopy(claim)
    user = ResourceClaimConsumerReference(resource="pods", name=pod.name, uid=pod.metadata.uid)
    made.status.reserved_for = [*made.status.reserved_for, user]
    return made


def without_users(claim: ResourceClaim, *uids: str) -> ResourceClaim:
    """A copy without these users; one that nobody uses any more is deallocated. Source: Controller.syncClaim."""
    made = deepcopy(claim)
    made.status.reserved_for = [user for user in made.status.reserved_for if user.uid not in uids]
    return made if made.status.reserved_for else deallocated(made)


def deallocated(claim: ResourceClaim) -> ResourceClaim:
    """A copy that nobody uses and that has no devices."""
    made = deepcopy(claim)
    made.status.reserved_for, made.status.allocation, made.status.devices = [], None, []
    made.metadata.finalizers = [name for name in made.metadata.finalizers if name != FINALIZER]
    return made


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """Whether a request's toleration covers a device's taint. Source: resourceclaim.ToleratesTaint."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    return toleration.operator == "Exists" or (toleration.operator in ("", "Equal") and toleration.value == taint.value)


def rule_matches(rule: DeviceTaintRule, driver: str, pool: str, device: str) -> bool:
    """Whether an administrator's rule taints a device; one without a selector taints none.

    Source: devicetainteviction ruleMatchesDevice.
    """
    selector = rule.spec.device_selector
    if selector is None:
        return False
    wanted = ((selector.driver, driver), (selector.pool, pool), (selector.device, device))
    return all(said is None or said == given for said, given in wanted)


def repels(taint: DeviceTaint) -> bool:
    """Whether a taint keeps the device from being allocated; `None` and unknown effects only inform."""
    return taint.effect in ("NoSchedule", "NoExecute")


def asked_for(claim: ResourceClaim) -> Iterator[tuple[str, Asked]]:
    """Every request and subrequest of a claim with its name (`name`, `name/subrequest`)."""
    for request in claim.spec.devices.requests:
        if request.exactly is not None:
            yield request.name, request.exactly
        for one in request.first_available:
            yield f"{request.name}/{one.name}", one
