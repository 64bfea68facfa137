"""The ReplicaSets of a Deployment: creation, revisions, scaling, cleanup, status.

Source: pkg/controller/deployment/sync.go (getAllReplicaSetsAndSyncRevision, getNewReplicaSet, scale, scaleReplicaSet,
cleanupDeployment, calculateStatus, isScalingEvent).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kitlib.api.apps import Deployment, ReplicaSet, ReplicaSetSpec
from kitlib.api.errors import AlreadyExists, KitError
from kitlib.api.meta import LabelSelector, ObjectMeta
from kitlib.api.numbers import MAX_INT32
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.store.store import age
from kitlib.controllers.controller import Controller
from kitlib.controllers.deployment.util import (
    DESIRED_REPLICAS,
    HASH,
    MAX_REPLICAS,
    REVISION,
    REVISION_HISTORY,
    SKIPPED_ANNOTATIONS,
    active_or_latest,
    active_sets,
    actual_count,
    find_new_replica_set,
    get_proportion,
    has_progress_deadline,
    is_rolling_update,
    is_saturated,
    max_surge,
    max_unavailable,
    new_condition,
    new_rs_new_replicas,
    number_of,
    replica_count,
    replicas_of,
    revision_of,
    set_condition,
    status_of,
    terminating_count,
)
from kitlib.controllers.pod_control import is_namespace_terminating, owner_reference
from kitlib.controllers.template_hash import template_hash
from kitlib.controllers.workload_status import find_condition


class Sets(NamedTuple):
    """The sets of a Deployment: `new` has its template (None = not created yet), `old` are the others, oldest first."""

    new: ReplicaSet | None
    old: list[ReplicaSet]

    @property
    def all(self) -> list[ReplicaSet]:
        return [*self.old, *([self.new] if self.new is not None else [])]


def sync_revision(
    controller: Controller, deployment: Deployment, sets: Sequence[ReplicaSet], *, create: bool
) -> tuple[Deployment, Sets]:
    """Update revisions and annotations of a Deployment's sets, and create the new set if requested.

    Args:
        controller: the controller that writes.
        deployment: the Deployment.
        sets: all sets that it controls.
        create: whether to create a missing new set.

    Returns:
        The stored Deployment, and its sets.

    Source: getAllReplicaSetsAndSyncRevision, getNewReplicaSet.
    """
    newest = find_new_replica_set(deployment, sets)
    old = sorted(
        (replica_set for replica_set in sets if newest is None or replica_set.metadata.uid != newest.metadata.uid),
        key=age,
    )
    revision = max(map(revision_of, old), default=0) + 1
    if newest is not None:
        changed = deepcopy(newest)
        annotate(deployment, changed, revision)
        changed.spec.min_ready_seconds = deployment.spec.min_ready_seconds
        if changed.metadata.annotations != newest.metadata.annotations or changed.spec != newest.spec:
            newest = controller.api.update(changed)
        conditions = list(deployment.status.get("conditions", ()))
        if has_progress_deadline(deployment) and find_condition(conditions, "Progressing") is None:
            found = f'Found new replica set "{newest.name}"'
            conditions = set_condition(
                conditions, new_condition("Progressing", "True", "FoundNewReplicaSet", found, controller.now())
            )
        deployment = _write(controller, deployment, newest.metadata.annotations[REVISION], conditions)
    elif create:
        deployment, newest = _create(controller, deployment, old, revision)
    return deployment, Sets(newest, old)


def _create(
    controller: Controller, deployment: Deployment, old: list[ReplicaSet], revision: int
) -> tuple[Deployment, ReplicaSet]:
    made = new_replica_set(deployment, old, revision)
    conditions = list(deployment.status.get("conditions", ()))
    now = controller.now()
    try:
        newest = controller.api.create(made)
    except AlreadyExists as error:  # a hash collision: another object has the name
        # The new count changes the hash of the next attempt.
        changed = deepcopy(deployment)
        changed.status = {**changed.status, "collisionCount": status_of(deployment, "collisionCount") + 1}
        controller.api.update_status(changed)
        raise error
    except KitError as error:
        if not is_namespace_terminating(error):
            message = f'Failed to create new replica set "{made.name}": {error}'
            if has_progress_deadline(deployment):
                failed = new_condition("Progressing", "False", "ReplicaSetCreateError", message, now)
                _write(controller, deployment, "", set_condition(conditions, failed))
            controller.event(deployment, "Warning", "ReplicaSetCreateError", message)
        raise
    size = replicas_of(newest)
    if size > 0:
        message = f"Scaled up replica set {newest.name} from 0 to {size}"
        controller.event(deployment, "Normal", "ScalingReplicaSet", message)
    if has_progress_deadline(deployment):
        created = f'Created new replica set "{newest.name}"'
        conditions = set_condition(
            conditions, new_condition("Progressing", "True", "NewReplicaSetCreated", created, now)
        )
    return _write(controller, deployment, str(revision), conditions), newest


def new_replica_set(deployment: Deployment, old: Sequence[ReplicaSet], revision: int) -> ReplicaSet:
    """Return the set for the Deployment's template, not yet created."""
    name = template_hash(deployment.spec.template, status_of(deployment, "collisionCount"))
    template = deepcopy(deployment.spec.template)
    template.metadata.labels = {**template.metadata.labels, HASH: name}
    selector = deepcopy(deployment.spec.selector) or LabelSelector()
    selector.match_labels = {**selector.match_labels, HASH: name}
    meta = ObjectMeta(
        name=f"{deployment.name}-{name}",
        namespace=deployment.namespace,
        labels=dict(template.metadata.labels),
        owner_references=[owner_reference(deployment)],
    )
    spec = ReplicaSetSpec(
        replicas=new_rs_new_replicas(deployment, old, None),
        min_ready_seconds=deployment.spec.min_ready_seconds,
        selector=selector,
        template=template,
    )
    made = ReplicaSet(metadata=meta, spec=spec)
    annotate(deployment, made, revision)
    _annotate_replicas(deployment, made)
    return made


def annotate(deployment: Deployment, replica_set: ReplicaSet, revision: int) -> None:
    """Copy the Deployment's annotations and set the revision, in place. Source: SetNewReplicaSetAnnotations."""
    annotations = replica_set.metadata.annotations
    copied = {k: v for k, v in deployment.metadata.annotations.items() if k not in SKIPPED_ANNOTATIONS}
    annotations = {**annotations, **copied}
    before = revision_of(replica_set)
    if before < revision:
        if REVISION in annotations:  # the set was current before: a rollback
            history = annotations.get(REVISION_HISTORY)
            annotations[REVISION_HISTORY] = f"{history},{before}" if history else str(before)
        annotations[REVISION] = str(revision)
    replica_set.metadata.annotations = annotations


def _annotate_replicas(deployment: Deployment, replica_set: ReplicaSet) -> None:
    """Source: SetReplicasAnnotations."""
    wanted = replicas_of(deployment)
    replica_set.metadata.annotations = {
        **replica_set.metadata.annotations,
        DESIRED_REPLICAS: str(wanted),
        MAX_REPLICAS: str(wanted + max_surge(deployment)),
    }


def _write(
    controller: Controller, deployment: Deployment, revision: str, conditions: list[dict[str, Any]]
) -> Deployment:
    """Store the Deployment's revision ("" = unchanged) and conditions."""
    annotations = deployment.metadata.annotations
    same = not revision or annotations.get(REVISION) == revision
    if same and conditions == deployment.status.get("conditions", []):
        return deployment
    changed = deepcopy(deployment)
    if revision:
        changed.metadata.annotations = {**annotations, REVISION: revision}
    changed.status = {**changed.status, "conditions": conditions} if conditions else changed.status
    stored: Deployment = controller.api.store.update(changed)
    return stored


def is_scaling_event(deployment: Deployment, sets: Sets) -> bool:
    """Return whether `replicas` has changed since an active set was scaled. Source: isScalingEvent."""
    desired = (number_of(replica_set, DESIRED_REPLICAS) for replica_set in active_sets(sets.all))
    return any(number is not None and number != replicas_of(deployment) for number in desired)


def scale(controller: Controller, deployment: Deployment, sets: Sets) -> None:
    """Scale the sets to a new total, during a rollout in proportion to their sizes. Source: scale."""
    only = active_or_latest(sets.new, sets.old)
    if only is not None:
        scale_replica_set(controller, deployment, only, replicas_of(deployment))
        return
    if is_saturated(deployment, sets.new):
        for replica_set in active_sets(sets.old):
            scale_replica_set(controller, deployment, replica_set, 0)
        return
    if not is_rolling_update(deployment):
        return
    active = active_sets(sets.all)
    wanted = replicas_of(deployment)
    allowed = wanted + max_surge(deployment) if wanted > 0 else 0
    to_add = allowed - replica_count(active)
    newer_first = -1 if to_add > 0 else 1  # BySizeNewer, BySizeOlder
    active.sort(key=lambda one: (-replicas_of(one), newer_first * age(one)))
    added, sizes = 0, []
    for replica_set in active:
        share = get_proportion(replica_set, deployment, to_add, added)
        sizes.append(replicas_of(replica_set) + share)
        added += share
    if sizes:
        # The shares are rounded; the largest set takes the rest, so that the sum is exact.
        sizes[0] = max(0, sizes[0] + to_add - added)
    for replica_set, size in zip(active, sizes, strict=True):
        scale_replica_set(controller, deployment, replica_set, size)


def scale_replica_set(controller: Controller, deployment: Deployment, replica_set: ReplicaSet, size: int) -> bool:
    """Set size and annotations of a set; return whether the size has changed. Source: scaleReplicaSet."""
    before = replicas_of(replica_set)
    changed = deepcopy(replica_set)
    changed.spec.replicas = size
    _annotate_replicas(deployment, changed)
    if before == size and changed.metadata.annotations == replica_set.metadata.annotations:
        return False
    controller.api.update(changed)
    if before == size:
        return False
    way = "up" if size > before else "down"
    message = f"Scaled {way} replica set {replica_set.name} from {before} to {size}"
    controller.event(deployment, "Normal", "ScalingReplicaSet", message)
    return True


def cleanup(controller: Controller, deployment: Deployment, old: Sequence[ReplicaSet]) -> None:
    """Delete the oldest revisions beyond `revisionHistoryLimit`. Source: cleanupDeployment."""
    limit = deployment.spec.revision_history_limit
    if limit is None or limit == MAX_INT32:
        return
    alive = [replica_set for replica_set in old if replica_set.metadata.deletion_timestamp is None]
    alive.sort(key=lambda replica_set: (revision_of(replica_set), age(replica_set)))
    for one in alive[: max(0, len(alive) - limit)]:
        # A status from before the last scaling may still report 0 pods.
        observed = status_of(one, "observedGeneration") >= (one.metadata.generation or 0)
        if status_of(one, "replicas") == 0 and replicas_of(one) == 0 and observed:
            controller.api.delete(ReplicaSet, one.name, one.namespace)


def calculate_status(controller: Controller, deployment: Deployment, sets: Sets) -> dict[str, Any]:
    """Return the status: the counts of all sets, and the condition Available. Source: calculateStatus."""
    now = controller.now()
    counts_terminating = controller.api.release.enabled("DeploymentReplicaSetTerminatingReplicas")
    newest = [sets.new] if sets.new is not None else []
    available = actual_count(sets.all, "availableReplicas")
    conditions = list(deployment.status.get("conditions", ()))
    if available >= replicas_of(deployment) - max_unavailable(deployment):
        message = "Deployment has minimum availability."
        found = new_condition("Available", "True", "MinimumReplicasAvailable", message, now)
    else:
        message = "Deployment does not have minimum availability."
        found = new_condition("Available", "False", "MinimumReplicasUnavailable", message, now)
    return {
        "observedGeneration": deployment.metadata.generation,
        "replicas": actual_count(sets.all),
        "updatedReplicas": actual_count(newest),
        "readyReplicas": actual_count(sets.all, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, replica_count(sets.all) - available),
        "terminatingReplicas": terminating_count(sets.all) if counts_terminating else None,
        "collisionCount": deployment.status.get("collisionCount"),
        "conditions": set_condition(conditions, found),
    }
