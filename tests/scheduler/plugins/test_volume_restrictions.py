"""VolumeRestrictions: claims for one pod, and disks that one node uses at a time."""

from typing import Any

import pytest

from kitlib.api.serialize import load
from kitlib.scheduler.scheduler import Scheduler
from tests.scheduler.storage import NODES, STORAGE, pod


@pytest.mark.parametrize(
    ("release", "reason"),
    [
        ("1.33", "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"),
        (
            "1.36",
            "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
            "another pod",
        ),
    ],
)
def test_a_claim_for_one_pod_keeps_others_off_every_node(release, reason):
    free = (
        "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv-b}\nspec: {accessModes: [ReadWriteOncePod]}\n---"
    )
    volumes = [*load(STORAGE), *load(free)]
    standing = pod("once", name="first", on="b")
    decision = Scheduler(NODES, [standing], volumes=volumes, release=release).explain(pod("once", name="second"))
    assert {node: decision.reasons_of(node) for node in "ab"} == {"a": [reason], "b": [reason]}


def test_a_claim_in_use_did_not_matter_before_the_feature_was_on():
    standing = pod("once", name="first", on="b")
    found = Scheduler(NODES, [standing], volumes=load(STORAGE), release="1.26").explain(pod("once", name="second"))
    assert found.feasible == ["b"]


def test_a_disk_is_used_by_one_node_at_a_time():
    disk = {"awsElasticBlockStore": {"volumeID": "v1"}}
    decision = Scheduler(NODES, [pod(name="first", on="a", **disk)]).explain(pod(**disk))
    assert decision.reasons_of("a") == ["node(s) had no available disk"]


GCE, ISCSI, RBD = "gcePersistentDisk", "iscsi", "rbd"
QN = {"targetPortal": "x", "iqn": "i", "lun": 0}
IMAGE = {"monitors": ["m", "n"], "image": "i", "pool": "p"}


@pytest.mark.parametrize(
    ("kind", "held", "wanted", "free"),
    [
        (GCE, {"pdName": "d"}, {"pdName": "d"}, False),
        (GCE, {"pdName": "d"}, {"pdName": "e"}, True),
        (GCE, {"pdName": "d", "readOnly": True}, {"pdName": "d", "readOnly": True}, True),
        (GCE, {"pdName": "d", "readOnly": True}, {"pdName": "d"}, False),
        ("awsElasticBlockStore", {"volumeID": "d", "readOnly": True}, {"volumeID": "d", "readOnly": True}, False),
        (ISCSI, QN, QN, False),
        (ISCSI, QN, {**QN, "iqn": "j"}, True),
        (ISCSI, {**QN, "readOnly": True}, {**QN, "readOnly": True}, True),
        (ISCSI, QN, {**QN, "readOnly": True}, False),
        (RBD, IMAGE, IMAGE, False),
        (RBD, IMAGE, {**IMAGE, "monitors": ["n", "o"]}, False),
        (RBD, IMAGE, {**IMAGE, "monitors": ["o"]}, True),
        (RBD, IMAGE, {**IMAGE, "pool": "q"}, True),
        (RBD, IMAGE, {**IMAGE, "image": "j"}, True),
        (RBD, {**IMAGE, "readOnly": True}, {**IMAGE, "readOnly": True}, True),
        (RBD, {**IMAGE, "readOnly": True}, IMAGE, False),
        (RBD, {"monitors": ["m"], "image": "i"}, {"monitors": ["m"], "image": "i", "pool": "rbd"}, False),
    ],
)
def test_two_pods_on_one_node_use_a_disk_only_to_read_it(
    kind: str, held: dict[str, Any], wanted: dict[str, Any], free: bool
) -> None:
    """An EBS volume is never shared. Source: volumerestrictions isVolumeConflict."""
    decision = Scheduler(NODES, [pod(name="first", on="a", **{kind: held})]).explain(pod(**{kind: wanted}))
    assert decision.reasons_of("a") == ([] if free else ["node(s) had no available disk"])
    assert "b" in decision.feasible


@pytest.mark.parametrize("held", [GCE, ISCSI, RBD, "awsElasticBlockStore", "emptyDir"])
@pytest.mark.parametrize("wanted", [GCE, ISCSI, RBD, "awsElasticBlockStore", "emptyDir"])
def test_disks_of_different_kinds_are_different_disks(held: str, wanted: str) -> None:
    same: dict[str, dict[str, Any]] = {
        GCE: {"pdName": "d"}, ISCSI: QN, RBD: IMAGE, "awsElasticBlockStore": {"volumeID": "d"}, "emptyDir": {},
    }  # fmt: skip
    decision = Scheduler(NODES, [pod(name="first", on="a", **{held: same[held]})]).explain(
        pod(**{wanted: same[wanted]})
    )
    assert ("a" in decision.feasible) is (held != wanted or held == "emptyDir")


def test_a_claim_of_the_same_name_in_another_namespace_is_another_claim():
    standing = pod("once", name="first", on="b")
    standing.metadata.namespace = "other"
    found = Scheduler(NODES, [standing], volumes=load(STORAGE), release="1.36").explain(pod("once", name="second"))
    assert found.feasible == ["b"]
