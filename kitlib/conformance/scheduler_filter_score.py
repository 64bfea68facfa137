"""Cases of one scheduling cycle with the default profile: verdicts, scores, messages, preemption."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kitlib.api.apps import ReplicaSet, StatefulSet
from kitlib.api.core import Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, Service
from kitlib.api.defaults import set_defaults
from kitlib.api.devices import DeviceClass, ResourceClaim, ResourceSlice
from kitlib.api.pod_strategy import prepare_for_create
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.serialize import from_dict, to_dict
from kitlib.api.storage import CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.framework.post_filter import OVERRIDE
from kitlib.scheduler.framework.status import Code
from kitlib.scheduler.scheduler import Scheduler

FILE = "scheduler_filter_score"
RELEASE = "1.36"
_STORAGE = {
    "persistentVolumes": PersistentVolume,
    "persistentVolumeClaims": PersistentVolumeClaim,
    "storageClasses": StorageClass,
    "csiNodes": CSINode,
    "csiDrivers": CSIDriver,
    "csiStorageCapacities": CSIStorageCapacity,
    "volumeAttachments": VolumeAttachment,
}
_DEVICES = {"resourceClaims": ResourceClaim, "deviceClasses": DeviceClass, "resourceSlices": ResourceSlice}
_NAMESPACED = (PersistentVolumeClaim, ResourceClaim, Service, ReplicaSet, StatefulSet, PodDisruptionBudget)
INPUTS = frozenset(
    {
        "flavor",
        "nodes",
        "pods",
        "pod",
        "namespaces",
        "services",
        "replicaSets",
        "statefulSets",
        "podDisruptionBudgets",
        "nominatedPods",
        "id",
        *_STORAGE,
        *_DEVICES,
    }
)


def pod_of(data: dict[str, Any]) -> Pod:
    """Return a pod of a case: the UID defaults to the name, the namespace to `default`."""
    pod: Pod = from_dict(data, Pod)
    pod.metadata.namespace = pod.metadata.namespace or "default"
    pod.metadata.uid = pod.metadata.uid or pod.metadata.name
    return set_defaults(pod)


def scheduler_of(case: dict[str, Any], *, stored: Callable[[Pod], Pod] = lambda pod: pod, **settings: Any) -> Scheduler:
    """Return a scheduler of the case's cluster.

    Args:
        case: the case, with the cluster's objects.
        stored: returns a pod as the API server stores it.
        **settings: further arguments of `Scheduler`.
    """

    def objects(key: str, kind: Any) -> list[Any]:
        made = [from_dict(one, kind) for one in case.get(key) or ()]
        for one in made:
            if kind in _NAMESPACED:
                one.metadata.namespace = one.metadata.namespace or "default"
            set_defaults(one)
        return made

    return Scheduler(
        [from_dict(node, Node) for node in case["nodes"] or ()],
        [stored(pod_of(pod)) for pod in case["pods"] or ()],
        namespaces=objects("namespaces", Namespace),
        services=objects("services", Service),
        replica_sets=objects("replicaSets", ReplicaSet),
        stateful_sets=objects("statefulSets", StatefulSet),
        budgets=objects("podDisruptionBudgets", PodDisruptionBudget),
        nominated=[stored(pod_of(pod)) for pod in case.get("nominatedPods") or ()],
        volumes=[item for key, kind in _STORAGE.items() for item in objects(key, kind)],
        claims=[item for key, kind in _DEVICES.items() for item in objects(key, kind)],
        **settings,
    )


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Run one scheduling cycle for the incoming pod."""
    pod = pod_of(case["pod"])
    before = to_dict(pod.spec)
    prepare_for_create(pod)
    after = to_dict(pod.spec)
    cluster = case | {"nominatedPods": [_reference(one) for one in case.get("nominatedPods") or ()]}
    found: dict[str, Any] = {"expect": expected(scheduler_of(cluster, stored=prepare_for_create).explain(pod))}
    changed = {key: after[key] for key in after if after[key] != before.get(key)}
    if changed:
        found["storedSpec"] = changed
    return found


def _reference(data: dict[str, Any]) -> dict[str, Any]:
    """Reduce a nominated pod to its reference: in the recording it was only in the nominator, not in the queue.

    Source: backend/queue nominatedPodToInfo, podRef.toPod.
    """
    meta = {key: data["metadata"][key] for key in ("name", "namespace", "uid") if key in data["metadata"]}
    return {"metadata": meta, "status": data.get("status") or {}}


def expected(decision: Decision, *, scores: bool = True) -> dict[str, Any]:
    """Return a decision under the case's field names.

    Args:
        decision: the decision of the cycle.
        scores: whether the scores are included.
    """
    if decision.gate is not None:
        gate = decision.gate
        return {"preEnqueue": {"plugin": gate.plugin, "code": gate.code.name, "reasons": list(gate.reasons)}}
    outcome = decision.filters
    assert outcome is not None
    found: dict[str, Any] = {"feasible": sorted(decision.feasible), "rejected": {}}
    if not outcome.status.ok:
        status = outcome.status
        found["preFilter"] = {
            "plugin": status.plugin,
            "plugins": [],
            "code": status.code.name,
            "reasons": list(status.reasons),
        }
        found["absentNodes"] = {"plugin": status.plugin, "code": status.code.name, "reasons": list(status.reasons)}
    else:
        if outcome.prefilter_node_names is not None:
            found["preFilter"] = {
                "nodeNames": sorted(outcome.prefilter_node_names[0]),
                "plugins": outcome.prefilter_node_names[1],
            }
        found["rejected"] = rejected(decision)
    if decision.feasible:
        found |= _scores(decision, scores)
    else:
        found |= _failure(decision)
    return found


def rejected(decision: Decision) -> dict[str, Any]:
    """Return the first rejection of each rejected node, by node name."""
    outcome = decision.filters
    assert outcome is not None
    return {
        decision.nodes[row]: {"plugin": status.plugin, "code": status.code.name, "reasons": list(status.reasons)}
        for row in outcome.rows
        for status in outcome.statuses(int(row))[:1]
    }


def _scores(decision: Decision, scores: bool) -> dict[str, Any]:
    outcome = decision.scores
    assert outcome is not None
    if not scores:
        return {}
    order = sorted(range(len(outcome.rows)), key=lambda i: decision.nodes[outcome.rows[i]])

    def ordered(column: Any) -> list[int]:
        return [int(column[i]) for i in order]

    found = {
        "scores": {
            name: {
                "raw": ordered(raw),
                "normalized": ordered(outcome.normalized[name]),
                "weight": outcome.weights[name],
            }
            for name, raw in outcome.raw.items()
        },
        "total": ordered(outcome.total),
        "best": sorted(decision.best),
    }
    return found | ({"scoringSkipped": True} if len(order) == 1 else {})


def _failure(decision: Decision) -> dict[str, Any]:
    preemption = decision.post_filter
    assert preemption is not None and decision.filters is not None
    post: dict[str, Any] = {"code": preemption.code.name, "message": decision.post_filter_message}
    if preemption.code is not Code.Error and preemption.nominating_mode == OVERRIDE:
        post["nominatingMode"] = "override"
    if preemption.candidates:
        post["nominated"] = sorted(preemption.best)
        post["candidates"] = {
            name: {"victims": sorted(v.pod.key for v in candidate.victims), "pdbViolations": candidate.violations}
            for name, candidate in preemption.candidates.items()
        }
    found: dict[str, Any] = {
        "unschedulablePlugins": decision.unschedulable_plugins,
        "fitErrorBeforePostFilter": decision.filter_message,
        "fitError": decision.message,
        "postFilter": post,
    }
    if decision.filters.absent is not None and len(decision.filters.rows) < len(decision.nodes):
        absent = decision.filters.absent
        found["absentNodes"] = {"plugin": absent.plugin, "code": absent.code.name, "reasons": list(absent.reasons)}
    return found
