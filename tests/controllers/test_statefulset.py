"""StatefulSets: order, partition, OnDelete, ordinals, claims and their retention."""

from __future__ import annotations

import pytest

from tests.controllers.builders import hollow, image, names, pod, told, workload

CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "local", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": "kitlib.example/hostpath",
}


def images(cluster) -> dict[str, str]:
    return {one.name: one.spec.containers[0].image for one in cluster.pods()}


@pytest.mark.parametrize(
    ("strategy", "updated"),
    [
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}, {"db-2"}),
        ({"type": "RollingUpdate"}, {"db-0", "db-1", "db-2"}),
        ({"type": "OnDelete"}, set()),
    ],
)
def test_which_pods_a_new_template_replaces(strategy, updated):
    cluster = hollow()
    cluster.apply([workload("StatefulSet", "db", 3, updateStrategy=strategy)])
    cluster.patch("StatefulSet", "db", image(2))
    assert {name for name, found in images(cluster).items() if found == "app:2"} == updated
    status = cluster.get("sts", "db").status
    assert status.get("updatedReplicas", 0) == len(updated)
    assert (status["currentRevision"] == status["updateRevision"]) == (len(updated) == 3)


def test_with_on_delete_a_deleted_pod_comes_back_new():
    cluster = hollow()
    cluster.apply([workload("StatefulSet", "db", 2, updateStrategy={"type": "OnDelete"})])
    cluster.patch("StatefulSet", "db", image(2))
    cluster.delete("Pod", "db-0")
    assert images(cluster) == {"db-0": "app:2", "db-1": "app:1"}


def test_a_deleted_pod_below_the_partition_comes_back_old():
    cluster = hollow()
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    cluster.apply([workload("StatefulSet", "db", 2, updateStrategy=rolling)])
    cluster.patch("StatefulSet", "db", image(2))
    cluster.delete("Pod", "db-0")
    assert images(cluster) == {"db-0": "app:1", "db-1": "app:2"}


def test_ordinals_start_where_they_should_and_pods_go_from_the_highest():
    cluster = hollow()
    cluster.apply([workload("StatefulSet", "db", 3, ordinals={"start": 5})])
    assert names(cluster) == ["db-5", "db-6", "db-7"]
    cluster.scale("StatefulSet", "db", 1)
    assert names(cluster) == ["db-5"]
    assert [m for r, m in told(cluster, "StatefulSet") if r == "SuccessfulDelete"] == [
        "Delete Pod db-7 in StatefulSet db successful",
        "Delete Pod db-6 in StatefulSet db successful",
    ]


def test_a_rollout_makes_a_revision_and_going_back_uses_the_old_one():
    cluster = hollow()
    cluster.apply([workload("StatefulSet", "db", 1)])
    cluster.patch("StatefulSet", "db", image(2))
    cluster.patch("StatefulSet", "db", image(1))
    revisions = cluster.list("ControllerRevision")
    assert sorted(one.revision for one in revisions) == [2, 3]


def test_claims_are_made_bound_and_kept():
    cluster = hollow()
    cluster.apply([CLASS, workload("StatefulSet", "db", 2, volumeClaimTemplates=[CLAIM])])
    assert {one.name: one.status.phase for one in cluster.list("pvc")} == {"data-db-0": "Bound", "data-db-1": "Bound"}
    assert cluster.pod("db-1").spec.volumes[0].persistent_volume_claim.claim_name == "data-db-1"
    cluster.delete("StatefulSet", "db")
    assert not cluster.pods() and len(cluster.list("pvc")) == 2


@pytest.mark.parametrize(
    ("policy", "after_scaling", "after_deleting"),
    [
        ({"whenScaled": "Retain", "whenDeleted": "Delete"}, 2, 0),
        ({"whenScaled": "Delete", "whenDeleted": "Retain"}, 1, 1),
        ({"whenScaled": "Delete", "whenDeleted": "Delete"}, 1, 0),
    ],
)
def test_claims_go_when_the_retention_policy_says_so(policy, after_scaling, after_deleting):
    cluster = hollow()
    claims = {"volumeClaimTemplates": [CLAIM], "persistentVolumeClaimRetentionPolicy": policy}
    cluster.apply([CLASS, workload("StatefulSet", "db", 2, **claims)])
    cluster.scale("StatefulSet", "db", 1)
    assert len(cluster.list("pvc")) == after_scaling
    cluster.delete("StatefulSet", "db")
    if policy["whenScaled"] == "Retain":
        assert {one.name for one in cluster.list("pvc")} <= {"data-db-1"}, "the scaled-down pod's claim was kept"
    else:
        assert len(cluster.list("pvc")) == after_deleting


@pytest.mark.parametrize(
    ("kind", "label"), [("StatefulSet", "controller.kubernetes.io/hash"), ("DaemonSet", "controller-revision-hash")]
)
def test_a_revision_has_the_annotations_of_its_set_and_a_label_with_its_hash(kind: str, label: str) -> None:
    """Source: newRevision, snapshot; `kubectl rollout history` reads the change's cause there."""
    cluster = hollow(1)
    made = workload(kind)
    made["metadata"]["annotations"] = {"kubernetes.io/change-cause": "first"}
    cluster.apply(made)
    (revision,) = cluster.list("ControllerRevision")
    assert revision.metadata.annotations["kubernetes.io/change-cause"] == "first"
    assert revision.metadata.labels == {"app": "web", label: revision.name.removeprefix("web-")}


def test_a_claim_that_is_refused_keeps_its_pod_away_and_both_are_told_of() -> None:
    """The rules of createPersistentVolumeClaims: every claim is tried; the pod's event names all that failed."""
    cluster = hollow(1)
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
    other = {**CLAIM, "metadata": {"name": "log"}}
    cluster.apply([{**quota, "spec": {"hard": {"persistentvolumeclaims": "0"}}}])
    cluster.apply([workload("StatefulSet", "db", 1, volumeClaimTemplates=[CLAIM, other])])
    why = 'persistentvolumeclaims "{}-db-0" is forbidden: exceeded quota: q, requested: persistentvolumeclaims=1, '
    why += "used: persistentvolumeclaims=0, limited: persistentvolumeclaims=0"
    both = ", ".join(f"failed to create PVC {name}-db-0: {why.format(name)}" for name in ("data", "log"))
    assert names(cluster) == []
    assert set(told(cluster, "StatefulSet")) == {
        (
            "FailedCreate",
            f"Create Claim data-db-0 Pod db-0 in StatefulSet db failed error: {why.format('data')}",
        ),
        (
            "FailedCreate",
            f"Create Claim log-db-0 Pod db-0 in StatefulSet db failed error: {why.format('log')}",
        ),
        ("FailedCreate", f"Create Pod db-0 in StatefulSet db failed error: [{both}]"),
    }


def test_an_adopted_pod_gets_the_labels_of_its_place_and_a_removed_label_comes_back() -> None:
    """The rule of UpdateStatefulPod."""
    cluster = hollow(1)
    cluster.apply([pod("db-0", "db"), workload("StatefulSet", "db", 1)])
    label, index = "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"

    def labels() -> tuple[str | None, str | None]:
        found = cluster.pod("db-0").metadata.labels
        return found.get(label), found.get(index)

    assert labels() == ("db-0", "0")
    updated = ("SuccessfulUpdate", "Update Pod db-0 in StatefulSet db successful")
    assert updated in told(cluster, "StatefulSet")
    cluster.patch("Pod", "db-0", {"metadata": {"labels": {label: None}}})
    assert labels() == ("db-0", "0")


def test_a_pod_without_the_claims_of_its_place_is_told_of() -> None:
    """The rule of UpdateStatefulPod: the volumes of a pod cannot be changed; its claims are made nevertheless."""
    cluster = hollow(1)
    set_ = workload("StatefulSet", "db", 1, volumeClaimTemplates=[CLAIM], updateStrategy={"type": "OnDelete"})
    cluster.apply([CLASS, pod("db-0", "db"), set_])
    (failed,) = {message for reason, message in told(cluster, "StatefulSet") if reason == "FailedUpdate"}
    assert failed.startswith('Update Pod db-0 in StatefulSet db failed error: Pod "db-0" is invalid: spec: Forbidden:')
    assert [one.name for one in cluster.list("pvc")] == ["data-db-0"]


def test_a_deletion_that_is_refused_is_told_of() -> None:
    cluster = hollow(1)
    cluster.apply([workload("StatefulSet", "db", 1), workload("ReplicaSet", "web", 1)])
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "keep"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["DELETE"]}
                ]
            },
            "validations": [{"expression": "false", "message": "kept"}],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "keep"},
        "spec": {"policyName": "keep", "validationActions": ["Deny"]},
    }
    cluster.apply([policy, binding])
    for kind, name in (("StatefulSet", "db"), ("ReplicaSet", "web")):
        cluster.scale(kind, name, 0)
    denied = "denied request: kept"
    found = {kind: [m for r, m in told(cluster, kind) if r == "FailedDelete"] for kind in ("StatefulSet", "ReplicaSet")}
    assert found["StatefulSet"][0].startswith("Delete Pod db-0 in StatefulSet db failed error: ")
    assert found["ReplicaSet"][0].startswith("Error deleting: ")
    assert all(denied in messages[0] for messages in found.values())
