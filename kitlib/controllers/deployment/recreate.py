"""Recreate: the new set starts when no pod of the old sets is left.

Source: pkg/controller/deployment/recreate.go (rolloutRecreate, oldPodsRunning).
"""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.api.apps import Deployment, ReplicaSet
from kitlib.api.core import TERMINAL_PHASES, Pod
from kitlib.controllers.controller import Controller
from kitlib.controllers.deployment.progress import sync_rollout_status
from kitlib.controllers.deployment.sync import Sets, cleanup, scale_replica_set, sync_revision
from kitlib.controllers.deployment.util import active_sets, actual_count, is_complete, replicas_of


def rollout_recreate(controller: Controller, deployment: Deployment, existing: Sequence[ReplicaSet]) -> None:
    """Perform the next step of the rollout. Source: rolloutRecreate."""
    deployment, sets = sync_revision(controller, deployment, existing, create=False)
    scaled = False
    for replica_set in active_sets(sets.old):
        scaled |= scale_replica_set(controller, deployment, replica_set, 0)
    if not scaled and not _old_pods_running(controller, sets):
        if sets.new is None:
            deployment, sets = sync_revision(controller, deployment, existing, create=True)
        assert sets.new is not None
        scale_replica_set(controller, deployment, sets.new, replicas_of(deployment))
        if is_complete(deployment, deployment.status):
            cleanup(controller, deployment, sets.old)
    sync_rollout_status(controller, deployment, sets)


def _old_pods_running(controller: Controller, sets: Sets) -> bool:
    """Return whether an old set has an unfinished pod; terminating ones count. Source: oldPodsRunning."""
    if actual_count(sets.old) > 0:
        return True
    pods = (pod for replica_set in sets.old for pod in controller.informers.owned(replica_set, "Pod"))
    return any(isinstance(pod, Pod) and pod.status.phase not in TERMINAL_PHASES for pod in pods)
