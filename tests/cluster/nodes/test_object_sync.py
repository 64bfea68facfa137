"""A node gets its Node and what its pods name, and the volume of a claim once the claim is bound."""

from __future__ import annotations

from kitlib.cluster import Cluster
from kitlib.cluster.nodes.object_sync import ObjectSync

CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "local"},
    "provisioner": "kitlib.example/hostpath",
    "volumeBindingMode": "WaitForFirstConsumer",
}
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "resources": {"requests": {"storage": "1Gi"}},
    },
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "db"},
    "spec": {
        "schedulerName": "mine",
        "containers": [{"name": "main", "image": "x", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    },
}


def test_the_volume_of_a_claim_follows_when_it_is_bound() -> None:
    cluster = Cluster.simulated(1)
    (node,) = [one.name for one in cluster.nodes]
    cluster.apply([CLASS, CLAIM, POD])
    cluster.advance(5)
    cluster.bind("db", node)
    sync = ObjectSync(node)
    sent = sync.changes(cluster.pods(), cluster.api)
    assert sent is not None and [one["kind"] for one in sent] == ["Node", "PersistentVolumeClaim"]
    assert sync.changes(cluster.pods(), cluster.api) is None
    chosen = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": node}}}
    cluster.patch("PersistentVolumeClaim", "data", chosen)
    cluster.advance(20)
    sent = sync.changes(cluster.pods(), cluster.api)
    assert sent is not None
    assert [one["kind"] for one in sent] == ["Node", "PersistentVolumeClaim", "PersistentVolume"]


def test_a_node_gets_the_services_of_its_pods_namespaces() -> None:
    cluster = Cluster.simulated(1)
    pod = {**POD, "spec": {"containers": [{"name": "main", "image": "x"}]}}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}
    elsewhere = {**service, "metadata": {"name": "web", "namespace": "kube-system"}}
    cluster.apply([pod, service, elsewhere])
    cluster.advance(5)
    sent = ObjectSync(cluster.nodes[0].name).changes(cluster.pods(), cluster.api)
    assert sent is not None
    assert [(one["kind"], one["metadata"].get("namespace")) for one in sent] == [("Node", None), ("Service", "default")]
