"""Owners and dependents: background, foreground and orphan deletion, dangling references, finalizers."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kitlib.api.clock import EPOCH
from kitlib.api.serialize import from_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.controllers.descriptors import CONTROLLERS
from kitlib.controllers.manager import ControllerManager
from tests.controllers.builders import hollow, names, pod, workload


@pytest.mark.parametrize(
    ("propagation", "sets", "pods"), [("Background", 0, 0), ("Foreground", 0, 0), ("Orphan", 1, 2)]
)
def test_what_stays_of_a_deleted_deployment(propagation, sets, pods):
    cluster = hollow()
    cluster.apply([workload("Deployment", replicas=2)])
    cluster.api.delete("Deployment", "web", "default", propagation=propagation)
    cluster.settle()
    assert cluster.list("Deployment") == []
    assert (len(cluster.list("ReplicaSet")), len(cluster.pods())) == (sets, pods)
    assert all(not one.metadata.owner_references for one in cluster.list("ReplicaSet"))


def test_foreground_deletion_waits_for_dependents_that_are_kept():
    cluster = hollow()
    cluster.apply([workload("ReplicaSet", replicas=1)])
    held = cluster.pods()[0]
    held.metadata.finalizers = ["example.com/hold"]
    cluster.api.store.update(held)
    cluster.api.delete("ReplicaSet", "web", "default", propagation="Foreground")
    cluster.settle()
    assert cluster.get("ReplicaSet", "web").metadata.deletion_timestamp is not None
    cluster.patch("Pod", held.name, {"metadata": {"finalizers": None}})
    assert cluster.list("ReplicaSet") == [] and cluster.pods() == []


def test_a_dependent_with_another_owner_only_loses_the_reference():
    cluster = hollow()
    cluster.apply([workload("ReplicaSet", "a", 1), workload("ReplicaSet", "b", 0)])
    owned = cluster.pods()[0]
    other = cluster.get("ReplicaSet", "b")
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "b", "uid": other.metadata.uid}
    cluster.patch("Pod", owned.name, {"metadata": {"ownerReferences": [reference]}})
    cluster.delete("ReplicaSet", "a")
    assert [ref.name for ref in cluster.pods()[0].metadata.owner_references] == ["b"]


def owned(name, kind, owner, uid, namespace="default", **more):
    """A ConfigMap with one owner."""
    reference = {"apiVersion": "v1", "kind": kind, "name": owner, "uid": uid, **more}
    metadata = {"name": name, "namespace": namespace, "ownerReferences": [reference]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def test_an_owner_in_another_namespace_is_none_and_an_event_says_so():
    cluster = hollow()
    cluster.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}])
    cluster.apply([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner", "namespace": "shop"}}])
    uid = cluster.get("ConfigMap", "owner", "shop").metadata.uid
    cluster.apply([owned("a", "ConfigMap", "owner", uid)])
    cluster.settle()
    assert "a" not in {one.name for one in cluster.list("ConfigMap", "default")}
    event = next(one for one in cluster.list("Event") if one.reason == "OwnerRefInvalidNamespace")
    named = f"[v1/ConfigMap, namespace: default, name: owner, uid: {uid}]"
    assert event.message == f'ownerRef {named} does not exist in namespace "default"'


@pytest.mark.parametrize(
    ("kind", "name", "kept"),
    [
        ("ConfigMap", "owner", True),
        ("ConfigMap", "other", False),  # the UID is right, the name is not
        ("Secret", "owner", False),
        ("Unheard", "owner", True),  # nothing is known of a kind that the server lacks
    ],
)
def test_an_owner_is_looked_up_by_kind_and_name(kind, name, kept):
    cluster = hollow()
    cluster.apply([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}}])
    uid = cluster.get("ConfigMap", "owner").metadata.uid
    cluster.apply([owned("a", kind, name, uid)])
    cluster.settle()
    assert ("a" in {one.name for one in cluster.list("ConfigMap", "default")}) == kept


def test_a_cluster_scoped_object_is_never_collected_for_a_namespaced_owner():
    cluster = hollow()
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "1"}
    metadata = {"name": "high", "ownerReferences": [reference]}
    cluster.apply([{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": metadata, "value": 5}])
    cluster.settle()
    assert "high" in {one.name for one in cluster.list("PriorityClass")}


def test_a_ring_of_owners_in_foreground_deletion_ends():
    cluster = hollow()
    for name in ("a", "b"):
        cluster.apply([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}])
    for name, owner in (("a", "b"), ("b", "a")):
        uid = cluster.get("ConfigMap", owner).metadata.uid
        cluster.apply([owned(name, "ConfigMap", owner, uid, blockOwnerDeletion=True)])
    cluster.api.delete("ConfigMap", "a", "default", propagation="Foreground")
    cluster.settle()
    assert not {"a", "b"} & {one.name for one in cluster.list("ConfigMap", "default")}


def test_pods_of_a_deleted_node_are_deleted():
    cluster = hollow(2)
    cluster.apply([pod("a", nodeName="node-1"), pod("b", nodeName="node-2")])
    cluster.delete("Node", "node-1")
    cluster.advance(39)
    assert names(cluster) == ["a", "b"], "the node may come back"
    cluster.advance(2)
    assert names(cluster) == ["b"]


def test_a_deleted_namespace_is_left_alone_for_five_seconds_and_looked_at_again_in_time():
    """The rules of enqueueNamespace and of the worker: half the longest grace period and a second."""
    cluster = hollow(1)
    cluster.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}])
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"}}
    cluster.apply([settings])
    cluster.delete("Namespace", "shop")
    cluster.advance(4)
    assert cluster.get("ConfigMap", "settings", "shop") and cluster.get("Namespace", "shop").status == {
        "phase": "Terminating"
    }
    cluster.advance(2)
    assert "shop" not in {one.name for one in cluster.list("Namespace")}


def test_a_pod_that_outlives_its_grace_period_is_said_to_remain():
    """The rule of deleteAllContentForGroupVersionResource: nothing holds the pod, and its time is over."""
    now = [EPOCH]
    api = APIServer(lambda: now[0])
    manager = ControllerManager(api, [one for one in CONTROLLERS if one.name == "namespace-controller"])
    api.create(from_dict({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}))
    late = pod("late", terminationGracePeriodSeconds=20, nodeName="a-node-that-hangs")
    late["metadata"]["namespace"] = "shop"
    running = api.create(from_dict(late))
    running.status.phase = "Running"
    api.update_status(running)
    api.delete("Namespace", "shop")

    def failure(seconds: float) -> tuple[str, str]:
        now[0] += timedelta(seconds=seconds)
        manager.run()
        found = api.store.get("Namespace", "shop").status["conditions"]
        return next((c["reason"], c["message"]) for c in found if c["type"] == "NamespaceDeletionContentFailure")

    fine = ("ContentDeleted", "All content successfully deleted, may be waiting on finalization")
    assert failure(5) == failure(14) == fine
    what = "unexpected items still remain in namespace: shop for gvr: /v1, Resource=pods"
    assert failure(12) == ("ContentDeletionFailed", f"Failed to delete all resource types, 1 remaining: {what}")


def test_a_namespace_is_terminating_until_it_is_empty_and_takes_nothing_new():
    cluster = hollow()
    cluster.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}])
    held = pod("held")
    held["metadata"] |= {"namespace": "shop", "finalizers": ["example.com/hold"]}
    cluster.apply([held])
    cluster.delete("Namespace", "shop")
    cluster.advance(5)
    namespace = cluster.get("Namespace", "shop")
    assert namespace.status["phase"] == "Terminating"
    remaining = next(one for one in namespace.status["conditions"] if one["type"] == "NamespaceContentRemaining")
    assert remaining["message"] == "Some resources are remaining: pods. has 1 resource instances"
    late = pod("late")
    late["metadata"]["namespace"] = "shop"
    with pytest.raises(
        Exception, match="unable to create new content in namespace shop because it is being terminated"
    ):
        cluster.create(late)
    cluster.patch("Pod", "held", {"metadata": {"finalizers": None}}, "shop")
    cluster.advance(16)
    assert "shop" not in {one.name for one in cluster.list("Namespace")}


@pytest.mark.parametrize(("release", "kept"), [("1.36", True), ("1.32", False)])
def test_a_namespaces_pods_go_before_what_they_may_need(release, kept):
    """KEP-5080, OrderedNamespaceDeletion; by default since 1.33."""
    cluster = hollow(release=release)
    held = pod("held")
    held["metadata"] |= {"namespace": "shop", "finalizers": ["example.com/hold"]}
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"}}
    cluster.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}, settings, held])
    cluster.delete("Namespace", "shop")
    cluster.advance(5)
    assert ("settings" in {one.name for one in cluster.list("ConfigMap", "shop")}) == kept
    cluster.patch("Pod", "held", {"metadata": {"finalizers": None}}, "shop")
    cluster.advance(16)
    assert "shop" not in {one.name for one in cluster.list("Namespace")}
