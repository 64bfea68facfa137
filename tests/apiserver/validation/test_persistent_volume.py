"""PersistentVolumes: access modes, capacity, exactly one source, and what an update keeps."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import PersistentVolume, PersistentVolumeSpec
from kitlib.api.names import SUBDOMAIN_TEXT
from kitlib.apiserver.validation.persistent_volume import (
    validate_persistent_volume,
    validate_persistent_volume_spec,
    validate_persistent_volume_update,
)
from tests.apiserver.validation.told import named, part, told

HOST = {"hostPath": {"path": "/a", "type": ""}}
CSI = {"csi": {"driver": "d", "volumeHandle": "h"}}
BASE = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
NOT_POSITIVE = "Invalid must be greater than zero"


def found(source: dict[str, Any] = HOST, **spec: Any) -> list[str]:
    """Return the errors of a volume's specification, without `s.`."""
    made = part(PersistentVolumeSpec, **{**BASE, **source, **spec})
    return [text.removeprefix("s.") for text in told(validate_persistent_volume_spec(made, "v", "s"))]


MODES = (
    'accessModes NotSupported supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'
)
ALONE = "accessModes Forbidden may not use ReadWriteOncePod with other access modes"


@pytest.mark.parametrize(
    ("modes", "errors"),
    [
        (["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"], []),
        (["ReadWriteOncePod"], []),
        ([], ["accessModes Required"]),
        (["x"], [MODES]),
        (["ReadWriteOncePod", "ReadWriteOnce"], [ALONE]),
        (["x", "ReadWriteOncePod"], [MODES]),
        (["x", "ReadWriteOncePod", "ReadOnlyMany", ""], [MODES, MODES, ALONE]),
    ],
)
def test_access_modes(modes: list[str], errors: list[str]) -> None:
    """Source: ValidatePersistentVolumeSpec."""
    assert found(accessModes=modes) == errors


STORAGE = 'capacity NotSupported supported values: "storage"'
QUANTITY = "Invalid must be a valid resource quantity"


@pytest.mark.parametrize(
    ("capacity", "errors"),
    [
        ({"storage": "1"}, []),
        ({"storage": "1m"}, []),
        ({}, ["capacity Required", STORAGE]),
        ({"cpu": "1"}, [STORAGE]),
        ({"storage": "1", "cpu": "1"}, [STORAGE]),
        ({"storage": "0"}, [f"capacity[storage] {NOT_POSITIVE}"]),
        ({"storage": "-1m"}, [f"capacity[storage] {QUANTITY}", f"capacity[storage] {NOT_POSITIVE}"]),
        ({"storage": "-1"}, [f"capacity[storage] {QUANTITY}", f"capacity[storage] {NOT_POSITIVE}"]),
        ({"storage": "1", "cpu": "0"}, [STORAGE, f"capacity[cpu] {NOT_POSITIVE}"]),
    ],
)
def test_capacity(capacity: dict[str, str], errors: list[str]) -> None:
    """Source: validateBasicResource, ValidatePositiveQuantityValue; a value is rounded away from 0."""
    assert found(capacity=capacity) == errors


def test_amounts_in_messages() -> None:
    made = part(PersistentVolumeSpec, **{**BASE, **HOST, "capacity": {"storage": "-1Ki"}})
    assert [str(error) for error in validate_persistent_volume_spec(made, "v", "s")] == [
        "s.capacity[storage]: Invalid value: -1024: must be a valid resource quantity",
        's.capacity[storage]: Invalid value: "-1Ki": must be greater than zero',
    ]


@pytest.mark.parametrize(
    ("policy", "path", "errors"),
    [
        ("", "/", []),
        ("Delete", "/", []),
        ("Retain", "/", []),
        ("Recycle", "/a", []),
        ("x", "/a", ['persistentVolumeReclaimPolicy NotSupported supported values: "Delete", "Recycle", "Retain"']),
        *(
            (
                "Recycle",
                path,
                ["persistentVolumeReclaimPolicy Forbidden may not be 'recycle' for a hostPath mount of '/'"],
            )
            for path in ("/", "//", "/.", "///")
        ),
    ],
)
def test_reclaim_policies(policy: str, path: str, errors: list[str]) -> None:
    assert found({"hostPath": {"path": path, "type": ""}}, persistentVolumeReclaimPolicy=policy) == errors


def test_a_volume_without_a_path_of_the_host_may_be_recycled() -> None:
    assert found({"nfs": {"server": "s", "path": "/"}}, persistentVolumeReclaimPolicy="Recycle") == []


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"storageClassName": ""}, []),
        ({"storageClassName": "a.b"}, []),
        ({"storageClassName": "A"}, [f"storageClassName Invalid {SUBDOMAIN_TEXT}"]),
        ({"volumeMode": "Block"}, []),
        ({"volumeMode": "Filesystem"}, []),
        ({"volumeMode": ""}, ['volumeMode NotSupported supported values: "Block", "Filesystem"']),
        ({"volumeMode": "x"}, ['volumeMode NotSupported supported values: "Block", "Filesystem"']),
        ({"volumeAttributesClassName": "a"}, []),
        ({"volumeAttributesClassName": ""}, ["volumeAttributesClassName Required an empty string is disallowed"]),
        ({"volumeAttributesClassName": "A"}, [f"volumeAttributesClassName Invalid {SUBDOMAIN_TEXT}"]),
        ({"claimRef": {"name": "c", "namespace": "n"}}, []),
    ],
)
def test_classes_and_modes(spec: dict[str, Any], errors: list[str]) -> None:
    assert found(CSI, **spec) == errors


def test_attributes_are_those_of_a_csi_volume() -> None:
    needs = "csi Required has to be specified when using volumeAttributesClassName"
    assert found(volumeAttributesClassName="a") == [needs]
    assert found(volumeAttributesClassName="") == [
        "volumeAttributesClassName Required an empty string is disallowed",
        needs,
    ]


def affinity(*expressions: tuple[str, str], field: str = "") -> dict[str, Any]:
    terms = [
        {
            "matchExpressions": [{"key": key, "operator": "In", "values": [value]} for key, value in expressions],
            "matchFields": [{"key": "metadata.name", "operator": "In", "values": [field]}] if field else [],
        }
    ]
    return {"required": {"nodeSelectorTerms": terms}}


@pytest.mark.parametrize(
    ("given", "errors"),
    [
        (affinity(("a", "b")), []),
        ({}, ["nodeAffinity.required Required must specify required node constraints"]),
        ({"required": {"nodeSelectorTerms": []}},
         ["nodeAffinity.required.nodeSelectorTerms Required must have at least one node selector term"]),
    ],
)  # fmt: skip
def test_the_nodes_of_a_volume(given: dict[str, Any], errors: list[str]) -> None:
    """Source: validateVolumeNodeAffinity."""
    assert found(nodeAffinity=given) == errors
    assert found({"local": {"path": "/a"}}, nodeAffinity=given) == errors


def test_a_local_volume_is_on_known_nodes() -> None:
    assert found({"local": {"path": "/a"}}) == ["nodeAffinity Required Local volume requires node affinity"]
    assert found({"local": {"path": ""}}) == [
        "local.path Required",
        "nodeAffinity Required Local volume requires node affinity",
    ]


SOURCES: dict[str, dict[str, Any]] = {
    "hostPath": {"path": "/a", "type": ""},
    "gcePersistentDisk": {"pdName": "p"},
    "awsElasticBlockStore": {"volumeID": "v"},
    "glusterfs": {"endpoints": "e", "path": "p"},
    "flocker": {"datasetName": "d"},
    "nfs": {"server": "s", "path": "/a"},
    "rbd": {"monitors": ["m"], "image": "i"},
    "quobyte": {"registry": "h:1", "volume": "v"},
    "cephfs": {"monitors": ["m"]},
    "iscsi": {"targetPortal": "1.1.1.1", "iqn": "iqn.2001-04.com.example:a", "lun": 0},
    "cinder": {"volumeID": "v"},
    "fc": {"targetWWNs": ["w"], "lun": 0},
    "flexVolume": {"driver": "d"},
    "azureFile": {"secretName": "s", "shareName": "t", "secretNamespace": "n"},
    "vsphereVolume": {"volumePath": "p"},
    "photonPersistentDisk": {"pdID": "p"},
    "portworxVolume": {"volumeID": "v"},
    "azureDisk": {"diskName": "d", "diskURI": "https://a", "cachingMode": "None", "kind": "Shared"},
    "scaleIO": {"gateway": "g", "system": "s", "volumeName": "v", "secretRef": {"name": "n", "namespace": "n"}},
    "local": {"path": "/a"},
    "storageos": {"volumeName": "v"},
    "csi": {"driver": "d", "volumeHandle": "h"},
}
"""A source of every kind, in the order of ValidatePersistentVolumeSpec."""
ONE_TYPE = "may not specify more than 1 volume type"
NODES = {"nodeAffinity": affinity(("a", "b"))}
AFTER = [("cephFS" if name == "cephfs" else name) for name in SOURCES if name not in ("hostPath", "flexVolume")]


def test_a_volume_has_a_source() -> None:
    assert found({}) == ["s Required must specify a volume type"]


@pytest.mark.parametrize("name", SOURCES)
def test_one_source_is_enough(name: str) -> None:
    assert found({name: SOURCES[name]}, **NODES) == []


@pytest.mark.parametrize("name", [name for name in SOURCES if name != "gcePersistentDisk"])
def test_a_source_is_checked_under_its_name(name: str) -> None:
    fields = [text.split()[0] for text in found({name: {}}, **NODES)]
    assert fields
    assert all(field == name or field.startswith(f"{name}.") for field in fields)


def test_a_second_source_is_forbidden() -> None:
    """Upstream accepts a FlexVolume after another source, and counts it."""
    assert found(SOURCES, **NODES) == [f"{name} Forbidden {ONE_TYPE}" for name in AFTER]
    assert found({name: SOURCES[name] for name in ("flexVolume", "csi")}) == [f"csi Forbidden {ONE_TYPE}"]
    assert found({name: SOURCES[name] for name in ("nfs", "flexVolume")}) == []
    assert found({"nfs": SOURCES["nfs"], "flexVolume": {}}) == ["flexVolume.driver Required"]
    assert found({"nfs": SOURCES["nfs"], "local": {"path": ""}}) == [f"local Forbidden {ONE_TYPE}"]


PORTAL = (
    "iscsi.targetportal Invalid Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if "
    "iscsi.initiatorName is specified."
)
INITIATOR = {"initiatorName": "iqn.2001-04.com.example:b"}


@pytest.mark.parametrize(
    ("portal", "more", "errors"),
    [
        ("p" * 62, INITIATOR, []),
        ("p" * 63, INITIATOR, [PORTAL]),
        ("p" * 63, {}, []),
        ("p" * 63, {**INITIATOR, "iqn": ""}, [PORTAL, "iscsi.iqn Required"]),
        ("", {"iqn": ""}, ["iscsi.targetPortal Required", "iscsi.iqn Required"]),
    ],
)
def test_the_portal_of_iscsi_and_the_name_of_the_volume(portal: str, more: dict[str, Any], errors: list[str]) -> None:
    """Source: validateISCSIPersistentVolumeSource."""
    assert found({"iscsi": {**SOURCES["iscsi"], "targetPortal": portal, **more}}) == errors


def test_the_portal_is_checked_after_its_absence() -> None:
    made = part(PersistentVolumeSpec, **BASE, iscsi={**SOURCES["iscsi"], "targetPortal": "", **INITIATOR, "iqn": ""})
    assert told(validate_persistent_volume_spec(made, "v" * 64, "s")) == [
        "s.iscsi.targetPortal Required",
        f"s.{PORTAL}",
        "s.iscsi.iqn Required",
    ]


def inline(source: dict[str, Any] = CSI, **spec: Any) -> list[str]:
    made = part(PersistentVolumeSpec, **{"accessModes": ["ReadWriteOnce"], **source, **spec})
    return [text.removeprefix("s.") for text in told(validate_persistent_volume_spec(made, "", "s", inline=True))]


INLINE = "Forbidden may not be specified in the context of inline volumes"
NO_CSI = "csi Required has to be specified in the context of inline volumes"


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({}, []),
        ({"claimRef": {"name": "c"}}, [f"claimRef {INLINE}"]),
        ({"capacity": {"storage": "0"}}, [f"capacity {INLINE}"]),
        ({"accessModes": []}, ["accessModes Required"]),
        ({"persistentVolumeReclaimPolicy": "Retain"}, []),
        ({"persistentVolumeReclaimPolicy": "Delete"},
         ["persistentVolumeReclaimPolicy Forbidden may only be Retain in the context of inline volumes"]),
        ({"persistentVolumeReclaimPolicy": "x"},
         ["persistentVolumeReclaimPolicy Forbidden may only be Retain in the context of inline volumes"]),
        ({"nodeAffinity": {}}, [f"nodeAffinity {INLINE}"]),
        ({"storageClassName": "A"}, [f"storageClassName {INLINE}"]),
        ({"volumeMode": "Filesystem"}, []),
        ({"volumeMode": "Block"},
         ["volumeMode Forbidden may not specify volumeMode other than Filesystem in the context of inline volumes"]),
        ({"csi": {"driver": "d"}}, ["csi.volumeHandle Required"]),
    ],
)  # fmt: skip
def test_an_inline_volume_has_few_fields(spec: dict[str, Any], errors: list[str]) -> None:
    assert inline(**spec) == errors


def test_an_inline_volume_is_a_csi_volume() -> None:
    assert inline(HOST) == [NO_CSI]
    assert inline({"local": {"path": "/a"}}, **NODES) == [
        NO_CSI,
        f"nodeAffinity {INLINE}",
        "nodeAffinity Required Local volume requires node affinity",
    ]


def test_the_parts_of_a_specification_are_checked_in_order() -> None:
    wrong = found(
        {"nfs": {"server": "", "path": "/a"}},
        accessModes=[],
        capacity={},
        persistentVolumeReclaimPolicy="x",
        nodeAffinity={},
        storageClassName="A",
        volumeMode="x",
        volumeAttributesClassName="",
    )
    assert [text.split()[0] for text in wrong] == [
        "accessModes",
        "capacity",
        "capacity",
        "persistentVolumeReclaimPolicy",
        "nodeAffinity.required",
        "nfs.server",
        "storageClassName",
        "volumeMode",
        "volumeAttributesClassName",
        "csi",
    ]
    first = inline({}, accessModes=[], capacity={"storage": "1"}, claimRef={"name": "c"})
    assert first[:4] == [f"claimRef {INLINE}", f"capacity {INLINE}", NO_CSI, "accessModes Required"]


MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"
WITH_OPTIONS = (
    *("gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "nfs", "rbd", "quobyte", "iscsi", "cinder", "cephfs"),
    *("azureFile", "vsphereVolume", "azureDisk", "photonPersistentDisk"),
)


@pytest.mark.parametrize("name", SOURCES)
def test_the_annotation_of_mount_options(name: str) -> None:
    """Source: pkg/volume/validation checkMountOption."""
    made = named(PersistentVolume, metadata={"annotations": {MOUNT_OPTIONS: ""}}, spec={
        **BASE, name: SOURCES[name], **NODES
    })  # fmt: skip
    wrong = f"metadata.annotations.{MOUNT_OPTIONS} Forbidden may not specify mount options for this volume type"
    assert told(validate_persistent_volume(made)) == ([] if name in WITH_OPTIONS else [wrong])


def volume(source: dict[str, Any] = HOST, **spec: Any) -> PersistentVolume:
    return named(PersistentVolume, spec={**BASE, **source, **spec})


def test_a_volume_as_a_whole() -> None:
    """Source: ValidatePersistentVolume."""
    made = named(PersistentVolume, "v" * 64, "n", metadata={"annotations": {MOUNT_OPTIONS: ""}}, spec={
        **BASE, **HOST, "accessModes": []
    })  # fmt: skip
    assert [text.split()[0] for text in told(validate_persistent_volume(made))] == [
        "metadata.namespace",
        "spec.accessModes",
        f"metadata.annotations.{MOUNT_OPTIONS}",
    ]
    long = named(PersistentVolume, "v" * 64, spec={**BASE, "iscsi": {**SOURCES["iscsi"], **INITIATOR}})
    assert told(validate_persistent_volume(long)) == [f"spec.{PORTAL}"]


SAME = "spec.persistentvolumesource"


@pytest.mark.parametrize(
    ("old", "new", "valid"),
    [
        (HOST, HOST, True),
        (HOST, {"hostPath": {"path": "/b", "type": ""}}, False),
        (HOST, CSI, False),
        (CSI, {"csi": {**CSI["csi"], "readOnly": True}}, False),
        (CSI, {"csi": {**CSI["csi"], "controllerExpandSecretRef": {"name": "a", "namespace": "b"}}}, True),
        ({"csi": {**CSI["csi"], "controllerExpandSecretRef": {"name": "a", "namespace": "b"}}}, CSI, False),
        ({"csi": {**CSI["csi"], "controllerExpandSecretRef": {"name": "a", "namespace": "b"}}},
         {"csi": {**CSI["csi"], "controllerExpandSecretRef": {"name": "c", "namespace": "b"}}}, False),
        (CSI, {"csi": {**CSI["csi"], "nodeExpandSecretRef": {"name": "a", "namespace": "b"}}}, False),
    ],
)  # fmt: skip
def test_the_source_is_kept(old: dict[str, Any], new: dict[str, Any], valid: bool) -> None:
    """Source: ValidatePersistentVolumeUpdate."""
    changed = volume(new)
    found = validate_persistent_volume_update(changed, volume(old))
    assert [(error.type, error.field) for error in found] == ([] if valid else [("FieldValueForbidden", SAME)])
    assert changed == volume(new)


def test_a_change_of_the_source_is_shown() -> None:
    [error] = validate_persistent_volume_update(volume({"hostPath": {"path": "/b", "type": ""}}), volume())
    text, _, changes = error.detail.partition("\n")
    assert text == "spec.persistentvolumesource is immutable after creation"
    assert [line for line in changes.split("\n") if line[:1] in ("-", "+")] == ['-  "Path": "/a",', '+  "Path": "/b",']


GO_NAMES = {
    "gcePersistentDisk": "GCEPersistentDisk",
    "awsElasticBlockStore": "AWSElasticBlockStore",
    "hostPath": "HostPath",
    "glusterfs": "Glusterfs",
    "nfs": "NFS",
    "rbd": "RBD",
    "quobyte": "Quobyte",
    "iscsi": "ISCSI",
    "flexVolume": "FlexVolume",
    "cinder": "Cinder",
    "cephfs": "CephFS",
    "fc": "FC",
    "flocker": "Flocker",
    "azureFile": "AzureFile",
    "vsphereVolume": "VsphereVolume",
    "azureDisk": "AzureDisk",
    "photonPersistentDisk": "PhotonPersistentDisk",
    "portworxVolume": "PortworxVolume",
    "scaleIO": "ScaleIO",
    "local": "Local",
    "storageos": "StorageOS",
    "csi": "CSI",
}
"""The fields of core.PersistentVolumeSource, in order."""


def test_a_changed_source_has_its_name_in_go() -> None:
    """The last lines before the source that is added are the unset fields before it."""
    names = list(GO_NAMES)
    assert sorted(names) == sorted(SOURCES)
    for i, name in enumerate(names):
        errors = validate_persistent_volume_update(volume({name: SOURCES[name]}, **NODES), volume({}, **NODES))
        [detail] = [error.detail for error in errors if error.field == SAME]
        lines = detail.split("\n")
        added = lines.index(f'+ "{GO_NAMES[name]}": {{')
        before = [f'  "{GO_NAMES[other]}": null,' for other in names[max(i - 3, 0) : i]]
        assert [line for line in lines[:added] if line.startswith('  "')] == before


@pytest.mark.parametrize(
    ("old", "new", "errors"),
    [
        ({"capacity": {"storage": "2Gi"}}, {"claimRef": {"name": "c"}, "storageClassName": "s"}, []),
        ({"volumeMode": "Block"}, {"volumeMode": "Block"}, []),
        ({"volumeMode": "Block"}, {"volumeMode": "Filesystem"}, ["volumeMode Invalid field is immutable"]),
        ({"volumeMode": "Block"}, {}, ["volumeMode Invalid field is immutable"]),
        ({"volumeAttributesClassName": "a"}, {"volumeAttributesClassName": "b"}, []),
        ({}, {"volumeAttributesClassName": "b"}, []),
        ({"volumeAttributesClassName": "a"}, {},
         ["spec.volumeAttributesClassName Forbidden update from non-nil value to nil is forbidden"]),
    ],
)  # fmt: skip
def test_other_fields_that_are_kept(old: dict[str, Any], new: dict[str, Any], errors: list[str]) -> None:
    assert told(validate_persistent_volume_update(volume(CSI, **new), volume(CSI, **old))) == errors


BETA, REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
ZONE, NEW_REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
TERMS = affinity(("a", "b"))["required"]["nodeSelectorTerms"]
FIXED = ["nodeAffinity Invalid field is immutable, except for updating from beta label to GA"]


@pytest.mark.parametrize(
    ("old", "new", "errors"),
    [
        (None, affinity(("a", "b")), []),
        (affinity(("a", "b")), affinity(("a", "b")), []),
        (affinity(("a", "b")), affinity(("a", "c")), FIXED),
        (affinity(("a", "b")), None, FIXED),
        *(
            (affinity((beta, "v")), affinity((stable, "v")), [])
            for beta, stable in (
                (BETA, ZONE),
                (REGION, NEW_REGION),
                ("beta.kubernetes.io/os", "kubernetes.io/os"),
                ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
                ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
            )
        ),
        (affinity((ZONE, "v")), affinity((BETA, "v")), FIXED),
        (affinity((BETA, "v")), affinity((NEW_REGION, "v")), FIXED),
        (affinity((BETA, "v")), affinity((ZONE, "w")), FIXED),
        (affinity((BETA, "v")), affinity((ZONE, "v"), ("a", "b")), FIXED),
        (affinity((BETA, "v"), (REGION, "r")), affinity((BETA, "v"), (NEW_REGION, "r")), []),
        (affinity((BETA, "v"), (REGION, "r")), affinity((NEW_REGION, "r"), (ZONE, "v")), FIXED),
        (affinity(("a", "b")), {"required": {"nodeSelectorTerms": TERMS * 2}}, FIXED),
        ({"required": {"nodeSelectorTerms": TERMS * 2}}, affinity(("a", "b")), FIXED),
        (affinity(("a", "b"), field="n"), affinity(("a", "b"), field="n"), []),
        (affinity(("a", "b"), field="n"), affinity(("a", "b"), field="m"), FIXED),
        (affinity(("a", "b"), field="n"), affinity(("a", "b")), FIXED),
    ],
)
def test_the_nodes_are_kept(old: Any, new: Any, errors: list[str]) -> None:
    """Source: validatePvNodeAffinity, getMaskNodeSelectorLabelChangeEqualities."""

    def made(nodes: Any) -> PersistentVolume:
        return volume(**({} if nodes is None else {"nodeAffinity": nodes}))

    before, after = made(old), made(new)
    assert told(validate_persistent_volume_update(after, before)) == errors
    assert (before, after) == (made(old), made(new))


def test_an_update_checks_the_new_volume_before_it_compares() -> None:
    new = volume(CSI, accessModes=[], volumeMode="x")
    new.metadata.name = "b"
    old = volume(volumeAttributesClassName="a", **NODES)
    fields = [error.field for error in validate_persistent_volume_update(new, old)]
    assert list(dict.fromkeys(fields)) == [
        "metadata.name",
        "spec.accessModes",
        "spec.volumeMode",
        SAME,
        "volumeMode",
        "nodeAffinity",
        "spec.volumeAttributesClassName",
    ]
