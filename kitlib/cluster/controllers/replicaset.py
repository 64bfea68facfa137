"""ReplicaSets and ReplicationControllers: as many pods as asked for.

A refused pod (quota, limit range) is tried again when something else has changed; the reason stands in an event.

Source: pkg/controller/replicaset (manageReplicas, calculateStatus).
"""

from __future__ import annotations

from kitlib.api.apps import ReplicaSet
from kitlib.api.core import Pod, ReplicationController
from kitlib.cluster.admission.apiserver import APIServer
from kitlib.cluster.controllers.pods import (
    create,
    first_to_go,
    is_active,
    is_ready,
    owned_pods,
    pod_from,
    record,
    set_status,
)


def sync(api: APIServer) -> None:
    """Bring every set to its number of pods."""
    for kind in (ReplicaSet, ReplicationController):
        for one in api.store.list(kind, copy=False):
            if one.metadata.deletion_timestamp is None and one.spec.template is not None:
                _sync(api, one)


def _sync(api: APIServer, one: ReplicaSet | ReplicationController) -> None:
    wanted = 1 if one.spec.replicas is None else one.spec.replicas
    active = [pod for pod in owned_pods(api, one) if is_active(pod)]
    if len(active) < wanted:
        for _ in range(wanted - len(active)):
            assert one.spec.template is not None
            if not create(api, pod_from(one.spec.template, one, prefix=f"{one.name}-"), one):
                break
    elif len(active) > wanted:
        for pod in first_to_go(active)[: len(active) - wanted]:
            record(api, one, "Normal", "SuccessfulDelete", f"Deleted pod: {pod.name}")
            api.delete(Pod, pod.name, pod.namespace, grace=None)
    pods = [pod for pod in owned_pods(api, one) if is_active(pod)]
    ready = sum(map(is_ready, pods))
    status = {"replicas": len(pods), "readyReplicas": ready, "availableReplicas": ready}
    set_status(api, api.store.get(type(one), one.name, one.namespace), {**status, "fullyLabeledReplicas": len(pods)})
