"""The conditions Progressing and ReplicaFailure, and the progress deadline.

Source: pkg/controller/deployment/progress.go (syncRolloutStatus, requeueStuckDeployment, getReplicaFailures).
"""

from __future__ import annotations

from typing import Any

from kitlib.api.apps import Deployment
from kitlib.controllers.controller import Controller, key_of
from kitlib.controllers.deployment.sync import Sets, calculate_status
from kitlib.controllers.deployment.util import (
    has_progress_deadline,
    has_timed_out,
    is_complete,
    is_progressing,
    new_condition,
    seconds_to_deadline,
    set_condition,
    without_condition,
)
from kitlib.controllers.workload_status import find_condition, set_status


def sync_rollout_status(controller: Controller, deployment: Deployment, sets: Sets) -> None:
    """Write the status of a Deployment during a rollout. Source: syncRolloutStatus."""
    now = controller.now()
    status = calculate_status(controller, deployment, sets)
    conditions: list[dict[str, Any]] = status["conditions"]
    if not has_progress_deadline(deployment):
        conditions = without_condition(conditions, "Progressing")
    before = find_condition(deployment.status.get("conditions", ()), "Progressing")
    updated = status["replicas"] == status["updatedReplicas"]
    complete = updated and before is not None and before["reason"] == "NewReplicaSetAvailable"
    if has_progress_deadline(deployment) and not complete:
        subject = f'ReplicaSet "{sets.new.name}"' if sets.new is not None else f'Deployment "{deployment.name}"'
        if is_complete(deployment, status):
            message = f"{subject} has successfully progressed."
            conditions = set_condition(
                conditions, new_condition("Progressing", "True", "NewReplicaSetAvailable", message, now)
            )
        elif is_progressing(deployment, status):
            message = f"{subject} is progressing."
            found = new_condition("Progressing", "True", "ReplicaSetUpdated", message, now)
            if before is not None and before["status"] == "True":
                found["lastTransitionTime"] = before["lastTransitionTime"]
            conditions = [*without_condition(conditions, "Progressing"), found]
        elif has_timed_out(deployment, status, now):
            message = f"{subject} has timed out progressing."
            conditions = set_condition(
                conditions, new_condition("Progressing", "False", "ProgressDeadlineExceeded", message, now)
            )
    failure = _replica_failure(sets)
    if failure is not None:
        conditions = set_condition(conditions, failure)
    else:
        conditions = without_condition(conditions, "ReplicaFailure")
    status["conditions"] = conditions
    if not set_status(controller.api, deployment, status):
        _requeue_stuck(controller, deployment, status)


def _replica_failure(sets: Sets) -> dict[str, Any] | None:
    """Return the condition ReplicaFailure of the new set, else of an old one. Source: getReplicaFailures."""
    for replica_set in ([sets.new] if sets.new is not None else []) + sets.old:
        failure = find_condition(replica_set.status.get("conditions", ()), "ReplicaFailure")
        if failure is not None:
            at = failure["lastTransitionTime"]
            return {**failure, "lastUpdateTime": at}
    return None


def _requeue_stuck(controller: Controller, deployment: Deployment, status: dict[str, Any]) -> None:
    """Queue the Deployment for the end of its progress deadline. Source: requeueStuckDeployment."""
    progressing = find_condition(status["conditions"], "Progressing")
    if not has_progress_deadline(deployment) or progressing is None or is_complete(deployment, status):
        return
    if progressing["reason"] != "ProgressDeadlineExceeded":
        after = seconds_to_deadline(deployment, progressing, controller.now()) + 1
        controller.queue.add_after(key_of(deployment), max(after, 0.001))
