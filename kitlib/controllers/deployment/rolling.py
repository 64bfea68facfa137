"""RollingUpdate: the new set grows as far as the surge allows, the old ones shrink as far as availability allows.

Source: pkg/controller/deployment/rolling.go (rolloutRolling, reconcileNewReplicaSet, reconcileOldReplicaSets,
cleanupUnhealthyReplicas, scaleDownOldReplicaSetsForRollingUpdate).
"""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.api.apps import Deployment, ReplicaSet
from kitlib.controllers.controller import Controller
from kitlib.controllers.deployment.progress import sync_rollout_status
from kitlib.controllers.deployment.sync import Sets, cleanup, scale_replica_set, sync_revision
from kitlib.controllers.deployment.util import (
    active_sets,
    actual_count,
    is_complete,
    max_unavailable,
    new_rs_new_replicas,
    replica_count,
    replicas_of,
    status_of,
)


def rollout_rolling(controller: Controller, deployment: Deployment, existing: Sequence[ReplicaSet]) -> None:
    """Perform the next step of the rollout. Source: rolloutRolling."""
    deployment, sets = sync_revision(controller, deployment, existing, create=True)
    if not reconcile_new_replica_set(controller, deployment, sets):
        scaled = reconcile_old_replica_sets(controller, deployment, sets)
        if not scaled and is_complete(deployment, deployment.status):
            cleanup(controller, deployment, sets.old)
    sync_rollout_status(controller, deployment, sets)


def reconcile_new_replica_set(controller: Controller, deployment: Deployment, sets: Sets) -> bool:
    """Source: reconcileNewReplicaSet."""
    assert sets.new is not None
    wanted, own = replicas_of(deployment), replicas_of(sets.new)
    if own == wanted:
        return False
    size = wanted if own > wanted else new_rs_new_replicas(deployment, sets.all, sets.new)
    return size != own and scale_replica_set(controller, deployment, sets.new, size)


def reconcile_old_replica_sets(controller: Controller, deployment: Deployment, sets: Sets) -> bool:
    """Scale down old sets: unavailable pods first, then as many as the minimum of available pods allows.

    Source: reconcileOldReplicaSets.
    """
    assert sets.new is not None
    old = active_sets(sets.old)
    if not old:
        return False
    # Unavailable pods of the new set are subtracted too: if the new version never becomes available, old sets must not
    # shrink further for it. The example with numbers is in upstream's reconcileOldReplicaSets.
    minimum = replicas_of(deployment) - max_unavailable(deployment)
    unavailable = replicas_of(sets.new) - status_of(sets.new, "availableReplicas")
    most = replica_count(sets.all) - minimum - unavailable
    if most <= 0:
        return False
    sizes = {replica_set.metadata.uid: replicas_of(replica_set) for replica_set in old}
    # Unhealthy pods first: otherwise they would block the rollout until its deadline (kubernetes/kubernetes #16737).
    cleaned = _cleanup_unhealthy(old, sizes, most)
    spare = actual_count(sets.all, "availableReplicas") - minimum
    shrunk = _scale_down(old, sizes, spare)
    for one in old:
        first, last = cleaned.get(one.metadata.uid, replicas_of(one)), sizes[one.metadata.uid]
        current = one
        # Upstream writes a set that both steps shrink twice, with an event for each step.
        for size in dict.fromkeys((first, last)):
            if size != replicas_of(current):
                scale_replica_set(controller, deployment, current, size)
                current = controller.api.store.get(ReplicaSet, one.name, one.namespace, copy=False)
    return bool(cleaned) or shrunk


def _cleanup_unhealthy(old: Sequence[ReplicaSet], sizes: dict[str, int], most: int) -> dict[str, int]:
    """Return the new sizes of old sets after removal of their unavailable pods. Source: cleanupUnhealthyReplicas."""
    cleaned: dict[str, int] = {}
    for replica_set in old:
        uid = replica_set.metadata.uid
        down = min(most, sizes[uid] - status_of(replica_set, "availableReplicas"))
        if down > 0:
            most -= down
            sizes[uid] -= down
            cleaned[uid] = sizes[uid]
    return cleaned


def _scale_down(old: Sequence[ReplicaSet], sizes: dict[str, int], spare: int) -> bool:
    """Source: scaleDownOldReplicaSetsForRollingUpdate."""
    shrunk = False
    for replica_set in old:
        uid = replica_set.metadata.uid
        down = min(sizes[uid], spare)
        if down > 0:
            spare -= down
            sizes[uid] -= down
            shrunk = True
    return shrunk
