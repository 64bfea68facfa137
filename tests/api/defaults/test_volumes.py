"""Defaults of volumes, claims, PersistentVolumes, storage classes and drivers."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict, to_dict


def spec_of(kind: str, spec: dict[str, Any], version: str = "v1") -> dict[str, Any]:
    """The specification of an object with its defaults."""
    made = set_defaults(from_dict({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}))
    return dict(to_dict(made).get("spec", {}))


def volume(source: dict[str, Any]) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "x"}], "volumes": [{"name": "v", **source}]}
    (made,) = spec_of("Pod", spec)["volumes"]
    assert made.pop("name") == "v"
    return dict(made)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"emptyDir": {}}),
        ({"secret": {"secretName": "s"}}, {"secret": {"secretName": "s", "defaultMode": 420}}),
        ({"configMap": {"name": "s", "defaultMode": 0}}, {"configMap": {"name": "s", "defaultMode": 0}}),
        ({"hostPath": {"path": "/a"}}, {"hostPath": {"path": "/a", "type": ""}}),
        (
            {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            {"projected": {"defaultMode": 420,
                           "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}]}},
        ),
        (
            {"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            {"downwardAPI": {"defaultMode": 420,
                             "items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v1"}}]}},
        ),
        ({"iscsi": {"targetPortal": "a", "iqn": "b", "lun": 1}},
         {"iscsi": {"targetPortal": "a", "iqn": "b", "lun": 1, "iscsiInterface": "default"}}),
        ({"rbd": {"monitors": ["a"], "image": "b"}},
         {"rbd": {"monitors": ["a"], "image": "b", "pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}}),
        ({"image": {"reference": "a:1"}}, {"image": {"reference": "a:1", "pullPolicy": "IfNotPresent"}}),
        ({"image": {"reference": "a"}}, {"image": {"reference": "a", "pullPolicy": "Always"}}),
    ],
)  # fmt: skip
def test_a_volume(given: dict[str, Any], expected: dict[str, Any]) -> None:
    """Source: SetDefaults_Volume and of its sources."""
    assert volume(given) == expected


@pytest.mark.parametrize(
    ("kind", "version", "given", "expected"),
    [
        ("PersistentVolumeClaim", "v1", {}, {"volumeMode": "Filesystem"}),
        ("PersistentVolumeClaim", "v1", {"volumeMode": "Block"}, {"volumeMode": "Block"}),
        ("PersistentVolume", "v1", {}, {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"}),
        (
            "CSIDriver",
            "storage.k8s.io/v1",
            {},
            {
                "attachRequired": True,
                "fsGroupPolicy": "ReadWriteOnceWithFSType",
                "podInfoOnMount": False,
                "requiresRepublish": False,
                "seLinuxMount": False,
                "storageCapacity": False,
                "volumeLifecycleModes": ["Persistent"],
            },
        ),
    ],
)
def test_an_object_of_storage(kind: str, version: str, given: dict[str, Any], expected: dict[str, Any]) -> None:
    made = spec_of(kind, given, version)
    assert {name: made[name] for name in expected} == expected


def test_a_storage_class() -> None:
    data = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "x"}, "provisioner": "a.b"}
    made = to_dict(set_defaults(from_dict(data)))
    assert (made["reclaimPolicy"], made["volumeBindingMode"]) == ("Delete", "Immediate")
