"""StatefulSets: pods with fixed names, made in order, each when the one before it is ready; the last one goes first.

Source: pkg/controller/statefulset (stateful_set_control.go, stateful_set_utils.go).
"""

from __future__ import annotations

from kitlib.api.apps import StatefulSet
from kitlib.api.core import Pod
from kitlib.cluster.admission.apiserver import APIServer
from kitlib.cluster.controllers.pods import (
    create,
    is_active,
    is_ready,
    owned_pods,
    pod_from,
    record,
    set_status,
    template_hash,
)

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"
REVISION = "controller-revision-hash"


def sync(api: APIServer) -> None:
    """Take every StatefulSet one step further."""
    for one in api.store.list(StatefulSet, copy=False):
        if one.metadata.deletion_timestamp is None:
            _sync(api, one)


def _sync(api: APIServer, one: StatefulSet) -> None:
    wanted = 1 if one.spec.replicas is None else one.spec.replicas
    revision = f"{one.name}-{template_hash(one.spec.template)}"
    pods = {_ordinal(pod, one): pod for pod in owned_pods(api, one)}
    in_order = one.spec.pod_management_policy != "Parallel"
    if not _grow(api, one, pods, wanted, revision, in_order):
        _shrink(api, one, pods, wanted, revision, in_order)
    standing = [pod for pod in owned_pods(api, one) if is_active(pod)]
    ready = sum(map(is_ready, standing))
    status = {
        "observedGeneration": one.metadata.generation,
        "replicas": len(standing),
        "readyReplicas": ready,
        "availableReplicas": ready,
        "currentReplicas": sum(pod.metadata.labels.get(REVISION) == revision for pod in standing),
        "updateRevision": revision,
    }
    set_status(api, api.store.get(StatefulSet, one.name, one.namespace), status)


def _grow(api: APIServer, one: StatefulSet, pods: dict[int, Pod], wanted: int, revision: str, in_order: bool) -> bool:
    """Make what is missing; True while something below the wanted number is missing or not ready."""
    for ordinal in range(wanted):
        pod = pods.get(ordinal)
        if pod is None:
            made = pod_from(one.spec.template, one, name=f"{one.name}-{ordinal}")
            made.metadata.labels |= {POD_NAME: made.name, POD_INDEX: str(ordinal), REVISION: revision}
            create(api, made, one)
            if in_order:
                return True
        elif pod.status.phase in ("Failed", "Succeeded"):
            api.delete(Pod, pod.name, pod.namespace)
            return True
        elif in_order and (not is_ready(pod) or pod.metadata.deletion_timestamp is not None):
            return True
    return False


def _shrink(api: APIServer, one: StatefulSet, pods: dict[int, Pod], wanted: int, revision: str, in_order: bool) -> None:
    """Remove what is too much, or, where nothing is, one pod of an older revision; from the last one on."""
    surplus = sorted((o for o in pods if o >= wanted), reverse=True)
    outdated = sorted((o for o in pods if pods[o].metadata.labels.get(REVISION) != revision), reverse=True)
    for ordinal in (surplus if not in_order else surplus[:1]) or outdated[:1]:
        pod = pods[ordinal]
        if pod.metadata.deletion_timestamp is None:
            record(
                api, one, "Normal", "SuccessfulDelete", f"delete Pod {pod.name} in StatefulSet {one.name} successful"
            )
            api.delete(Pod, pod.name, pod.namespace, grace=None)


def _ordinal(pod: Pod, one: StatefulSet) -> int:
    number = pod.name.removeprefix(f"{one.name}-")
    return int(number) if number.isdigit() else -1
