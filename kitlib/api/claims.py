"""The claims of a pod and the users of a claim: rules that the scheduler, the controller and the kubelet share.

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
    """A claim that a pod cannot use, or not yet; the text is Kubernetes' own."""


class NotCreatedYet(ClaimError):
    """A claim of a template that the controller has not created yet. Source: ErrClaimNotFound."""


def claim_name(pod: Pod, wanted: PodResourceClaim) -> tuple[str | None, bool]:
    """Return the name of the ResourceClaim of an entry of `spec.resourceClaims`, and whether the pod must own it.

    Returns:
        The name, None where the entry needs no claim; and whether the claim must belong to the pod.

    Raises:
        NotCreatedYet: the controller has not created the claim.
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
    """Yield a pod's claims, each as the name in the pod and the object.

    Args:
        pod: the pod with the claims.
        find: returns the claim of a namespace and name, or None.

    Raises:
        ClaimError: a claim is missing, is being deleted, or belongs to another pod.

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
    """Return whether the claim was created for this pod, compared by UID. Source: resourceclaim.IsForPod."""
    owned = any(ref.controller and ref.uid == pod.metadata.uid for ref in claim.metadata.owner_references)
    return owned and claim.namespace == pod.namespace


def owning_pod(claim: ResourceClaim) -> tuple[str, str]:
    """Return name and UID of the pod that the claim was created for; ("", "") for a claim that a user created."""
    for ref in claim.metadata.owner_references:
        if ref.controller and ref.api_version == "v1" and ref.kind == "Pod":
            return ref.name, ref.uid
    return "", ""


def is_reserved_for(claim: ResourceClaim, pod: Pod) -> bool:
    """Return whether `status.reservedFor` has the pod. Source: resourceclaim.IsReservedForPod."""
    return any(user.uid == pod.metadata.uid for user in claim.status.reserved_for)


def reserved(claim: ResourceClaim, pod: Pod) -> ResourceClaim:
    """Return a copy of the claim whose `status.reservedFor` has the pod too."""
    made = deepcopy(claim)
    user = ResourceClaimConsumerReference(resource="pods", name=pod.name, uid=pod.metadata.uid)
    made.status.reserved_for = [*made.status.reserved_for, user]
    return made


def without_users(claim: ResourceClaim, *uids: str) -> ResourceClaim:
    """Return a copy without these users, deallocated if no user is left. Source: Controller.syncClaim."""
    made = deepcopy(claim)
    made.status.reserved_for = [user for user in made.status.reserved_for if user.uid not in uids]
    return made if made.status.reserved_for else deallocated(made)


def deallocated(claim: ResourceClaim) -> ResourceClaim:
    """Return a copy without users, allocation, device status and the finalizer of allocated claims."""
    made = deepcopy(claim)
    made.status.reserved_for, made.status.allocation, made.status.devices = [], None, []
    made.metadata.finalizers = [name for name in made.metadata.finalizers if name != FINALIZER]
    return made


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """Return whether a request's toleration covers a device's taint. Source: resourceclaim.ToleratesTaint."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    return toleration.operator == "Exists" or (toleration.operator in ("", "Equal") and toleration.value == taint.value)


def rule_matches(rule: DeviceTaintRule, driver: str, pool: str, device: str) -> bool:
    """Return whether an administrator's rule taints a device; a rule without a selector taints none.

    Source: devicetainteviction ruleMatchesDevice.
    """
    selector = rule.spec.device_selector
    if selector is None:
        return False
    wanted = ((selector.driver, driver), (selector.pool, pool), (selector.device, device))
    return all(said is None or said == given for said, given in wanted)


def repels(taint: DeviceTaint) -> bool:
    """Return whether a taint prevents the device's allocation; the effect `None` and unknown effects do not."""
    return taint.effect in ("NoSchedule", "NoExecute")


def asked_for(claim: ResourceClaim) -> Iterator[tuple[str, Asked]]:
    """Yield every request and subrequest of a claim with its name (`name`, `name/subrequest`)."""
    for request in claim.spec.devices.requests:
        if request.exactly is not None:
            yield request.name, request.exactly
        for one in request.first_available:
            yield f"{request.name}/{one.name}", one
