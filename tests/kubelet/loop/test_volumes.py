"""Tests of the volume manager: the times of its updates, and the files of pods that have ended."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from kitlib.api.core import PersistentVolumeClaim, Pod
from kitlib.api.serialize import from_dict
from kitlib.cluster import Cluster
from kitlib.kubelet.loop.pod_worker import PodWorker
from kitlib.kubelet.loop.volumes import VolumeManager
from kitlib.kubelet.pods.objects import Objects

FILES = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "files"}, "data": {"a": "1"}}


def pod(name: str, workload: str, **more: Any) -> dict[str, Any]:
    """Return a pod with files of a ConfigMap, on the one node."""
    meta = {"name": name, "annotations": {"kitlib.dev/workload.c": workload}}
    mount = {"name": "v", "mountPath": "/v"}
    spec = {"containers": [{"name": "c", "image": "x", "volumeMounts": [mount]}]}
    volumes = [{"name": "v", "configMap": {"name": "files"}}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**spec, "volumes": volumes, **more}}


def kept(cluster: Any, name: str) -> list[str]:
    """Return the files that the runtime still keeps for a pod."""
    return sorted(cluster.node().runtime.volume(cluster.pod(name), "v"))


@pytest.mark.parametrize(("code", "phase"), [(0, "Succeeded"), (3, "Failed")])
def test_one_that_has_ended_keeps_none_and_one_that_restarts_does(code: int, phase: str) -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(
        [FILES, pod("over", f"5s cpu=0.1 exit={code}", restartPolicy="Never"), pod("again", f"5s cpu=0.1 exit={code}")]
    )
    assert kept(cluster, "over") == kept(cluster, "again") == ["a"]
    cluster.advance(8)
    assert cluster.pod("over").status.phase == phase
    assert (kept(cluster, "over"), kept(cluster, "again")) == ([], ["a"])


def test_an_evicted_pod_keeps_none() -> None:
    cluster = Cluster.simulated([{"memory": "1Gi", "kubelet": ["--eviction-hard=memory.available<300Mi"]}])
    cluster.apply([FILES, pod("big", "2s; memory=800Mi"), pod("small", "memory=20Mi")])
    cluster.advance(30)
    assert {one.name: one.status.reason for one in cluster.pods()} == {"big": "Evicted", "small": ""}
    assert (kept(cluster, "big"), kept(cluster, "small")) == ([], ["a"])


@pytest.mark.parametrize(
    ("arrival", "change", "update"), [(5, 20, 60), (65, 70, 120), (110, 119, 120), (110, 121, 180)]
)
def test_files_are_updated_at_whole_minutes_of_the_kubelet_whenever_the_first_volume_came(
    arrival: int, change: int, update: int
) -> None:
    """Source: KubeletConfiguration syncFrequency; the first pod with volumes does not start the period."""
    cluster = Cluster.simulated(1)
    cluster.advance(arrival)
    cluster.apply([FILES, pod("a", "cpu=0.1")])
    cluster.advance(change - arrival)
    cluster.apply({**FILES, "data": {"a": "1", "b": "2"}})
    cluster.advance(update - 1 - change)
    assert kept(cluster, "a") == ["a"]
    cluster.advance(2)
    assert kept(cluster, "a") == ["a", "b"]


def test_a_volume_of_another_node_is_not_mounted() -> None:
    cluster = Cluster.simulated(2)
    here, there = (node.name for node in cluster.nodes)
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [there]}]}
    size = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    volume = size | {"capacity": {"storage": "1Gi"}, "hostPath": {"path": "/v"}}
    volume["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    claim = size | {"resources": {"requests": {"storage": "1Gi"}}, "volumeName": "disk"}
    mounts = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    pods = [pod(name, "cpu=0.1", volumes=mounts, schedulerName="mine") for name in ("a", "b")]
    cluster.apply({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "disk"}, "spec": volume})
    cluster.apply({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": claim})
    cluster.apply(pods)
    cluster.advance(10)
    cluster.bind("a", here)
    cluster.bind("b", there)
    cluster.advance(10)
    assert {one.name: one.status.phase for one in cluster.pods()} == {"a": "Pending", "b": "Running"}
    said = {event.message for event in cluster.events("a") if event.reason == "FailedMount"}
    assert said == {'MountVolume.NodeAffinity check failed for volume "disk" : no matching NodeSelectorTerms'}


PROTECTED = "kubernetes.io/pvc-protection"
BOUND = {"spec": {"volumeName": "pv"}, "status": {"phase": "Bound"}}
DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        (None, 'failed to fetch PVC from API server: persistentvolumeclaims "data" not found'),
        (BOUND, ""),
        (BOUND | {"metadata": DELETED | {"finalizers": [PROTECTED]}}, ""),
        (BOUND | {"metadata": DELETED}, "PVC is being deleted"),
        (BOUND | {"metadata": DELETED | {"finalizers": ["other"]}}, "PVC is being deleted"),
        (BOUND | {"status": {"phase": "Pending"}}, "PVC is not bound"),
        (BOUND | {"spec": {}}, "PVC has empty pvc.Spec.VolumeName"),
    ],
)
def test_a_pod_waits_for_the_claims_that_it_mounts(claim: dict[str, Any] | None, why: str) -> None:
    """Source: desiredStateOfWorldPopulator getPVCExtractPV."""
    found = None if claim is None else from_dict(claim, PersistentVolumeClaim)
    told: list[str] = []
    reports = SimpleNamespace(event=lambda about, kind, reason, message: told.append(f"{reason}: {message}"))
    node: Any = SimpleNamespace(runtime=None, reports=reports, clock=lambda: 5.0)
    manager = VolumeManager(node, Objects(lambda one: found if one.kind == "PersistentVolumeClaim" else None), {})
    mounts = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    volumes = [{"name": one, "persistentVolumeClaim": {"claimName": "data"}} for one in ("v", "not-mounted")]
    spec = {"containers": [{"name": "c", **mounts}], "volumes": volumes}
    made = from_dict({"metadata": {"name": "p", "namespace": "prod", "uid": "u"}, "spec": spec}, Pod)
    worker = PodWorker(made, datetime(2026, 1, 1, tzinfo=UTC))
    assert manager.ready(worker) is (why == "")
    text = (
        "FailedMount: Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], "
        f"failed to process volumes=[v]: error processing PVC prod/data: {why}"
    )
    assert told == ([text] if why else []) and worker.not_before == (15 if why else 0)
