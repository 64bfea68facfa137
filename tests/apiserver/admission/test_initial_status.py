"""The status of objects is written through their `status` subresource alone; a new Node brings its own.

The expected values are read in the strategies of Kubernetes 1.36 (pkg/registry/*/strategy.go): each kind with a
status has `Status = …Status{}` in PrepareForCreate, the Node alone has not.
"""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import KitError, NotFound
from kitlib.api.serialize import from_dict, to_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.cluster import Cluster

TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
WORKLOAD = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
JOB = {"template": {"spec": {"restartPolicy": "Never", "containers": TEMPLATE["spec"]["containers"]}}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
VOLUME = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}}
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}
READY = {"conditions": [{"type": "Ready", "status": "True", "reason": "Sent", "message": "m"}]}
KINDS: list[tuple[str, str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ("v1", "Pod", TEMPLATE["spec"], {"phase": "Running"}, {"phase": "Pending", "qosClass": "BestEffort"}),
    ("v1", "Namespace", {}, {"phase": "Terminating", "conditions": []}, {"phase": "Active"}),
    (
        "v1",
        "Service",
        {"ports": [{"port": 80}], "type": "LoadBalancer"},
        {"loadBalancer": {"ingress": [{"ip": "10.1.1.1"}]}},
        {},
    ),
    ("v1", "ResourceQuota", {"hard": {"pods": "1"}}, {"hard": {"pods": "9"}, "used": {"pods": "0"}}, {}),
    ("v1", "PersistentVolume", VOLUME, {"phase": "Bound"}, {"phase": "Pending"}),
    ("v1", "PersistentVolumeClaim", CLAIM, {"phase": "Bound"}, {"phase": "Pending"}),
    ("v1", "ReplicationController", {"selector": {"a": "b"}, "template": TEMPLATE}, {"replicas": 4}, {"replicas": 0}),
    ("apps/v1", "Deployment", WORKLOAD, {"readyReplicas": 4}, {}),
    ("apps/v1", "ReplicaSet", WORKLOAD, {"readyReplicas": 4}, {}),
    ("apps/v1", "StatefulSet", {**WORKLOAD, "serviceName": "x"}, {"readyReplicas": 4}, {}),
    ("apps/v1", "DaemonSet", WORKLOAD, {"numberReady": 4}, {}),
    ("batch/v1", "Job", JOB, {"succeeded": 1}, {}),
    ("policy/v1", "PodDisruptionBudget", {"minAvailable": 1}, {"disruptionsAllowed": 4}, {"disruptionsAllowed": 0}),
    (
        *("autoscaling/v2", "HorizontalPodAutoscaler", {"maxReplicas": 2, "scaleTargetRef": TARGET}),
        *({"desiredReplicas": 4}, {"desiredReplicas": 0}),
    ),
    (
        *("storage.k8s.io/v1", "VolumeAttachment"),
        *({"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}, {"attached": True}),
        {"attached": False},
    ),
    ("v1", "Node", {}, {"capacity": {"cpu": "9"}, **READY}, {"capacity": {"cpu": "9"}, **READY}),
]
NAMES = [kind for _, kind, *_ in KINDS]


def sent(version: str, kind: str, spec: Any, status: Any) -> Any:
    return from_dict({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec, "status": status})


def status_of(obj: Any, fields: dict[str, Any]) -> dict[str, Any]:
    """The named fields of a status; zeros and false are not written out."""
    status = to_dict(obj).get("status") or {}
    return {name: status.get(name, empty if not empty else None) for name, empty in fields.items()}


@pytest.mark.parametrize(("version", "kind", "spec", "status", "expected"), KINDS, ids=NAMES)
def test_a_new_object_begins_with_the_status_of_its_strategy(
    version: str, kind: str, spec: Any, status: Any, expected: Any
) -> None:
    made = APIServer().create(sent(version, kind, spec, status))
    assert status_of(made, expected) == expected
    left = {name for name in status if name not in expected}
    assert not left & set(to_dict(made).get("status") or {})


@pytest.mark.parametrize(("version", "kind", "spec", "status", "expected"), KINDS, ids=NAMES)
def test_an_update_keeps_the_stored_status_and_an_update_of_the_status_the_specification(
    version: str, kind: str, spec: Any, status: Any, expected: Any
) -> None:
    api = APIServer()
    stored = api.create(sent(version, kind, spec, {}))
    before = to_dict(stored)
    changed = from_dict({**before, "status": status})
    changed.metadata.labels["new"] = "label"
    updated = to_dict(api.update(changed))
    assert updated["metadata"]["labels"]["new"] == "label"
    assert updated.get("status") == before.get("status")
    changed = from_dict({**updated, "status": status})
    changed.metadata.labels["other"] = "label"
    again = to_dict(api.update_status(changed))
    assert "other" not in again["metadata"]["labels"] and again.get("spec") == updated.get("spec")
    assert {name: again["status"].get(name) for name in status if status[name]} == {
        k: v for k, v in status.items() if v
    }


def test_patch_drops_the_status_and_patch_status_changes_nothing_else() -> None:
    cluster = Cluster.simulated(1)
    before = cluster.nodes[0]
    wanted = {"metadata": {"labels": {"a": "b"}}, "status": {"allocatable": {"cpu": "99"}}}
    cluster.patch("Node", before.name, wanted)
    assert cluster.nodes[0].metadata.labels["a"] == "b"
    assert cluster.nodes[0].status.allocatable == before.status.allocatable
    cluster.apply({**to_dict(cluster.nodes[0]), "status": {"allocatable": {"cpu": "98"}}})
    assert cluster.nodes[0].status.allocatable == before.status.allocatable
    cluster.patch_status("Node", before.name, {"metadata": {"labels": {"c": "d"}}, "status": wanted["status"]})
    assert str(cluster.nodes[0].status.allocatable["cpu"]) == "99"
    assert "c" not in cluster.nodes[0].metadata.labels
    again = Cluster.simulated(1)
    again.replay(cluster.journal)
    assert str(again.nodes[0].status.allocatable["cpu"]) == "99"


def test_patch_status_names_the_kind_and_the_field_that_it_refuses() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
    with pytest.raises(KitError, match='configmaps "c": the kind has no `status` subresource'):
        cluster.patch_status("ConfigMap", "c", {"status": {"a": "b"}})
    with pytest.raises(KitError, match=r'patch_status: Node "node-1": status: Required value'):
        cluster.patch_status("Node", "node-1", {"spec": {"unschedulable": True}})
    with pytest.raises(NotFound):
        cluster.patch_status("Node", "none", {"status": {}})
    assert [entry["action"] for entry in cluster.journal] == ["apply"]
