"""Claims and volumes: binding, delayed binding, provisioning, protection, reclaiming, ephemeral volumes."""

from __future__ import annotations

import pytest

from tests.controllers.builders import hollow, pod, told

PROVISIONER = "kitlib.example/hostpath"


def claim(name: str = "c", size: str = "1Gi", **spec) -> dict:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def volume(name: str, size: str, policy: str = "Retain", **spec) -> dict:
    given = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/data"}}
    spec = {**given, "persistentVolumeReclaimPolicy": policy, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}


def storage_class(name: str, provisioner: str = PROVISIONER, mode: str = "Immediate") -> dict:
    meta = {"name": name}
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": meta}
    return {**kind, "provisioner": provisioner, "volumeBindingMode": mode}


def using(name: str, *claims: str) -> dict:
    volumes = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims]
    return pod(name, volumes=volumes)


def phase(cluster, kind: str, name: str) -> str:
    return str(cluster.get(kind, name).status.phase)


@pytest.mark.parametrize(
    ("volumes", "bound"),
    [
        ([volume("small", "500Mi"), volume("large", "5Gi"), volume("fits", "2Gi")], "fits"),
        ([volume("small", "500Mi")], ""),
        ([volume("class", "2Gi", storageClassName="x")], ""),
        ([volume("mode", "2Gi", accessModes=["ReadOnlyMany"])], ""),
        ([volume("block", "2Gi", volumeMode="Block")], ""),
    ],
)
def test_a_claim_gets_the_smallest_volume_that_fits(volumes, bound):
    cluster = hollow()
    cluster.apply([*volumes, claim()])
    assert cluster.get("pvc", "c").spec.volume_name == bound
    assert phase(cluster, "pvc", "c") == ("Bound" if bound else "Pending")
    if not bound:
        why = "no persistent volumes available for this claim and no storage class is set"
        assert ("FailedBinding", why) in told(cluster, "PersistentVolumeClaim")


def test_a_claim_waits_for_its_first_pod_and_its_volume_is_on_the_pods_node():
    cluster = hollow(2)
    cluster.apply([storage_class("local", mode="WaitForFirstConsumer"), claim(storageClassName="local")])
    why = "waiting for first consumer to be created before binding"
    assert ("WaitForFirstConsumer", why) in told(cluster, "PersistentVolumeClaim")
    cluster.apply([using("a", "c")])
    cluster.advance(1)
    assert phase(cluster, "pvc", "c") == "Bound"
    made = cluster.list("PersistentVolume")[0]
    terms = made.spec.node_affinity.required.node_selector_terms
    assert terms[0].match_expressions[0].values == [cluster.pod("a").spec.node_name]


def test_a_selected_node_that_does_not_exist_is_selected_again():
    cluster = hollow(1)
    waiting = claim(storageClassName="local")
    waiting["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": "node-9"}
    cluster.apply([storage_class("local", mode="WaitForFirstConsumer"), waiting])
    cluster.advance(1)
    assert ("ProvisioningFailed", 'node "node-9" not found') in told(cluster, "PersistentVolumeClaim")
    assert phase(cluster, "pvc", "c") == "Pending"
    cluster.apply([using("a", "c")])
    cluster.advance(1)
    assert phase(cluster, "pvc", "c") == "Bound"


WAITING = (
    "Waiting for a volume to be created either by the external provisioner '{}' or manually by the system "
    "administrator. "
    "If volume creation is delayed, please verify that the provisioner is running and correctly registered."
)
SERVED = {
    "example.com/none": ("ExternalProvisioning", WAITING.format("example.com/none")),
    "kubernetes.io/aws-ebs": ("ExternalProvisioning", WAITING.format("ebs.csi.aws.com")),
    "kubernetes.io/no-provisioner": (
        "ProvisioningFailed",
        "no volume plugin matched name: kubernetes.io/no-provisioner",
    ),
    "kubernetes.io/glusterfs": ("ProvisioningFailed", "no volume plugin matched name: kubernetes.io/glusterfs"),
    "kubernetes.io/host-path": (
        "ProvisioningFailed",
        'Failed to create provisioner: provisioning in volume plugin "kubernetes.io/host-path" is disabled',
    ),
}


@pytest.mark.parametrize("provisioner", SERVED)
def test_what_a_claim_says_that_no_provisioner_serves(provisioner):
    """The rules of findProvisionablePlugin and provisionClaimOperationExternal."""
    cluster = hollow()
    cluster.apply([storage_class("x", provisioner), claim(storageClassName="x")])
    assert phase(cluster, "pvc", "c") == "Pending"
    reason, message = SERVED[provisioner]
    assert (reason, message) in told(cluster, "PersistentVolumeClaim")
    annotations = cluster.get("pvc", "c").metadata.annotations
    names = {annotations.get(f"volume.{beta}kubernetes.io/storage-provisioner") for beta in ("", "beta.")}
    assert names == {message.split("'")[1] if reason == "ExternalProvisioning" else None}


def test_a_claim_in_use_is_deleted_when_its_pod_is_gone():
    cluster = hollow()
    cluster.apply([storage_class("x"), claim(storageClassName="x"), using("a", "c")])
    cluster.delete("pvc", "c")
    assert cluster.get("pvc", "c").metadata.deletion_timestamp is not None
    cluster.delete("Pod", "a")
    assert cluster.list("pvc") == []


def test_a_finished_pod_holds_its_claim_until_it_is_deleted():
    cluster = hollow()
    cluster.apply([volume("v", "1Gi"), claim(), using("web", "c")])
    done = cluster.pods()[0]
    done.status.phase = "Succeeded"
    cluster.api.update_status(done)
    cluster.delete("PersistentVolumeClaim", "c")
    assert cluster.get("PersistentVolumeClaim", "c").metadata.deletion_timestamp is not None
    cluster.delete("Pod", "web")
    assert cluster.list("PersistentVolumeClaim") == []


@pytest.mark.parametrize(("kind", "name"), [("PersistentVolumeClaim", "c"), ("PersistentVolume", "v")])
def test_a_protection_that_was_taken_away_comes_back(kind, name):
    cluster = hollow()
    cluster.apply([volume("v", "1Gi"), claim()])
    before = cluster.get(kind, name).metadata.finalizers
    cluster.patch(kind, name, {"metadata": {"finalizers": None}})
    assert before and cluster.get(kind, name).metadata.finalizers == before


PLUGIN = 'error getting deleter volume plugin for volume "v": no {}volume plugin matched'
RECLAIMED = {
    "retained": ({}, "Retain", ("Released", "")),
    "a directory": ({}, "Delete", ("Failed", "host_path deleter only supports /tmp/.+ but received provided /data")),
    "a temporary directory": ({"hostPath": {"path": "/tmp/data"}}, "Delete", None),
    "nfs": (
        {"nfs": {"server": "n", "path": "/"}, "hostPath": None},
        "Delete",
        ("Failed", PLUGIN.format("deletable ")),
    ),
    "csi": (
        {"csi": {"driver": "d", "volumeHandle": "h"}, "hostPath": None},
        "Delete",
        ("Failed", PLUGIN.format("")),
    ),
}


@pytest.mark.parametrize(("source", "policy", "left"), RECLAIMED.values(), ids=RECLAIMED.keys())
def test_a_released_volume_without_a_provisioner(source, policy, left):
    """The rules of findDeletablePlugin and hostPathDeleter."""
    cluster = hollow()
    cluster.apply([volume("v", "2Gi", policy, **source), claim()])
    assert phase(cluster, "pvc", "c") == "Bound"
    cluster.delete("pvc", "c")
    found = [(one.status.phase, one.status.message) for one in cluster.list("PersistentVolume")]
    assert found == ([] if left is None else [left])
    events = [message for reason, message in told(cluster, "PersistentVolume") if reason == "VolumeFailedDelete"]
    assert events == ([left[1]] if left is not None and left[1] else [])


def test_a_volume_of_another_provisioner_is_left_to_its_driver():
    cluster = hollow()
    made = volume("v", "2Gi", "Delete", hostPath={"path": "/tmp/data"})
    made["metadata"]["annotations"] = {"pv.kubernetes.io/provisioned-by": "csi.example.com"}
    cluster.apply([made, claim()])
    cluster.delete("pvc", "c")
    assert phase(cluster, "PersistentVolume", "v") == "Released"


def test_a_provisioned_volume_goes_with_its_claim():
    cluster = hollow()
    cluster.apply([storage_class("x"), claim(storageClassName="x")])
    assert len(cluster.list("PersistentVolume")) == 1
    cluster.delete("pvc", "c")
    assert cluster.list("PersistentVolume") == []


def test_a_claim_whose_volume_is_gone_is_lost():
    cluster = hollow()
    cluster.apply([volume("v", "2Gi"), claim()])
    cluster.api.store.delete("PersistentVolume", "v")
    cluster.settle()
    assert phase(cluster, "pvc", "c") == "Lost"


def test_an_ephemeral_volume_has_a_claim_that_goes_with_the_pod():
    cluster = hollow()
    wanted = {"volumeClaimTemplate": {"spec": {**claim()["spec"], "storageClassName": "x"}}}
    cluster.apply([storage_class("x"), pod("a", volumes=[{"name": "scratch", "ephemeral": wanted}])])
    assert phase(cluster, "pvc", "a-scratch") == "Bound"
    cluster.delete("Pod", "a")
    assert cluster.list("pvc") == []


def test_a_claim_without_a_class_gets_the_default_one():
    cluster = hollow()
    made = storage_class("std")
    made["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
    cluster.apply([claim(), made])
    assert cluster.get("pvc", "c").spec.storage_class_name == "std"
    assert phase(cluster, "pvc", "c") == "Bound"


def test_a_claim_that_has_grown_waits_for_its_driver():
    """The rule of the expand controller; a claim whose volume is large enough already says nothing."""
    cluster = hollow()
    grows = {**storage_class("grows", "csi.example.com"), "allowVolumeExpansion": True}
    cluster.apply([grows, volume("v", "5Gi", storageClassName="grows"), claim(storageClassName="grows")])

    def waits() -> bool:
        message = "waiting for an external controller to expand this PVC"
        return ("ExternalExpanding", message) in told(cluster, "PersistentVolumeClaim")

    for size, said in (("4Gi", False), ("6Gi", True)):
        cluster.patch("pvc", "c", {"spec": {"resources": {"requests": {"storage": size}}}})
        assert waits() == said
