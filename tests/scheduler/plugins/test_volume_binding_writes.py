"""Claims that wait for their first pod: the scheduler's reservations, writes and waits.

The rules of plugins/volumebinding (Reserve, PreBind, Unreserve), binder.go and the volume controller.
"""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster.control_plane.simulated import SimulatedCluster
from tests.controllers.builders import hollow, pod, told, workload

WAITS = "WaitForFirstConsumer"
NONE_LEFT = "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind."


def storage_class(provisioner: str) -> dict[str, Any]:
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "late"}}
    return {**kind, "provisioner": provisioner, "volumeBindingMode": WAITS}


def claim(name: str, **spec: Any) -> dict[str, Any]:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    spec = {**wanted, "storageClassName": "late", **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def volume(name: str, node: str) -> dict[str, Any]:
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "late",
        "local": {"path": "/mnt"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}


def using(name: str, of: str, **spec: Any) -> dict[str, Any]:
    return pod(name, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": of}}], **spec)


def placed(cluster: SimulatedCluster) -> dict[str, str]:
    return {one.name: one.spec.node_name for one in cluster.pods()}


def scheduled(cluster: SimulatedCluster, name: str) -> Any:
    return next(one for one in cluster.pod(name).status.conditions if one.type == "PodScheduled")


LOCAL = storage_class("kubernetes.io/no-provisioner")


@pytest.mark.parametrize("volumes", [["node-2"], ["node-2", "node-2"], ["node-1", "node-2", "node-2"]])
def test_each_local_volume_is_given_to_one_of_the_pods_that_come_together(volumes: list[str]) -> None:
    cluster = hollow(2)
    template = claim("data")
    db = workload("StatefulSet", "db", 3, podManagementPolicy="Parallel", volumeClaimTemplates=[template])
    db["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    cluster.apply([LOCAL, *(volume(f"v{i}", node) for i, node in enumerate(volumes)), db])
    cluster.advance(60)
    found = placed(cluster)
    assert sorted(node for node in found.values() if node) == sorted(volumes)
    for one in cluster.list("PersistentVolume"):
        (term,) = one.spec.node_affinity.required.node_selector_terms
        pod_name = one.spec.claim_ref.name.removeprefix("data-")
        assert term.match_expressions[0].values == [found[pod_name]]
    for name in (name for name, node in found.items() if not node):
        assert scheduled(cluster, name).message.startswith(NONE_LEFT)
        assert cluster.get("pvc", f"data-{name}").status.phase == "Pending"


def test_a_pod_is_bound_a_second_after_its_volume_was_chosen() -> None:
    """PollUntilContextTimeout looks after the first second, not at once."""
    cluster = hollow(1)
    cluster.apply([LOCAL, volume("v", "node-1"), claim("c"), using("a", "c")])
    assert cluster.get("pvc", "c").status.phase == "Bound"
    assert placed(cluster) == {"a": ""} and cluster.pod("a").status.nominated_node_name == "node-1"
    cluster.advance(1)
    assert placed(cluster) == {"a": "node-1"} and cluster.pod("a").status.nominated_node_name == ""


@pytest.mark.parametrize(
    ("release", "nominated", "text"),
    [
        ("1.36", "node-1", "context deadline exceeded"),
        ("1.34", "", "context deadline exceeded"),
        ("1.24", "", "timed out waiting for the condition"),
    ],
)
def test_a_pod_waits_for_a_provisioner_until_the_bind_timeout(release: str, nominated: str, text: str) -> None:
    cluster = hollow(2, release=release)
    cluster.apply([storage_class("csi.example.io"), claim("c"), using("a", "c")])
    waiting = cluster.get("pvc", "c")
    assert waiting.metadata.annotations["volume.kubernetes.io/selected-node"] == "node-1"
    assert "ExternalProvisioning" in [reason for reason, _ in told(cluster, "PersistentVolumeClaim")]
    cluster.advance(599)
    assert placed(cluster) == {"a": ""} and cluster.pod("a").status.nominated_node_name == nominated
    assert told(cluster, "Pod") == []
    cluster.advance(1)
    message = f'running PreBind plugin "VolumeBinding": binding volumes: {text}'
    assert told(cluster, "Pod") == [("FailedScheduling", message)]
    condition = scheduled(cluster, "a")
    assert (condition.status, condition.reason, condition.message) == ("False", "SchedulerError", message)
    assert cluster.pod("a").status.nominated_node_name == ""
    cluster.cordon("node-1")  # the chosen node stays the only candidate
    cluster.advance(30)
    assert "had volume node affinity" not in scheduled(cluster, "a").message
    assert "1 node(s) didn't find available persistent volumes to bind" in scheduled(cluster, "a").message


def test_a_volume_that_comes_late_lets_the_pod_go_on() -> None:
    cluster = hollow(2)
    cluster.apply([storage_class("csi.example.io"), claim("c"), using("a", "c")])
    cluster.advance(100)
    made = volume("v", "node-1")
    made["spec"]["claimRef"] = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "c"}
    cluster.apply([made])
    cluster.advance(1)
    assert placed(cluster) == {"a": "node-1"}


def test_a_provisioner_that_gives_up_sends_the_pod_to_the_scheduler_again() -> None:
    cluster = hollow(2)
    cluster.apply([storage_class("csi.example.io"), claim("c"), using("a", "c")])
    cluster.advance(10)
    cluster.patch("pvc", "c", {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": None}}})
    cluster.advance(1)
    text = 'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "c"'
    assert told(cluster, "Pod") == [("FailedScheduling", text)]
    cluster.advance(10)
    assert cluster.get("pvc", "c").metadata.annotations["volume.kubernetes.io/selected-node"] == "node-1"


def test_a_deleted_pod_gives_up_its_place_while_its_volume_is_awaited() -> None:
    cluster = hollow(1, scheduler=True)
    cluster.apply([storage_class("csi.example.io"), claim("c")])
    full = {"containers": [{"name": "c", "image": "app:1", "resources": {"requests": {"cpu": "4"}}}]}
    cluster.apply([using("a", "c", **full)])
    cluster.apply([pod("b", **full)])
    assert placed(cluster) == {"a": "", "b": ""}
    cluster.delete("Pod", "a")
    cluster.advance(2)
    assert placed(cluster) == {"b": "node-1"}


def test_a_claim_of_a_pod_that_names_its_node_waits_for_ever() -> None:
    """The scheduler alone chooses nodes for claims: shouldDelayBinding, findNonScheduledPodsByPVC."""
    cluster = hollow(1)
    cluster.apply([storage_class("kitlib.example/hostpath"), claim("c"), using("a", "c", nodeName="node-1")])
    cluster.advance(60)
    found = cluster.get("pvc", "c")
    assert found.status.phase == "Pending" and not found.metadata.annotations
    said = [reason for reason, _ in told(cluster, "PersistentVolumeClaim")]
    assert said == ["WaitForFirstConsumer"]
    cluster.apply([using("b", "c")])
    cluster.advance(1)
    assert cluster.get("pvc", "c").status.phase == "Bound"


def test_a_question_sees_the_volumes_that_are_promised() -> None:
    cluster = hollow(2)
    cluster.apply([LOCAL, volume("v", "node-2"), claim("c"), claim("d"), using("a", "c")])
    assert cluster.explain("a").suggested_host == "node-2"
    from kitlib.api.core import Pod
    from kitlib.api.serialize import from_dict

    other = from_dict(using("b", "d"), Pod)
    assert cluster.explain(other).message.startswith(NONE_LEFT)
