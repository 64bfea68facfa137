"""Deployments: a ReplicaSet for each version of the template; a new version replaces the old one step by step.

Imported by the table of controllers alone. Face: `DeploymentController`.

Source: pkg/controller/deployment/deployment_controller.go (syncDeployment, checkPausedConditions).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.apps import Deployment, ReplicaSet
from kitlib.api.core import TERMINAL_PHASES, Pod
from kitlib.api.meta import LabelSelector
from kitlib.api.serialize import deepcopy
from kitlib.controllers.controller import Controller, Handler, Key
from kitlib.controllers.controller_ref_manager import claim_objects, enqueue_orphan, selector_of
from kitlib.controllers.deployment.recreate import rollout_recreate
from kitlib.controllers.deployment.rolling import rollout_rolling
from kitlib.controllers.deployment.sync import (
    calculate_status,
    cleanup,
    is_scaling_event,
    scale,
    sync_revision,
)
from kitlib.controllers.deployment.util import (
    has_progress_deadline,
    is_rolling_update,
    new_condition,
    set_condition,
)
from kitlib.controllers.informers import Delta, controller_of
from kitlib.controllers.workload_status import find_condition, set_status


class DeploymentController(Controller):
    """The controller of Deployments."""

    name: ClassVar[str] = "deployment-controller"

    def handlers(self) -> Mapping[str, Handler]:
        return {"Deployment": self._on_deployment, "ReplicaSet": self._on_set, "Pod": self._on_pod}

    def _on_deployment(self, change: Delta) -> None:
        if change.type != "DELETED":
            self.enqueue(change.new)

    def _on_set(self, change: Delta) -> None:
        """Source: addReplicaSet, updateReplicaSet, deleteReplicaSet."""
        self.enqueue_controllers(change, "Deployment")
        enqueue_orphan(self, change, "Deployment")

    def _on_pod(self, change: Delta) -> None:
        """Queue a Recreate Deployment when one of its pods has ended or is deleted. Source: deletePod."""
        pod = change.new
        if change.type != "DELETED" and not (isinstance(pod, Pod) and pod.status.phase in TERMINAL_PHASES):
            return
        reference = controller_of(pod)
        owner = self.informers.get(reference.uid) if reference is not None else None
        above = controller_of(owner) if owner is not None else None
        deployment = self.informers.get(above.uid) if above is not None else None
        if isinstance(deployment, Deployment) and not is_rolling_update(deployment):
            self.enqueue(deployment)

    def sync(self, key: Key) -> None:
        """Source: syncDeployment."""
        deployment: Deployment | None = self.find(Deployment, key)
        if deployment is None:
            return
        if deployment.spec.selector is None or deployment.spec.selector == LabelSelector():
            message = "This deployment is selecting all pods. A non-empty selector is required."
            self.event(deployment, "Warning", "SelectingAll", message)
            return
        sets: list[ReplicaSet] = claim_objects(
            self,
            deployment,
            self.informers.owned_or_orphaned(deployment, "ReplicaSet"),
            selector_of(deployment),
        )
        if deployment.metadata.deletion_timestamp is not None:
            return
        deployment = self._check_paused(deployment)
        if deployment.spec.paused:
            self._scale_only(deployment, sets)
            return
        deployment, current = sync_revision(self, deployment, sets, create=False)
        if is_scaling_event(deployment, current):
            self._scale_only(deployment, sets)
        elif is_rolling_update(deployment):
            rollout_rolling(self, deployment, sets)
        else:
            rollout_recreate(self, deployment, sets)

    def _scale_only(self, deployment: Deployment, existing: list[ReplicaSet]) -> None:
        """Scale a paused Deployment, or one that was scaled, without a rollout. Source: sync."""
        deployment, sets = sync_revision(self, deployment, existing, create=False)
        scale(self, deployment, sets)
        if deployment.spec.paused:
            cleanup(self, deployment, sets.old)
        set_status(self.api, deployment, calculate_status(self, deployment, sets))

    def _check_paused(self, deployment: Deployment) -> Deployment:
        """Set the condition Progressing of a paused or resumed Deployment. Source: checkPausedConditions."""
        if not has_progress_deadline(deployment):
            return deployment
        conditions = deployment.status.get("conditions", [])
        progressing = find_condition(conditions, "Progressing")
        if progressing is not None and progressing["reason"] == "ProgressDeadlineExceeded":
            return deployment
        known = progressing is not None and progressing["reason"] == "DeploymentPaused"
        if known == deployment.spec.paused:
            return deployment
        reason, what = ("DeploymentPaused", "paused") if deployment.spec.paused else ("DeploymentResumed", "resumed")
        found = new_condition("Progressing", "Unknown", reason, f"Deployment is {what}", self.now())
        changed = deepcopy(deployment)
        changed.status = {**changed.status, "conditions": set_condition(conditions, found)}
        stored: Deployment = self.api.update_status(changed)
        return stored
