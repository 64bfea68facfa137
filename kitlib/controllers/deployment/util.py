"""Counts, annotations and conditions of Deployments and their ReplicaSets.

Source: pkg/controller/deployment/util/deployment_util.go.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from kitlib.api.apps import Deployment, ReplicaSet
from kitlib.api.numbers import MAX_INT32, scaled_value
from kitlib.apiserver.store.store import age
from kitlib.controllers.template_hash import template_hash
from kitlib.controllers.workload_status import find_condition, rfc3339, seconds_since

HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
ROLLBACK_TO = "deprecated.deployment.rollback.to"
SKIPPED_ANNOTATIONS = (LAST_APPLIED, REVISION, REVISION_HISTORY, DESIRED_REPLICAS, MAX_REPLICAS, ROLLBACK_TO)
DEFAULT_SHARE = "25%"


def replicas_of(obj: Any) -> int:
    """Return `spec.replicas`, 1 by default."""
    return 1 if obj.spec.replicas is None else int(obj.spec.replicas)


def status_of(obj: Any, field: str) -> int:
    """Return a count in an object's status, 0 by default."""
    return int(obj.status.get(field, 0))


def is_rolling_update(deployment: Deployment) -> bool:
    """Return whether the strategy is RollingUpdate, the default."""
    return deployment.spec.strategy.type != "Recreate"


def resolve_fenceposts(deployment: Deployment) -> tuple[int, int]:
    """Return `maxSurge` (rounded up) and `maxUnavailable` (rounded down) in pods, never both 0.

    Source: ResolveFenceposts.
    """
    rolling = deployment.spec.strategy.rolling_update
    wanted = replicas_of(deployment)
    surge_value = rolling.max_surge if rolling is not None else None
    unavailable_value = rolling.max_unavailable if rolling is not None else None
    surge = scaled_value(DEFAULT_SHARE if surge_value is None else surge_value, wanted, round_up=True)
    unavailable = scaled_value(
        DEFAULT_SHARE if unavailable_value is None else unavailable_value, wanted, round_up=False
    )
    return (surge, unavailable) if surge or unavailable else (surge, 1)


def max_surge(deployment: Deployment) -> int:
    """Return the number of pods allowed above `replicas` during a rolling update. Source: MaxSurge."""
    return resolve_fenceposts(deployment)[0] if is_rolling_update(deployment) else 0


def max_unavailable(deployment: Deployment) -> int:
    """Return the number of pods that may be unavailable. Source: MaxUnavailable."""
    wanted = replicas_of(deployment)
    if not is_rolling_update(deployment) or wanted == 0:
        return 0
    return min(resolve_fenceposts(deployment)[1], wanted)


def replica_count(sets: Iterable[ReplicaSet]) -> int:
    """Return the sum of the sets' `spec.replicas`. Source: GetReplicaCountForReplicaSets."""
    return sum(replicas_of(replica_set) for replica_set in sets)


def actual_count(sets: Iterable[ReplicaSet], field: str = "replicas") -> int:
    """Return the sum of a count in the sets' statuses. Source: GetActualReplicaCountForReplicaSets and similar."""
    return sum(status_of(replica_set, field) for replica_set in sets)


def terminating_count(sets: Iterable[ReplicaSet]) -> int | None:
    """Return the sum of the sets' terminating pods; None if a set does not report them.

    Source: GetTerminatingReplicaCountForReplicaSets.
    """
    counts: list[int | None] = [replica_set.status.get("terminatingReplicas") for replica_set in sets]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def active_sets(sets: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    """Return the sets with `spec.replicas` above 0. Source: FilterActiveReplicaSets."""
    return [replica_set for replica_set in sets if replicas_of(replica_set) > 0]


def revision_of(obj: Any) -> int:
    """Return the number in the revision annotation; 0 without one. Source: Revision."""
    text = obj.metadata.annotations.get(REVISION, "")
    return int(text) if text.isdigit() else 0


def number_of(replica_set: ReplicaSet, annotation: str) -> int | None:
    """Return the count in an annotation of a ReplicaSet; None for an invalid or missing one.

    Source: getNonNegativeInt32FromAnnotationVerbose.
    """
    text = replica_set.metadata.annotations.get(annotation, "")
    return int(text) if text.isdigit() and int(text) <= MAX_INT32 else None


def find_new_replica_set(deployment: Deployment, sets: Sequence[ReplicaSet]) -> ReplicaSet | None:
    """Return the oldest set with the Deployment's template. Source: FindNewReplicaSet, EqualIgnoreHash."""
    wanted = template_hash(deployment.spec.template, status_of(deployment, "collisionCount"))
    for replica_set in sorted(sets, key=age):
        if replica_set.metadata.labels.get(HASH) == wanted or _hash_without_label(replica_set) == template_hash(
            deployment.spec.template
        ):
            return replica_set
    return None


def _hash_without_label(replica_set: ReplicaSet) -> str:
    template = replica_set.spec.template
    labels = {key: value for key, value in template.metadata.labels.items() if key != HASH}
    from kitlib.api.serialize import deepcopy

    bare = deepcopy(template)
    bare.metadata.labels = labels
    return template_hash(bare)


def active_or_latest(newest: ReplicaSet | None, old: Sequence[ReplicaSet]) -> ReplicaSet | None:
    """Return the only active set, the newest set if none is active, None if several are. Source: FindActiveOrLatest."""
    if newest is None and not old:
        return None
    active = active_sets([*old, *([newest] if newest is not None else [])])
    if not active:
        return newest if newest is not None else max(old, key=age)
    return active[0] if len(active) == 1 else None


def is_saturated(deployment: Deployment, replica_set: ReplicaSet | None) -> bool:
    """Return whether the new set has its desired size and all its pods are available. Source: IsSaturated."""
    if replica_set is None:
        return False
    wanted = replicas_of(deployment)
    return (
        replicas_of(replica_set) == wanted
        and number_of(replica_set, DESIRED_REPLICAS) == wanted
        and status_of(replica_set, "availableReplicas") == wanted
    )


def new_rs_new_replicas(deployment: Deployment, sets: Sequence[ReplicaSet], newest: ReplicaSet | None) -> int:
    """Return the size of the new set that the surge allows now.

    Args:
        deployment: the Deployment.
        sets: all its sets.
        newest: the new set; None = it does not exist yet and has 0 pods.

    Source: NewRSNewReplicas.
    """
    wanted = replicas_of(deployment)
    if not is_rolling_update(deployment):
        return wanted
    own = 0 if newest is None else replicas_of(newest)
    room = wanted + max_surge(deployment) - replica_count(sets)
    return own if room <= 0 else own + min(room, wanted - own)


def get_proportion(replica_set: ReplicaSet, deployment: Deployment, to_add: int, added: int) -> int:
    """Return the set's share of the pods to add or, if negative, to remove. Source: GetReplicaSetProportion."""
    if replicas_of(replica_set) == 0 or to_add == 0 or to_add == added:
        return 0
    fraction, allowed = _fraction(replica_set, deployment), to_add - added
    return min(fraction, allowed) if to_add > 0 else max(fraction, allowed)


def _fraction(replica_set: ReplicaSet, deployment: Deployment) -> int:
    """Source: getReplicaSetFraction."""
    size = replicas_of(replica_set)
    if replicas_of(deployment) == 0:
        return -size
    before = number_of(replica_set, MAX_REPLICAS) or status_of(deployment, "replicas")
    if not before:
        return 0
    # The size relative to the Deployment's total at the last scaling (annotation max-replicas), because
    # `replicas` of the Deployment has changed since. Source: getReplicaSetFraction.
    exact = size * (replicas_of(deployment) + max_surge(deployment)) / before
    return math.floor(exact + 0.5) - size


def is_complete(deployment: Deployment, status: dict[str, Any]) -> bool:
    """Return whether all pods are updated and available and no old pod is left. Source: DeploymentComplete."""
    wanted = replicas_of(deployment)
    counts = (status.get(field, 0) for field in ("updatedReplicas", "replicas", "availableReplicas"))
    observed = int(status.get("observedGeneration", 0)) >= (deployment.metadata.generation or 0)
    return all(count == wanted for count in counts) and observed


def is_progressing(deployment: Deployment, status: dict[str, Any]) -> bool:
    """Return whether more pods are updated, ready or available, or fewer old, than before.

    Source: DeploymentProgressing.
    """
    before = deployment.status

    def old(of: dict[str, Any]) -> int:
        return int(of.get("replicas", 0)) - int(of.get("updatedReplicas", 0))

    grown = any(
        status.get(field, 0) > before.get(field, 0)
        for field in ("updatedReplicas", "readyReplicas", "availableReplicas")
    )
    return grown or old(status) < old(before)


def has_progress_deadline(deployment: Deployment) -> bool:
    """Source: HasProgressDeadline."""
    return deployment.spec.progress_deadline_seconds not in (None, MAX_INT32)


def seconds_to_deadline(deployment: Deployment, progressing: dict[str, Any], now: datetime) -> float:
    """Return the seconds until the progress deadline; negative after it."""
    deadline = deployment.spec.progress_deadline_seconds or 0
    return deadline - seconds_since(progressing["lastUpdateTime"], now)


def has_timed_out(deployment: Deployment, status: dict[str, Any], now: datetime) -> bool:
    """Return whether there was no progress for `progressDeadlineSeconds`. Source: DeploymentTimedOut."""
    progressing = find_condition(status["conditions"], "Progressing")
    if not has_progress_deadline(deployment) or progressing is None:
        return False
    if progressing["reason"] == "NewReplicaSetAvailable":
        return False
    if progressing["reason"] == "ProgressDeadlineExceeded":
        return True
    return seconds_to_deadline(deployment, progressing, now) < 0


def new_condition(kind: str, status: str, reason: str, message: str, now: datetime) -> dict[str, Any]:
    """Return a new condition of a Deployment. Source: NewDeploymentCondition."""
    at = rfc3339(now)
    return {
        "type": kind,
        "status": status,
        "lastUpdateTime": at,
        "lastTransitionTime": at,
        "reason": reason,
        "message": message,
    }


def set_condition(conditions: Sequence[dict[str, Any]], new: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the conditions with a new one; one of equal status and reason stays. Source: SetDeploymentCondition."""
    standing = find_condition(conditions, new["type"])
    if standing is not None and standing["status"] == new["status"]:
        if standing["reason"] == new["reason"]:
            return list(conditions)
        new = {**new, "lastTransitionTime": standing["lastTransitionTime"]}
    return [*without_condition(conditions, new["type"]), new]


def without_condition(conditions: Sequence[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the conditions without those of a type. Source: RemoveDeploymentCondition."""
    return [condition for condition in conditions if condition["type"] != kind]
