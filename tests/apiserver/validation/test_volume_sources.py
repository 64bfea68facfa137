"""Sources of volumes, each by the rule of its type."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api import volume as types
from kitlib.api.meta import KubeStruct
from kitlib.api.names import LABEL_TEXT, SUBDOMAIN_TEXT
from kitlib.apiserver.validation import volume_sources
from tests.apiserver.validation.told import part, told

BYTE = "must be between 0 and 255, inclusive"
IQN = "iqn.2026-01.com.example:disk"
STEPS = "must not contain '..'"


def errors(type_: type[KubeStruct], fields: dict[str, Any]) -> list[str]:
    found = told(volume_sources.validate_source(part(type_, **fields), "v.kind"))
    return [text.removeprefix("v.kind.").removeprefix("v.") for text in found]


@pytest.mark.parametrize(
    ("type_", "fields"),
    [
        (types.PersistentVolumeClaimVolumeSource, {"claimName": "a"}),
        (types.GlusterfsVolumeSource, {"endpoints": "a", "path": "b"}),
        (types.RBDVolumeSource, {"monitors": ["a"], "image": "b"}),
        (types.RBDPersistentVolumeSource, {"monitors": ["a"], "image": "b"}),
        (types.CephFSVolumeSource, {"monitors": ["a"]}),
        (types.CephFSPersistentVolumeSource, {"monitors": ["a"]}),
        (types.AzureFileVolumeSource, {"secretName": "a", "shareName": "b"}),
        (types.AzureFilePersistentVolumeSource, {"secretName": "a", "shareName": "b"}),
        (types.VsphereVirtualDiskVolumeSource, {"volumePath": "a"}),
        (types.PhotonPersistentDiskVolumeSource, {"pdID": "a"}),
        (types.PortworxVolumeSource, {"volumeID": "a"}),
        (types.ScaleIOVolumeSource, {"gateway": "a", "system": "b", "volumeName": "c"}),
        (types.ScaleIOPersistentVolumeSource, {"gateway": "a", "system": "b", "volumeName": "c"}),
        (types.AWSElasticBlockStoreVolumeSource, {"volumeID": "a"}),
        (types.GitRepoVolumeSource, {"repository": "a"}),
        (types.CinderVolumeSource, {"volumeID": "a"}),
        (types.CinderPersistentVolumeSource, {"volumeID": "a"}),
        (types.GlusterfsPersistentVolumeSource, {"endpoints": "a", "path": "b"}),
        (types.FlexVolumeSource, {"driver": "a"}),
        (types.FlexPersistentVolumeSource, {"driver": "a"}),
        (types.AzureDiskVolumeSource, {"diskName": "a", "diskURI": "b"}),
        (types.StorageOSVolumeSource, {"volumeName": "a"}),
        (types.StorageOSPersistentVolumeSource, {"volumeName": "a"}),
        (types.LocalVolumeSource, {"path": "a"}),
        (types.HostPathVolumeSource, {"path": "/a"}),
        (types.SecretVolumeSource, {"secretName": "a"}),
        (types.ConfigMapVolumeSource, {"name": "a"}),
    ],
)
def test_required_fields(type_: type[KubeStruct], fields: dict[str, Any]) -> None:
    """With its required fields a source is valid, without them each is reported, in their order."""
    assert errors(type_, fields) == []
    assert errors(type_, {}) == [f"{name} Required" for name in fields]
    for name in fields:
        assert errors(type_, {**fields, name: type(fields[name])()}) == [f"{name} Required"]


HOST_PATHS = (
    'type NotSupported supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", '
    '"FileOrCreate", "Socket"'
)


@pytest.mark.parametrize(
    ("type_", "fields", "expected"),
    [
        (types.EmptyDirVolumeSource, {}, []),
        (types.EmptyDirVolumeSource, {"sizeLimit": "0"}, []),
        (
            types.EmptyDirVolumeSource,
            {"sizeLimit": "-1"},
            ["sizeLimit Forbidden SizeLimit field must be a valid resource quantity"],
        ),
        (types.HostPathVolumeSource, {"path": "/a/..b", "type": ""}, []),
        (types.HostPathVolumeSource, {"path": "/a/../b", "type": "Socket"}, [f"path Invalid {STEPS}"]),
        (types.HostPathVolumeSource, {"path": "..", "type": "socket"}, [f"path Invalid {STEPS}", HOST_PATHS]),
        (types.HostPathVolumeSource, {"path": "", "type": "x"}, ["path Required"]),
        (types.GitRepoVolumeSource, {"repository": "r", "directory": "a/b"}, []),
        (
            types.GitRepoVolumeSource,
            {"directory": "/a/.."},
            ["repository Required", "directory Invalid must be a relative path", f"directory Invalid {STEPS}"],
        ),
        (types.LocalVolumeSource, {"path": "/a/.."}, [f"path Invalid {STEPS}"]),
        (types.NFSVolumeSource, {"server": "s", "path": "/"}, []),
        (types.NFSVolumeSource, {"server": "s", "path": "a/"}, ["path Invalid must be an absolute path"]),
        (
            types.NFSVolumeSource,
            {},
            ["server Required", "path Required", "path Invalid must be an absolute path"],
        ),
        (types.ImageVolumeSource, {"pullPolicy": "Never"}, []),
        (types.ImageVolumeSource, {}, ["pullPolicy Required"]),
        (
            types.ImageVolumeSource,
            {"reference": "a", "pullPolicy": "always"},
            ['pullPolicy NotSupported supported values: "Always", "IfNotPresent", "Never"'],
        ),
    ],
)
def test_sources_of_every_machine(type_: type[KubeStruct], fields: dict[str, Any], expected: list[str]) -> None:
    """Source: validateEmptyDirVolumeSource, validateHostPathVolumeSource, validateNFSVolumeSource and others."""
    assert errors(type_, fields) == expected


@pytest.mark.parametrize(("partition", "valid"), [(-1, False), (0, True), (1, True), (255, True), (256, False)])
def test_partitions(partition: int, valid: bool) -> None:
    """The path of a GCE disk is `persistentDisk`. Source: validateVolumeSource, pdPartitionErrorMsg."""
    text = "partition Invalid must be between 1 and 255, inclusive"
    fields = {"pdName": "a", "partition": partition}
    found = errors(types.GCEPersistentDiskVolumeSource, fields)
    assert found == ([] if valid else [f"persistentDisk.{text}"])
    found = errors(types.AWSElasticBlockStoreVolumeSource, {"volumeID": "a", "partition": partition})
    assert found == ([] if valid else [text])
    assert errors(types.GCEPersistentDiskVolumeSource, {}) == ["persistentDisk.pdName Required"]


FORMS = {
    types.ISCSIVolumeSource: "must be valid format starting with iqn, eui, or naa",
    types.ISCSIPersistentVolumeSource: "must be valid format",
}


@pytest.mark.parametrize("type_", FORMS)
@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        (IQN, ""),
        ("iqn.2026-01.com:a:b", ""),
        ("iqn.2026-01.com.example", "form"),
        ("iqn.26-01.com.example:disk", "form"),
        ("iqn.2026-01.com.example:", "form"),
        ("iqn.2026-01.com.example:a b", "form"),
        ("eui.0123456789ABCDEF", ""),
        ("eui.0123456789ABCDE", "form"),
        ("eui.0123456789ABCDEF0", "form"),
        ("naa.0123456789abcdef0123456789abcdef", ""),
        ("naa.0123456789abcdef0123456789abcde", "form"),
        ("naa.0123456789abcdef0123456789abcdef0", "form"),
        ("disk", "start"),
        ("IQN.2026-01.com.example:disk", "start"),
    ],
)
def test_names_of_iscsi_targets_and_initiators(type_: type[KubeStruct], name: str, wrong: str) -> None:
    """Source: validateISCSIVolumeSource, validateISCSIPersistentVolumeSource."""
    text = {"": "", "form": "must be valid format", "start": FORMS[type_]}[wrong]
    target = errors(type_, {"targetPortal": "p", "iqn": name})
    assert target == ([f"iqn Invalid {text}"] if wrong else [])
    initiator = errors(type_, {"targetPortal": "p", "iqn": IQN, "initiatorName": name})
    assert initiator == ([f"initiatorname Invalid {text}"] if wrong else [])


@pytest.mark.parametrize("type_", FORMS)
def test_other_fields_of_iscsi(type_: type[KubeStruct]) -> None:
    fields = {"targetPortal": "p", "iqn": IQN}
    for lun in (0, 255):
        assert errors(type_, {**fields, "lun": lun}) == []
    for lun in (-1, 256):
        assert errors(type_, {**fields, "lun": lun}) == [f"lun Invalid {BYTE}"]
    for asks in ("chapAuthDiscovery", "chapAuthSession"):
        assert errors(type_, {**fields, asks: True}) == ["secretRef Required"]
        assert errors(type_, {**fields, asks: True, "secretRef": {"name": "s"}}) == []
    assert errors(type_, {"lun": 256, "initiatorName": ""}) == [
        "targetPortal Required",
        "iqn Required",
        f"lun Invalid {BYTE}",
        f"initiatorname Invalid {FORMS[type_]}",
    ]
    unnamed = errors(type_, {**fields, "secretRef": {"name": ""}})
    assert unnamed == (["secretRef.name Required"] if type_ is types.ISCSIPersistentVolumeSource else [])


def test_the_length_of_volume_and_portal() -> None:
    """The total is limited to 64 bytes, and only with an initiator."""
    text = (
        "f Invalid Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if "
        "iscsi.initiatorName is specified."
    )
    for portal, initiator, expected in (
        ("p" * 60, IQN, []),
        ("p" * 61, IQN, [text]),
        ("p" * 59 + "é", IQN, [text]),
        ("p" * 61, None, []),
        ("p" * 61, "", [text]),
    ):
        source = part(types.ISCSIVolumeSource, targetPortal=portal, initiatorName=initiator)
        assert told(volume_sources.validate_portal_length("abc", source, "f", portal)) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"targetWWNs": ["a"], "lun": 0}, []),
        ({"targetWWNs": ["a"], "lun": 255}, []),
        ({"targetWWNs": ["a"], "lun": -1}, [f"lun Invalid {BYTE}"]),
        ({"targetWWNs": ["a"], "lun": 256}, [f"lun Invalid {BYTE}"]),
        ({"targetWWNs": ["a"]}, ["lun Required lun is required if targetWWNs is specified"]),
        ({"wwids": ["a"]}, []),
        ({"wwids": ["a"], "lun": 256}, []),
        (
            {"targetWWNs": ["a"], "wwids": ["b"], "lun": 1},
            ["targetWWNs Invalid targetWWNs and wwids can not be specified simultaneously"],
        ),
        ({}, ["targetWWNs Required must specify either targetWWNs or wwids, but not both"]),
    ],
)
def test_fibre_channel(fields: dict[str, Any], expected: list[str]) -> None:
    """Source: validateFCVolumeSource."""
    assert errors(types.FCVolumeSource, fields) == expected


PAIRS = "must be a host:port pair or multiple pairs separated by commas"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"registry": "a:1", "volume": "v"}, []),
        ({"registry": "a:1,[::1]:2,:3,b:", "volume": "v", "tenant": "t" * 64}, []),
        ({"registry": "a", "volume": "v"}, [f"registry Invalid {PAIRS}"]),
        ({"registry": "a:1,", "volume": "v"}, [f"registry Invalid {PAIRS}"]),
        ({"registry": "a,b:1:2,::1"}, [f"registry Invalid {PAIRS}"] * 3 + ["volume Required"]),
        (
            {"registry": "a", "tenant": "t" * 65, "volume": "v"},
            ["tenant Required must be a UUID and may not exceed a length of 64 characters"],
        ),
        ({"tenant": "t" * 65}, [f"registry Required {PAIRS}", "volume Required"]),
    ],
)
def test_quobyte(fields: dict[str, Any], expected: list[str]) -> None:
    """Source: validateQuobyteVolumeSource, net.SplitHostPort."""
    assert errors(types.QuobyteVolumeSource, fields) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"datasetName": "a"}, []),
        ({"datasetUUID": "a/b"}, []),
        ({}, ["kind Required one of datasetName and datasetUUID is required"]),
        ({"datasetName": "a/b"}, ["datasetName Invalid must not contain '/'"]),
        (
            {"datasetName": "a", "datasetUUID": "b"},
            ["kind Invalid datasetName and datasetUUID can not be specified simultaneously"],
        ),
    ],
)
def test_flocker(fields: dict[str, Any], expected: list[str]) -> None:
    """Source: validateFlockerVolumeSource."""
    assert errors(types.FlockerVolumeSource, fields) == expected


@pytest.mark.parametrize(
    ("namespace", "expected"),
    [
        (None, []),
        ("a", []),
        ("", ["endpointsNamespace Invalid if the endpointnamespace is set, it must be a valid namespace name"]),
        ("A", [f"endpointsNamespace Invalid {LABEL_TEXT}"]),
    ],
)
def test_the_namespace_of_glusterfs_endpoints(namespace: str | None, expected: list[str]) -> None:
    fields = {"endpoints": "a", "path": "b", "endpointsNamespace": namespace}
    assert errors(types.GlusterfsPersistentVolumeSource, fields) == expected


@pytest.mark.parametrize(
    ("local", "persistent", "fields"),
    [
        (types.CinderVolumeSource, types.CinderPersistentVolumeSource, {"volumeID": "a"}),
        (types.StorageOSVolumeSource, types.StorageOSPersistentVolumeSource, {"volumeName": "a"}),
    ],
)
def test_secrets_of_persistent_volumes_have_a_namespace(
    local: type[KubeStruct], persistent: type[KubeStruct], fields: dict[str, Any]
) -> None:
    for reference, of_pod, of_volume in (
        ({"name": "s"}, [], ["secretRef.namespace Required"]),
        ({"name": "s", "namespace": "n"}, [], []),
        ({}, ["secretRef.name Required"], ["secretRef.name Required", "secretRef.namespace Required"]),
    ):
        kept = {name: reference[name] for name in ("name",) if name in reference}
        assert errors(local, {**fields, "secretRef": kept}) == of_pod
        assert errors(persistent, {**fields, "secretRef": reference}) == of_volume


def test_storage_os_names() -> None:
    for type_ in (types.StorageOSVolumeSource, types.StorageOSPersistentVolumeSource):
        assert errors(type_, {"volumeName": "a", "volumeNamespace": "b"}) == []
        assert errors(type_, {"volumeName": "A", "volumeNamespace": "b.c"}) == [
            f"volumeName Invalid {LABEL_TEXT}",
            "volumeNamespace Invalid must not contain dots",
        ]


@pytest.mark.parametrize(
    ("option", "reserved"),
    [
        ("kubernetes.io/a", True),
        ("a.Kubernetes.IO/b", True),
        ("k8s.io/a", True),
        ("kubernetes.io", True),
        ("akubernetes.io/a", False),
        ("kubernetes.io.example.com/a", False),
        ("example.com/kubernetes.io", False),
        ("fsType", False),
    ],
)
def test_options_of_flex_volumes(option: str, reserved: bool) -> None:
    """Source: validateFlexVolumeSource, validateFlexPersistentVolumeSource."""
    text = f"options[{option}] Invalid kubernetes.io and k8s.io namespaces are reserved"
    for type_ in (types.FlexVolumeSource, types.FlexPersistentVolumeSource):
        assert errors(type_, {"driver": "d", "options": {"a": "b", option: "c"}}) == ([text] if reserved else [])


def test_the_namespace_of_an_azure_secret() -> None:
    fields = {"secretName": "a", "shareName": "b"}
    for namespace, expected in ((None, []), ("n", []), ("", ["secretNamespace Required"])):
        found = errors(types.AzureFilePersistentVolumeSource, {**fields, "secretNamespace": namespace})
        assert found == expected


BLOB = 'NotSupported supported values: "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"'
MANAGED = (
    "NotSupported supported values: "
    '"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"'
)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"diskURI": "x", "cachingMode": "ReadOnly"}, []),
        ({"diskURI": "/subscriptions/a", "kind": "Managed"}, []),
        ({"diskURI": "a/subscriptions/a", "kind": "Managed"}, [f"diskURI {MANAGED}"]),
        ({"diskURI": "https://a", "kind": "Managed"}, [f"diskURI {MANAGED}"]),
        ({"diskURI": "https://a", "kind": "Shared"}, []),
        ({"diskURI": "/subscriptions/a", "kind": "Dedicated"}, [f"diskURI {BLOB}"]),
        ({"diskURI": "http://a", "kind": "Shared"}, [f"diskURI {BLOB}"]),
        (
            {"diskURI": "https://a", "kind": "managed", "cachingMode": "none"},
            [
                'cachingMode NotSupported supported values: "None", "ReadOnly", "ReadWrite"',
                'kind NotSupported supported values: "Dedicated", "Managed", "Shared"',
            ],
        ),
    ],
)
def test_azure_disks(fields: dict[str, Any], expected: list[str]) -> None:
    """Source: validateAzureDisk."""
    assert errors(types.AzureDiskVolumeSource, {"diskName": "d", **fields}) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.example.com", []),
        ("A.Example.com", []),
        ("a" * 63, []),
        ("a" * 64, ["f TooLong may not be more than 63 bytes"]),
        ("a_b", [f"f Invalid {SUBDOMAIN_TEXT}"]),
        ("_" * 64, ["f TooLong may not be more than 63 bytes", f"f Invalid {SUBDOMAIN_TEXT}"]),
    ],
)
def test_names_of_csi_drivers(name: str, expected: list[str]) -> None:
    """Source: ValidateCSIDriverName."""
    assert told(volume_sources.validate_csi_driver_name(name, "f")) == expected
    of_pod = errors(types.CSIVolumeSource, {"driver": name})
    of_volume = errors(types.CSIPersistentVolumeSource, {"driver": name, "volumeHandle": "h"})
    assert of_pod == of_volume == ["driver" + text.removeprefix("f") for text in expected]


def test_secrets_of_csi_volumes() -> None:
    """A wrong name has the path `name`. Source: validateCSIVolumeSource, validatePVSecretReference."""
    for reference, expected in (
        ({"name": "a.b"}, []),
        ({}, ["nodePublishSecretRef.name Required"]),
        ({"name": "A"}, [f"name Invalid {SUBDOMAIN_TEXT}"]),
    ):
        assert errors(types.CSIVolumeSource, {"driver": "d", "nodePublishSecretRef": reference}) == expected
    assert errors(types.CSIPersistentVolumeSource, {"driver": "d"}) == ["volumeHandle Required"]
    names = ("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef")
    fields = {"driver": "d", "volumeHandle": "h"}
    for name in names:
        for reference, expected in (
            ({"name": "a.b", "namespace": "n"}, []),
            ({}, ["name Required", "namespace Required"]),
            (
                {"name": "A", "namespace": "n.m"},
                [f"name Invalid {SUBDOMAIN_TEXT}", "namespace Invalid must not contain dots"],
            ),
        ):
            found = errors(types.CSIPersistentVolumeSource, {**fields, name: reference})
            assert found == [f"{name}.{text}" for text in expected]
    every = errors(types.CSIPersistentVolumeSource, {**fields, **{name: {"name": "a"} for name in reversed(names)}})
    assert every == [f"{name}.namespace Required" for name in names]
