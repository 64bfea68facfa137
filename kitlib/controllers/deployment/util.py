"""Figures, annotations and conditions of Deployments and their ReplicaSets.

Source: pkg/controller/deployment/util/deployment_util.go.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from kitlib.api.apps import Deployment, ReplicaSet
from kitlib.api.numbers import MAX_INT32
from kitlib.apiserver.store.store import age
from kitlib.controllers.controller_utils import (
    find_condition,
    rfc3339,
    scaled_value,
    seconds_since,
    template_hash,
)

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
    """`spec.replicas`, 1 where it is not set."""
    return 1 if obj.spec.replicas is None else int(obj.spec.replicas)


def status_of(obj: Any, field: str) -> int:
    """A count of an object's status."""
    return int(obj.status.get(field, 0))


def is_rolling_update(deployment: Deployment) -> bool:
    """Whether the strategy is RollingUpdate, the default."""
    return deployment.spec.strategy.type != "Recreate"


def resolve_fenceposts(deployment: Deployment) -> tuple[int, int]:
    """`maxSurge` (rounded up) and `maxUnavailable` (rounded down) in pods; never both 0. Source: ResolveFenceposts."""
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
    """Pods above `replicas` during a rolling update. Source: MaxSurge."""
    return resolve_fenceposts(deployment)[0] if is_rolling_update(deployment) else 0


def max_unavailable(deployment: Deployment) -> int:
    """Pods below `replicas` that may be unavailable. Source: MaxUnavailable."""
    wanted = replicas_of(deployment)
    if not is_rolling_update(deployment) or wanted == 0:
        return 0
    return min(resolve_fenceposts(deployment)[1], wanted)


def replica_count(sets: Iterable[ReplicaSet]) -> int:
    """Pods that the sets are asked for. Source: GetReplicaCountForReplicaSets."""
    return sum(replicas_of(one) for one in sets)


def actual_count(sets: Iterable[ReplicaSet], field: str = "replicas") -> int:
    """Pods that the sets report. Source: GetActualReplicaCountForReplicaSets and its siblings."""
    return sum(status_of(one, field) for one in sets)


def terminating_count(sets: Iterable[ReplicaSet]) -> int | None:
    """Pods that the sets report as being deleted; None while one of them does not.

    Source: GetTerminatingReplicaCountForReplicaSets.
    """
    counts: list[int | None] = [one.status.get("terminatingReplicas") for one in sets]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def active_sets(sets: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    """Those that are asked for pods. Source: FilterActiveReplicaSets."""
    return [one for one in sets if replicas_of(one) > 0]


def revision_of(obj: Any) -> int:
    """The number in the revision annotation; 0 without one. Source: Revision."""
    text = obj.metadata.annotations.get(REVISION, "")
    return int(text) if text.isdigit() else 0


def number_of(one: ReplicaSet, annotation: str) -> int | None:
    """A count that an annotation of a ReplicaSet holds. Source: getNonNegativeInt32FromAnnotationVerbose."""
    text = one.metadata.annotations.get(annotation, "")
    return int(text) if text.isdigit() and int(text) <= MAX_INT32 else None


def find_new_replica_set(deployment: Deployment, sets: Sequence[ReplicaSet]) -> ReplicaSet | None:
    """The oldest set with the Deployment's own template. Source: FindNewReplicaSet, EqualIgnoreHash."""
    wanted = template_hash(deployment.spec.template, status_of(deployment, "collisionCount"))
    for one in sorted(sets, key=age):
        if one.metadata.labels.get(HASH) == wanted or _hash_without_label(one) == template_hash(
            deployment.spec.template
        ):
            return one
    return None


def _hash_without_label(one: ReplicaSet) -> str:
    template = one.spec.template
    labels = {key: value for key, value in template.metadata.labels.items() if key != HASH}
    from kitlib.api.serialize import deepcopy

    bare = deepcopy(template)
    bare.metadata.labels = labels
    return template_hash(bare)


def active_or_latest(newest: ReplicaSet | None, old: Sequence[ReplicaSet]) -> ReplicaSet | None:
    """The only set with pods; the newest where none has any; None where several have. Source: FindActiveOrLatest."""
    if newest is None and not old:
        return None
    active = active_sets([*old, *([newest] if newest is not None else [])])
    if not active:
        return newest if newest is not None else max(old, key=age)
    return active[0] if len(active) == 1 else None


def is_saturated(deployment: Deployment, one: ReplicaSet | None) -> bool:
    """Whether the new set is as large as desired and available. Source: IsSaturated."""
    if one is None:
        return False
    wanted = replicas_of(deployment)
    return (
        replicas_of(one) == wanted
        and number_of(one, DESIRED_REPLICAS) == wanted
        and status_of(one, "availableReplicas") == wanted
    )


def new_rs_new_replicas(deployment: Deployment, sets: Sequence[ReplicaSet], newest: ReplicaSet | None) -> int:
    """The size of the new set that the surge allows now.

    Args:
        newest: None where it is still to be created, with 0 pods.

    Source: NewRSNewReplicas.
    """
    wanted = replicas_of(deployment)
    if not is_rolling_update(deployment):
        return wanted
    own = 0 if newest is None else replicas_of(newest)
    room = wanted + max_surge(deployment) - replica_count(sets)
    return own if room <= 0 else own + min(room, wanted - own)


def get_proportion(one: ReplicaSet, deployment: Deployment, to_add: int, added: int) -> int:
    """The set's share of the pods to add or, below 0, to remove. Source: GetReplicaSetProportion."""
    if replicas_of(one) == 0 or to_add == 0 or to_add == added:
        return 0
    fraction, allowed = _fraction(one, deployment), to_add - added
    return min(fraction, allowed) if to_add > 0 else max(fraction, allowed)


def _fraction(one: ReplicaSet, deployment: Deployment) -> int:
    """Source: getReplicaSetFraction."""
    size = replicas_of(one)
    if replicas_of(deployment) == 0:
        return -size
    before = number_of(one, MAX_REPLICAS) or status_of(deployment, "replicas")
    if not before:
        return 0
    exact = size * (replicas_of(deployment) + max_surge(deployment)) / before
    return math.floor(exact + 0.5) - size


def is_complete(deployment: Deployment, status: dict[str, Any]) -> bool:
    """Whether all pods are updated and available and no old one is left. Source: DeploymentComplete."""
    wanted = replicas_of(deployment)
    counts = (status.get(field, 0) for field in ("updatedReplicas", "replicas", "availableReplicas"))
    observed = int(status.get("observedGeneration", 0)) >= (deployment.metadata.generation or 0)
    return all(count == wanted for count in counts) and observed


def is_progressing(deployment: Deployment, status: dict[str, Any]) -> bool:
    """Whether more is updated, ready or available, or less is old, than before. Source: DeploymentProgressing."""
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
    """Seconds until the progress deadline; negative after it."""
    deadline = deployment.spec.progress_deadline_seconds or 0
    return deadline - seconds_since(progressing["lastUpdateTime"], now)


def has_timed_out(deployment: Deployment, status: dict[str, Any], now: datetime) -> bool:
    """Whether nothing has progressed for `progressDeadlineSeconds`. Source: DeploymentTimedOut."""
    progressing = find_condition(status["conditions"], "Progressing")
    if not has_progress_deadline(deployment) or progressing is None:
        return False
    if progressing["reason"] == "NewReplicaSetAvailable":
        return False
    if progressing["reason"] == "ProgressDeadlineExceeded":
        return True
    return seconds_to_deadline(deployment, progressing, now) < 0


def new_condition(kind: str, status: str, reason: str, message: str, now: datetime) -> dict[str, Any]:
    """A Deployment's condition. Source: NewDeploymentCondition."""
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
    """The conditions with a new one; one of the same status and reason stays. Source: SetDeploymentCondition."""
    standing = find_condition(conditions, new["type"])
    if standing is not None and standing["status"] == new["status"]:
        if standing["reason"] == new["reason"]:
            return list(conditions)
        new = {**new, "lastTransitionTime": standing["lastTransitionTime"]}
    return [*without_condition(conditions, new["type"]), new]


def without_condition(conditions: Sequence[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The conditions but those of a type. Source: RemoveDeploymentCondition."""
    return [one for one in conditions if one["type"] != kind]
