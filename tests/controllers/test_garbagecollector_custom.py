"""Owners, dependents and namespaces of custom objects: the collector follows references of every kind."""

from __future__ import annotations

import pytest

from tests.apiserver.admission.custom.definitions import custom, definition
from tests.controllers.builders import hollow, pod


def widget(name, finalizers=(), owners=(), namespace="default"):
    metadata = {"name": name, "namespace": namespace, "finalizers": list(finalizers), "ownerReferences": list(owners)}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata}


def reference(owner, **more):
    of = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.metadata.uid}
    return {**of, **more}


def owned_by(name, *owners):
    metadata = {"name": name, "namespace": "default", "ownerReferences": list(owners)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_whatever_a_custom_object_owns_goes_with_it(propagation):
    cluster = hollow()
    cluster.apply([definition("widgets", "Widget", "example.com")])
    cluster.apply(widget("w"))
    mine = reference(cluster.get("widgets", "w"), controller=True, blockOwnerDeletion=True)
    owned_pod = pod("p")
    owned_pod["metadata"]["ownerReferences"] = [mine]
    cluster.apply([owned_pod, owned_by("c", mine), widget("v", owners=[mine])])
    second = reference(cluster.get("widgets", "v"))
    cluster.apply(owned_by("d", second))
    cluster.settle()
    cluster.delete("widgets", "w", propagation_policy=propagation)
    cluster.advance(40)  # the pod's grace period
    assert cluster.list("widgets") == [] and cluster.pods() == []
    assert [one.name for one in cluster.list("ConfigMap") if one.name in "cd"] == []


def test_an_orphaned_dependent_of_a_custom_object_loses_its_reference():
    cluster = hollow()
    cluster.apply([definition("widgets", "Widget", "example.com")])
    cluster.apply(widget("w"))
    cluster.apply(owned_by("c", reference(cluster.get("widgets", "w"))))
    cluster.delete("widgets", "w", propagation_policy="Orphan")
    cluster.settle()
    assert cluster.list("widgets") == []
    assert cluster.get("ConfigMap", "c").metadata.owner_references == []


def test_an_owner_is_known_by_its_uid_and_its_group():
    cluster = hollow()
    cluster.apply([definition("widgets", "Widget", "example.com"), definition("jobs", "Job", "example.com")])
    cluster.apply([widget("w"), custom("Job", "example.com", "j"), owned_by("kept")])
    living, job = cluster.get("widgets", "w"), cluster.get("jobs.example.com", "j")
    absent = {**reference(living), "uid": "an earlier one"}
    cluster.apply(
        [
            owned_by("renamed", absent),  # the same name, another object
            owned_by("held", absent, reference(living)),
            owned_by("held-by-job", reference(job)),
            owned_by("misnamed", {**reference(job), "apiVersion": "batch/v1"}),
            owned_by("unserved", {**absent, "apiVersion": "other.example.com/v1"}),
        ]
    )
    cluster.settle()
    kept = {one.name: one for one in cluster.list("ConfigMap") if one.name != "kube-root-ca.crt"}
    assert sorted(kept) == ["held", "held-by-job", "kept", "unserved"]
    assert [one.uid for one in kept["held"].metadata.owner_references] == [living.metadata.uid]


def test_a_dependent_of_an_unserved_kind_is_collected_when_the_kind_is_served():
    cluster = hollow()
    lost = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "gone"}
    cluster.apply(owned_by("c", lost))
    cluster.advance(60)
    assert cluster.api.store.find("ConfigMap", "c", "default") is not None
    cluster.apply(definition("widgets", "Widget", "example.com"))
    cluster.settle()
    assert cluster.api.store.find("ConfigMap", "c", "default") is None


def test_a_custom_object_with_a_finalizer_keeps_its_namespace():
    cluster = hollow()
    cluster.apply(
        [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fin"}},
            definition("widgets", "Widget", "example.com"),
            widget("w", ["example.com/hold"], namespace="fin"),
            widget("v", namespace="fin"),
        ]
    )
    cluster.delete("Namespace", "fin")
    cluster.advance(20)
    status = cluster.get("Namespace", "fin").status
    said = {one["type"]: (one["status"], one["message"]) for one in status["conditions"]}
    assert said["NamespaceContentRemaining"] == (
        "True",
        "Some resources are remaining: widgets.example.com has 1 resource instances",
    )
    assert said["NamespaceFinalizersRemaining"] == (
        "True",
        "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
    )
    held = cluster.list("widgets", namespace="fin")[0]
    assert held.metadata.deletion_timestamp is not None
    held.metadata.finalizers = []
    cluster.api.update(held)
    cluster.advance(20)
    assert cluster.api.store.find("Namespace", "fin") is None
