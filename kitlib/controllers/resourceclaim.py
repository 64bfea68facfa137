"""ResourceClaims: created from templates for pods, released when pods end, deallocated after their last user.

A pod that was bound without the scheduler also reserves its claims, if they are allocated already.

Source: pkg/controller/resourceclaim (syncPod, handleClaim, syncClaim); pkg/controller/garbagecollector for claims whose
pod is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.claims import (
    ClaimError,
    NotCreatedYet,
    claim_name,
    deallocated,
    is_for_pod,
    is_reserved_for,
    owning_pod,
    reserved,
    without_users,
)
from kitlib.api.core import TERMINAL_PHASES, Pod, PodExtendedResourceClaimStatus, PodResourceClaim
from kitlib.api.devices import FINALIZER, MAX_USERS, ResourceClaim, ResourceClaimStatus, ResourceClaimTemplate
from kitlib.api.errors import Forbidden, Invalid, KitError
from kitlib.api.meta import ObjectMeta, OwnerReference
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.controllers.controller import Controller, Handler, Key, Retry
from kitlib.controllers.informers import Delta

POD_CLAIM = "resource.kubernetes.io/pod-claim-name"
"""The annotation with the pod's entry that a claim was created for. Source: podResourceClaimAnnotation."""
_LONGEST = 57  # room for the hyphen and the five letters that the server adds


class ResourceClaimController(Controller):
    """The controller of claims and of pods with claims; keys begin with the kind."""

    name: ClassVar[str] = "resource-claim-controller"

    def handlers(self) -> Mapping[str, Handler]:
        if not self.api.release.enabled("DynamicResourceAllocation"):
            return {}
        return {"Pod": self._on_pod, "ResourceClaim": self._on_claim}

    def _on_pod(self, change: Delta) -> None:
        """Source: enqueuePod."""
        for pod in (change.old, change.new):
            if isinstance(pod, Pod) and _has_claims(pod):
                self.queue.add(("Pod", pod.namespace, pod.name))
                for wanted in (*pod.spec.resource_claims, *pod.status.resource_claim_statuses):
                    if wanted.resource_claim_name:
                        self.queue.add(("ResourceClaim", pod.namespace, wanted.resource_claim_name))
                for claim in self.informers.owned(pod, "ResourceClaim"):
                    self.queue.add(("ResourceClaim", claim.namespace, claim.name))
        uid = change.new.metadata.uid
        if change.type == "DELETED":  # other claims that are reserved for the pod
            for claim in self.informers.of_namespace("ResourceClaim", change.new.namespace):
                if isinstance(claim, ResourceClaim) and any(user.uid == uid for user in claim.status.reserved_for):
                    self.queue.add(("ResourceClaim", claim.namespace, claim.name))

    def _on_claim(self, change: Delta) -> None:
        """Source: onResourceClaimAddOrUpdate, onResourceClaimDelete."""
        claim = change.new
        if change.type != "DELETED":
            self.queue.add(("ResourceClaim", claim.namespace, claim.name))
        for pod in self.informers.of_namespace("Pod", claim.namespace):
            if isinstance(pod, Pod) and pod.spec.resource_claims:
                self.queue.add(("Pod", pod.namespace, pod.name))

    def sync(self, key: Key) -> None:
        """Create or reserve a pod's claims, or release a claim that its pods no longer need. Source: syncHandler."""
        if key[0] == "ResourceClaim":
            claim = self.find(ResourceClaim, key)
            if claim is not None:
                _sync_claim(self, claim)
            return
        pod = self.find(Pod, key)
        if pod is None or pod.metadata.deletion_timestamp is not None or is_done(pod):
            return
        if pod.spec.resource_claims:
            _sync_pod(self, pod)


def _has_claims(pod: Pod) -> bool:
    status = pod.status
    return bool(pod.spec.resource_claims or status.resource_claim_statuses or status.extended_resource_claim_status)


def is_done(pod: Pod) -> bool:
    """Return whether none of the pod's containers runs or will run. Source: isPodDone."""
    if pod.status.phase in TERMINAL_PHASES:
        return True
    return pod.metadata.deletion_timestamp is not None and not pod.spec.node_name


def _sync_pod(controller: Controller, pod: Pod) -> None:
    """Source: syncPod."""
    api = controller.api
    made: dict[str, str] = {}
    failure = ""
    for wanted in pod.spec.resource_claims:
        try:
            name = _claim_for(api, pod, wanted)
        except KitError as error:
            failure = f"PodResourceClaim {wanted.name}: {error}"
            controller.event(pod, "Warning", "FailedResourceClaimCreation", failure)
            continue
        if name:
            made[wanted.name] = name
    if made:
        changed = deepcopy(api.store.get(Pod, pod.name, pod.namespace))
        kept = [status for status in changed.status.resource_claim_statuses if status.name not in made]
        new = [PodResourceClaim(name=entry, resource_claim_name=name) for entry, name in made.items()]
        changed.status.resource_claim_statuses = [*kept, *new]
        pod = api.update_status(changed)
    if pod.spec.node_name:
        _reserve(api, pod)
    if failure:
        raise Retry(failure)


def _claim_for(api: APIServer, pod: Pod, wanted: PodResourceClaim) -> str:
    """Create the claim for an entry and return its name; "" if one exists. Source: handleClaim."""
    try:
        name, must_own = claim_name(pod, wanted)
    except NotCreatedYet:
        name, must_own = "", True
    if name is None or wanted.resource_claim_template_name is None:
        return ""
    claim = api.store.find(ResourceClaim, name, pod.namespace, copy=False) if name else None
    if claim is not None and (not must_own or is_for_pod(claim, pod)):
        return ""
    # A sync that stopped between creating the claim and updating the pod's status has left a claim without a reference.
    for orphan in api.store.list(ResourceClaim, pod.namespace, copy=False):
        if is_for_pod(orphan, pod) and orphan.metadata.annotations.get(POD_CLAIM) == wanted.name:
            return str(orphan.name)
    template = api.store.find(ResourceClaimTemplate, wanted.resource_claim_template_name, pod.namespace)
    if template is None:
        missing = wanted.resource_claim_template_name
        raise ClaimError(
            f'resource claim template "{missing}": resourceclaimtemplate.resource.k8s.io "{missing}" not found'
        )
    try:
        return api.create(claim_from(template, pod, wanted.name)).name
    except (Forbidden, Invalid) as refused:
        raise ClaimError(f"create ResourceClaim : {refused}") from refused


def claim_from(template: ResourceClaimTemplate, pod: Pod, entry: str) -> ResourceClaim:
    """Return a new claim of a template for one entry of a pod, its owner; the server completes the name."""
    prefix = f"{pod.name}-{entry}-"
    if len(prefix) > _LONGEST:  # both parts are cut in proportion
        names = (name[: len(name) * _LONGEST // len(prefix)] for name in (pod.name, entry))
        prefix = "-".join(names)
    meta = ObjectMeta(
        generate_name=prefix,
        namespace=pod.namespace,
        labels=dict(template.spec.metadata.labels),
        annotations={**template.spec.metadata.annotations, POD_CLAIM: entry},
        owner_references=[
            OwnerReference(
                api_version="v1",
                kind="Pod",
                name=pod.name,
                uid=pod.metadata.uid,
                controller=True,
                block_owner_deletion=True,
            )
        ],
    )
    return ResourceClaim(metadata=meta, spec=deepcopy(template.spec.spec))


def _reserve(api: APIServer, pod: Pod) -> None:
    """Reserve the allocated claims of a bound pod, whether the scheduler has bound it or not."""
    for wanted in pod.spec.resource_claims:
        try:
            name, must_own = claim_name(pod, wanted)
        except ClaimError:
            continue
        claim = api.store.find(ResourceClaim, name or "", pod.namespace, copy=False)
        if claim is None or claim.status.allocation is None or (must_own and not is_for_pod(claim, pod)):
            continue
        if not is_reserved_for(claim, pod) and len(claim.status.reserved_for) < MAX_USERS:
            api.update_status(reserved(claim, pod))


def _sync_claim(controller: Controller, claim: ResourceClaim) -> None:
    """Source: syncClaim."""
    api = controller.api

    def is_finished(uid: str) -> bool:
        pod = controller.informers.get(uid)
        return not isinstance(pod, Pod) or is_done(pod)

    gone = [user.uid for user in claim.status.reserved_for if is_finished(user.uid)]
    if gone:
        claim = _put(api, without_users(claim, *gone))
    if claim.status.reserved_for:
        return
    _, owner = owning_pod(claim)
    orphaned = owner and is_finished(owner)
    if orphaned or claim.metadata.deletion_timestamp is not None:
        _put(api, deallocated(claim))
        api.delete(ResourceClaim, claim.name, claim.namespace)


def _put(api: APIServer, claim: ResourceClaim) -> ResourceClaim:
    """Write status and finalizers of a claim; its other fields never change."""
    standing = api.store.get(ResourceClaim, claim.name, claim.namespace)
    standing.status, standing.metadata.finalizers = claim.status, list(claim.metadata.finalizers)
    return api.store.update(standing)


def put_allocation(api: APIServer, claim: ResourceClaim) -> ResourceClaim:
    """Write the scheduler's allocation of a claim, with a finalizer that prevents deletion while it is in use."""
    made = deepcopy(claim)
    if made.status.allocation is not None and FINALIZER not in made.metadata.finalizers:
        made.metadata.finalizers = [*made.metadata.finalizers, FINALIZER]
    return _put(api, made)


def make_extended_claim(api: APIServer, claim: ResourceClaim, status: PodExtendedResourceClaimStatus) -> ResourceClaim:
    """Create the scheduler's claim for a pod's extended resources, and put its name into the pod's status.

    Source: createExtendedResourceClaimInAPI, patchPodExtendedResourceClaimStatus.
    """
    made = deepcopy(claim)
    made.metadata.name, made.metadata.uid, made.status = "", "", ResourceClaimStatus()
    stored: ResourceClaim = api.create(made)
    pod: Pod = api.store.get(Pod, owning_pod(claim)[0], claim.namespace)
    status.resource_claim_name = stored.name
    pod.status.extended_resource_claim_status = status
    api.update_status(pod)
    return stored


def remove_extended_claim(api: APIServer, claim: ResourceClaim) -> None:
    """Delete a claim for extended resources that is not needed. Source: deleteClaim."""
    standing = api.store.find(ResourceClaim, claim.name, claim.namespace)
    if standing is not None:
        _put(api, deallocated(standing))
        api.delete(ResourceClaim, claim.name, claim.namespace)
