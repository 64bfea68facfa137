"""ReplicaSets and ReplicationControllers: they keep `spec.replicas` pods.

A rejected pod is retried after a back-off; the reason is in an event and in the condition ReplicaFailure.

Source: pkg/controller/replicaset/replica_set.go (syncReplicaSet, manageReplicas, getPodsToDelete),
replica_set_utils.go (calculateStatus).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from kitlib.api.apps import ReplicaSet
from kitlib.api.core import Pod, ReplicationController
from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.controllers.controller import Controller, Handler, Key, Manager, Retry, key_of
from kitlib.controllers.controller_ref_manager import claim_objects, enqueue_orphan, selector_of
from kitlib.controllers.informers import Delta, controller_of
from kitlib.controllers.pace import Pace
from kitlib.controllers.pod_control import create_pod, delete_pod, pod_from_template, slow_start_batch
from kitlib.controllers.pod_util import available_in, is_active, is_ready, is_terminating
from kitlib.controllers.pods_to_delete import ranked_for_deletion
from kitlib.controllers.workload_status import condition, find_condition, set_status, status_data

BURST_REPLICAS = 500
"""The maximum number of pods created or deleted in one sync."""
REQUESTS_PER_POD = 3
"""The requests for a rejected pod: its creation, and the set's status with it and without it."""


class ReplicaSetController(Controller):
    """The controller of ReplicaSets."""

    name: ClassVar[str] = "replicaset-controller"
    kind: ClassVar[Any] = ReplicaSet
    counts_terminating: ClassVar[bool] = True

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self.pace = Pace(self.now, self.steady_now, REQUESTS_PER_POD)

    def handlers(self) -> Mapping[str, Handler]:
        return {self.kind.__name__: self._on_set, "Pod": self._on_pod}

    def _on_set(self, change: Delta) -> None:
        if change.type != "DELETED":
            self.enqueue(change.new)

    def _on_pod(self, change: Delta) -> None:
        """Source: addPod, updatePod, deletePod."""
        reference = controller_of(change.new)
        if reference is not None and reference.kind == self.kind.__name__:
            self.pace.note(change, (change.new.namespace, reference.name))
        self.enqueue_controllers(change, self.kind.__name__)
        enqueue_orphan(self, change, self.kind.__name__)

    def sync(self, key: Key) -> None:
        """Source: syncReplicaSet."""
        owner = self.find(self.kind, key)
        if owner is None or owner.spec.template is None:
            return
        candidates = self.informers.unfinished_or_orphaned(owner)
        active = [pod for pod in candidates if is_active(pod)]
        selector = selector_of(owner)
        pods = claim_objects(self, owner, active, selector)
        failure: KitError | None = None
        if owner.metadata.deletion_timestamp is None:
            try:
                self._manage_replicas(owner, pods)
            except KitError as error:
                failure = error
        # The writes above may have changed or deleted the owner.
        owner = self.find(self.kind, key)
        if owner is None:
            return
        status, wait = self._status(owner, pods, failure)
        if self.counts_terminating and self.api.release.enabled("DeploymentReplicaSetTerminatingReplicas"):
            status["terminatingReplicas"] = _terminating(owner, candidates, selector)
        set_status(self.api, owner, status)
        if failure is not None:
            raise Retry(str(failure))
        if wait:
            self.queue.add_after(key, wait)

    def _manage_replicas(self, owner: Any, pods: list[Pod]) -> None:
        """Create missing pods and delete surplus ones. Source: manageReplicas."""
        difference, key = len(pods) - replicas_of(owner), key_of(owner)
        if difference < 0:
            wanted = min(-difference, BURST_REPLICAS)
            # Pods that a kubelet rejects at once would be replaced without end; see `pace`.
            count = self.pace.allowed(key, wanted, f"{owner.kind} {owner.key}")
            if count < wanted:
                self.queue.add_after(key, self.pace.wait)
            slow_start_batch(
                count,
                lambda _: create_pod(self, pod_from_template(owner.spec.template, owner), owner) and None,
            )
            return
        self.pace.forget(key)
        if difference > 0:
            count = min(difference, BURST_REPLICAS)
            for pod in self._pods_to_delete(owner, pods, count):
                delete_pod(self, pod, owner)

    def _pods_to_delete(self, owner: KubeObject, pods: list[Pod], count: int) -> list[Pod]:
        """Source: getPodsToDelete, getIndirectlyRelatedPods."""
        if count >= len(pods):
            return pods
        return ranked_for_deletion(pods, self._related_pods(owner), self.now())[:count]

    def _related_pods(self, owner: KubeObject) -> list[Pod]:
        """Return the active pods of all sets with the same controller. Source: getIndirectlyRelatedPods."""
        reference = controller_of(owner)
        sets = [owner]
        if reference is not None:
            parent = self.informers.get(reference.uid)
            sets = self.informers.owned(parent, self.kind.__name__) if parent is not None else sets
        pods = [pod for item in sets for pod in self.informers.owned(item, "Pod")]
        return [pod for pod in pods if isinstance(pod, Pod) and is_active(pod)]

    def _status(self, owner: Any, pods: list[Pod], failure: KitError | None) -> tuple[dict[str, Any], float]:
        """Return the new status, and the seconds until the next ready pod is available. Source: calculateStatus."""
        now, min_ready = self.now(), owner.spec.min_ready_seconds
        labels = owner.spec.template.metadata.labels.items()
        waits = [available_in(pod, min_ready, now) for pod in pods if is_ready(pod)]
        conditions: list[dict[str, Any]] = list(status_data(owner).get("conditions", ()))
        standing = find_condition(conditions, "ReplicaFailure")
        if failure is not None and standing is None:
            reason = "FailedCreate" if len(pods) < replicas_of(owner) else "FailedDelete"
            conditions.append(condition("ReplicaFailure", "True", reason, str(failure), now))
        elif failure is None and standing is not None:
            conditions.remove(standing)
        status = {
            "replicas": len(pods),
            "fullyLabeledReplicas": sum(labels <= pod.metadata.labels.items() for pod in pods),
            "readyReplicas": len(waits),
            "availableReplicas": sum(wait == 0 for wait in waits),
            "observedGeneration": owner.metadata.generation,
            "conditions": conditions,
        }
        pending = [wait for wait in waits if wait]
        return status, min(pending, default=0.0)


class ReplicationControllerController(ReplicaSetController):
    """The controller of ReplicationControllers. Source: pkg/controller/replication (conversion.go)."""

    name: ClassVar[str] = "replication-controller"
    kind: ClassVar[Any] = ReplicationController
    counts_terminating: ClassVar[bool] = False


def _terminating(owner: KubeObject, pods: Iterable[Any], selector: LabelSelectorMatcher) -> int:
    """Return the number of the set's terminating pods. Source: FilterTerminatingPods, FilterClaimedPods."""
    leaving = [(pod, controller_of(pod)) for pod in pods if is_terminating(pod)]
    return sum(
        reference is not None and reference.uid == owner.metadata.uid and selector.matches(pod.metadata.labels)
        for pod, reference in leaving
    )


def replicas_of(owner: Any) -> int:
    """Return `spec.replicas`, 1 by default."""
    return 1 if owner.spec.replicas is None else int(owner.spec.replicas)
