"""Creation and deletion of a StatefulSet's pods and their claims.

Source: pkg/controller/statefulset/stateful_pod_control.go (CreateStatefulPod, DeleteStatefulPod, recordPodEvent,
recordClaimEvent, createPersistentVolumeClaims, UpdatePodClaimForRetentionPolicy).
"""

from __future__ import annotations

from kitlib.api.apps import StatefulSet
from kitlib.api.core import PersistentVolumeClaim, Pod
from kitlib.api.errors import AlreadyExists, KitError, NotFound
from kitlib.api.meta import KubeObject, OwnerReference
from kitlib.api.serialize import deepcopy
from kitlib.controllers.controller import Controller
from kitlib.controllers.statefulset.utils import (
    POD_NAME,
    claims_of,
    identity_of,
    ordinal_of,
    ordinals_of,
    put_storage,
    storage_matches,
)

DELETE, RETAIN = "Delete", "Retain"


def create_stateful_pod(controller: Controller, stateful_set: StatefulSet, pod: Pod) -> None:
    """Create the pod's claims, then the pod.

    Raises:
        KitError: the API server rejected one of them.
    """
    try:
        create_claims(controller, stateful_set, pod)
        controller.api.create(pod)
    except AlreadyExists:
        raise
    except KitError as error:
        _pod_event(controller, stateful_set, "Create", pod, error)
        raise
    _pod_event(controller, stateful_set, "Create", pod, None)


def update_stateful_pod(controller: Controller, stateful_set: StatefulSet, pod: Pod) -> None:
    """Restore the labels and the volumes that identify a pod of the set.

    Raises:
        KitError: the API server rejected the update, as it does for changed volumes.

    Source: UpdateStatefulPod, identityMatches, storageMatches.
    """
    ordinal = ordinal_of(pod, stateful_set.name)
    known, stored = pod.metadata.labels.get(POD_NAME) == pod.name, storage_matches(pod, stateful_set, ordinal)
    if known and stored:
        return
    changed = deepcopy(pod)
    changed.metadata.labels |= identity_of(pod.name, ordinal) if not known else {}
    if not stored:
        put_storage(changed, stateful_set, ordinal)
    try:
        if not stored:
            create_claims(controller, stateful_set, pod)
        controller.api.update(changed)
    except KitError as error:
        _pod_event(controller, stateful_set, "Update", pod, error)
        raise
    _pod_event(controller, stateful_set, "Update", pod, None)


def delete_stateful_pod(controller: Controller, stateful_set: StatefulSet, pod: Pod) -> None:
    """Delete the pod and record an event on the set.

    Raises:
        KitError: the API server rejected the deletion.
    """
    try:
        controller.api.delete(Pod, pod.name, pod.namespace, grace=None)
    except NotFound:
        return
    except KitError as error:
        _pod_event(controller, stateful_set, "Delete", pod, error)
        raise
    _pod_event(controller, stateful_set, "Delete", pod, None)


def _pod_event(controller: Controller, stateful_set: StatefulSet, verb: str, pod: Pod, error: KitError | None) -> None:
    if error is None:
        message = f"{verb} Pod {pod.name} in StatefulSet {stateful_set.name} successful"
        controller.event(stateful_set, "Normal", f"Successful{verb}", message)
    else:
        message = f"{verb} Pod {pod.name} in StatefulSet {stateful_set.name} failed error: {error}"
        controller.event(stateful_set, "Warning", f"Failed{verb}", message)


def create_claims(controller: Controller, stateful_set: StatefulSet, pod: Pod) -> None:
    """Create all missing claims of the pod, even if one of them fails.

    Raises:
        KitError: some claims could not be created; the text has all reasons.

    Source: createPersistentVolumeClaims, recordClaimEvent.
    """
    wrong = []
    for claim in claims_of(stateful_set, ordinal_of(pod, stateful_set.name)):
        standing = controller.api.store.find(PersistentVolumeClaim, claim.name, claim.namespace, copy=False)
        if standing is not None:
            # The name is fixed, so the pod must wait until the old claim is gone.
            if standing.metadata.deletion_timestamp is not None:
                wrong.append(f"pvc {claim.name} is being deleted")
            continue
        what = f"Claim {claim.name} Pod {pod.name} in StatefulSet {stateful_set.name}"
        try:
            controller.api.create(claim)
        except KitError as error:
            wrong.append(f"failed to create PVC {claim.name}: {error}")
            controller.event(stateful_set, "Warning", "FailedCreate", f"Create {what} failed error: {error}")
        else:
            controller.event(stateful_set, "Normal", "SuccessfulCreate", f"Create {what} success")
    if wrong:
        raise KitError(wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]")


def has_stale_claims(controller: Controller, stateful_set: StatefulSet, pod: Pod) -> bool:
    """Return whether a claim belongs to an earlier pod of this name. Source: PodClaimIsStale."""
    for claim in claims_of(stateful_set, ordinal_of(pod, stateful_set.name)):
        standing = controller.api.store.find(PersistentVolumeClaim, claim.name, claim.namespace, copy=False)
        if standing is not None and any(
            ref.kind == "Pod" and ref.name == pod.name and ref.uid != pod.metadata.uid
            for ref in standing.metadata.owner_references
        ):
            return True
    return False


def update_claims_for_retention(controller: Controller, stateful_set: StatefulSet, pod: Pod) -> None:
    """Set the owner of the claims to the set, the pod or none, so that they are deleted as the policy demands.

    Source: updateClaimOwnerRefForSetAndPod.
    """
    policy = stateful_set.spec.persistent_volume_claim_retention_policy
    deleted = policy.when_deleted if policy is not None else RETAIN
    scaled = policy.when_scaled if policy is not None else RETAIN
    condemned = ordinal_of(pod, stateful_set.name) not in ordinals_of(stateful_set)
    owner: KubeObject | None = None
    # The garbage collector deletes the claims after their owner: after the condemned pod, or after the set.
    if scaled == DELETE and condemned:
        owner = pod
    elif deleted == DELETE:
        owner = stateful_set
    for claim in claims_of(stateful_set, ordinal_of(pod, stateful_set.name)):
        standing = controller.api.store.find(PersistentVolumeClaim, claim.name, claim.namespace, copy=False)
        if standing is None:
            continue
        uids = {stateful_set.metadata.uid, pod.metadata.uid}
        kept = [ref for ref in standing.metadata.owner_references if ref.uid not in uids]
        wanted = kept + ([_reference(owner)] if owner is not None else [])
        if wanted != standing.metadata.owner_references:
            changed = deepcopy(standing)
            changed.metadata.owner_references = wanted
            controller.api.store.update(changed)


def _reference(owner: KubeObject) -> OwnerReference:
    return OwnerReference(
        api_version=owner.api_version,
        kind=owner.kind,
        name=owner.name,
        uid=owner.metadata.uid,
        controller=owner.kind == "StatefulSet",
        block_owner_deletion=owner.kind == "StatefulSet",
    )
