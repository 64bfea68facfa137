"""Volumes of pods, PersistentVolumes and claims: single rules that no recorded case holds."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict
from kitlib.apiserver.validation import validate

MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"
CLASS = "volume.beta.kubernetes.io/storage-class"


def problems(data: dict[str, Any], old: dict[str, Any] | None = None, *, namespace: str = "") -> list[str]:
    def made(one: dict[str, Any]) -> Any:
        obj = set_defaults(from_dict(one, strict=True))
        obj.metadata.namespace = namespace
        return obj

    return [str(error) for error in validate(made(data), made(old) if old is not None else None)]


def manifest(kind: str, spec: dict[str, Any], **annotations: str) -> dict[str, Any]:
    meta = {"name": "x", "annotations": {key.replace("__", "/"): text for key, text in annotations.items()}}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, "spec": spec}


def of_volume(*sources: dict[str, Any], **fields: Any) -> list[str]:
    """What is wrong with a pod's volumes, without the words `spec.volumes`."""
    volumes = [{"name": "v", **source} for source in (*sources, *([fields] if fields else []))]
    pod = manifest("Pod", {"containers": [{"name": "c", "image": "i"}], "volumes": volumes})
    return [text.removeprefix("spec.volumes[0].") for text in problems(pod, namespace="default")]


def projected(**source: Any) -> list[str]:
    found = of_volume(projected={"sources": [source]})
    return [text.removeprefix("projected.sources[0].") for text in found]


SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
SOURCES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a partition is named by a range that begins at 1": (
        {"gcePersistentDisk": {"pdName": "d", "partition": 256}},
        ["persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive"],
    ),
    "any letter is a digit of an extended identifier": (
        {"iscsi": {"targetPortal": "p", "iqn": "eui.ZZZZZZZZZZZZZZZZ"}},
        [],
    ),
    "an identifier has its length": (
        {"iscsi": {"targetPortal": "p", "iqn": "naa.123"}},
        ['iscsi.iqn: Invalid value: "naa.123": must be valid format'],
    ),
    "a bracket makes no address": (
        {"quobyte": {"registry": "a]:1", "volume": "v"}},
        [
            'quobyte.registry: Invalid value: "a]:1": must be a host:port pair or multiple pairs separated by commas',
        ],
    ),
    "an image beside another source is only one too many": (
        {"emptyDir": {}, "image": {"pullPolicy": "Always"}},
        ["image: Forbidden: may not specify more than 1 volume type"],
    ),
    "an image's reference comes before its policy": (
        {"image": {"pullPolicy": "Often"}},
        [
            "image.reference: Required value",
            'image.pullPolicy: Unsupported value: "Often": supported values: "Always", "IfNotPresent", "Never"',
        ],
    ),
    "the length of a portal is said before the next source": (
        {
            "iscsi": {"targetPortal": "p" * 70, "iqn": "iqn.2001-04.com.x:a", "initiatorName": "iqn.2001-04.com.x:b"},
            "glusterfs": {},
        },
        [
            'name: Invalid value: "v": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters '
            "if iscsi.initiatorName is specified.",
            "glusterfs: Forbidden: may not specify more than 1 volume type",
        ],
    ),
    "a claim's template shows the names of Go's fields": (
        {
            "ephemeral": {
                "volumeClaimTemplate": {
                    "metadata": {"uid": "u", "generation": 1},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}},
                }
            }
        },
        [
            "ephemeral.volumeClaimTemplate.metadata.uID: Forbidden: cannot be set",
            "ephemeral.volumeClaimTemplate.metadata.generation: Forbidden: cannot be set",
        ],
    ),
}


@pytest.mark.parametrize(("source", "expected"), SOURCES.values(), ids=SOURCES.keys())
def test_a_source_of_a_pods_volume(source: dict[str, Any], expected: list[str]) -> None:
    assert of_volume(source) == expected


BUNDLES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a plain name": ({"name": "a.b"}, []),
    "the name of a signer's bundle": ({"name": "example.com:s:b"}, []),
    "a name that is none": (
        {"name": "A"},
        [f'clusterTrustBundle.name: Invalid value: "A": not a valid clustertrustbundlename: {SUBDOMAIN}'],
    ),
    "a colon without a signer": (
        {"name": ":a"},
        [
            'clusterTrustBundle.name: Invalid value: ":a": not a valid clustertrustbundlename: ClusterTrustBundle '
            'without signer name must not have ":" in its name'
        ],
    ),
    "a signer without a path": (
        {"signerName": "example.com"},
        [
            'clusterTrustBundle.signerName: Invalid value: "example.com": must be a fully qualified domain and path '
            "of the form 'example.com/signer-name'"
        ],
    ),
    "an empty signer": (
        {"signerName": ""},
        [
            "clusterTrustBundle.signerName: Required value: must be a valid signer name",
            "clusterTrustBundle.signerName: Required value",
        ],
    ),
    "a selector with an unknown operator": (
        {"signerName": "example.com/s", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}},
        [
            "clusterTrustBundle.labelSelector.matchExpressions[0].operator: Invalid value: "
            '"Is": not a valid selector operator'
        ],
    ),
}


@pytest.mark.parametrize(("bundle", "expected"), BUNDLES.values(), ids=BUNDLES.keys())
def test_a_projected_bundle_of_certificates(bundle: dict[str, Any], expected: list[str]) -> None:
    assert projected(clusterTrustBundle={"path": "p", **bundle}) == expected


GOOD = {"signerName": "example.com/s", "keyType": "ED25519", "keyPath": "k"}
KEY_TYPES = '"RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"'
CERTIFICATES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "complete": ({}, []),
    "no signer": ({"signerName": ""}, ["podCertificate.signerName: Required value"]),
    "an unknown type of key": (
        {"keyType": "RSA"},
        [f'podCertificate.keyType: Unsupported value: "RSA": supported values: {KEY_TYPES}'],
    ),
    "too short": (
        {"maxExpirationSeconds": 60},
        ["podCertificate.maxExpirationSeconds: Invalid value: 60: if provided, maxExpirationSeconds must be >= 3600"],
    ),
    "too long for one of the project's signers": (
        {"signerName": "kubernetes.io/s", "maxExpirationSeconds": 86401},
        [
            "podCertificate.maxExpirationSeconds: Invalid value: 86401: if provided, maxExpirationSeconds must be "
            "<= 86400"
        ],
    ),
    "two files of one name": (
        {"certificateChainPath": "k"},
        ['projected: Invalid value: "k": conflicting duplicate paths'],
    ),
    "a path that leaves the volume": (
        {"keyPath": "../k"},
        ["podCertificate.keyPath: Invalid value: \"../k\": must not contain '..'"],
    ),
    "no path": (
        {"keyPath": ""},
        [
            "podCertificate: Required value: specify at least one of credentialBundlePath, keyPath, and "
            "certificateChainPath"
        ],
    ),
    "an annotation without a domain": (
        {"userAnnotations": {"A": "b"}},
        ['podCertificate.userAnnotations: Invalid value: "a": must be a domain-prefixed key (such as "acme.io/foo")'],
    ),
}


@pytest.mark.parametrize(("certificate", "expected"), CERTIFICATES.values(), ids=CERTIFICATES.keys())
def test_a_projected_certificate(certificate: dict[str, Any], expected: list[str]) -> None:
    assert projected(podCertificate={**GOOD, **certificate}) == expected


def volume(*, annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    fixed = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
    return manifest("PersistentVolume", {**fixed, **spec}, **(annotations or {}))


def near(key: str) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": ["a"]}]}]
    return {"required": {"nodeSelectorTerms": terms}}


NFS = {"server": "s", "path": "/p"}
VOLUMES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a flexVolume may follow another source, and nothing may follow it": (
        volume(nfs=NFS, flexVolume={"driver": "d"}, csi={"driver": "d", "volumeHandle": "h"}),
        ["spec.csi: Forbidden: may not specify more than 1 volume type"],
    ),
    "what stands in a host's root is not emptied, however the root is written": (
        volume(hostPath={"path": "//"}, persistentVolumeReclaimPolicy="Recycle"),
        [
            "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
        ],
    ),
    "the portal's length comes before the name": (
        volume(iscsi={"targetPortal": "p" * 70, "iqn": "", "initiatorName": "iqn.2001-04.com.x:b"}),
        [
            f'spec.iscsi.targetportal: Invalid value: "{"p" * 70}": Total length of <volume name>:<iscsi.targetPortal> '
            "must be under 64 characters if iscsi.initiatorName is specified.",
            "spec.iscsi.iqn: Required value",
        ],
    ),
    "options of a mount where nothing is mounted with options": (
        volume(csi={"driver": "d", "volumeHandle": "h"}, annotations={MOUNT_OPTIONS: "ro"}),
        [f"metadata.annotations.{MOUNT_OPTIONS}: Forbidden: may not specify mount options for this volume type"],
    ),
    "options of a mount where they are known": (volume(nfs=NFS, annotations={MOUNT_OPTIONS: "ro"}), []),
}


@pytest.mark.parametrize(("data", "expected"), VOLUMES.values(), ids=VOLUMES.keys())
def test_a_persistent_volume(data: dict[str, Any], expected: list[str]) -> None:
    assert problems(data) == expected


def test_a_volumes_node_affinity_may_change_from_a_beta_label_to_its_successor() -> None:
    old = volume(nfs=NFS, nodeAffinity=near("failure-domain.beta.kubernetes.io/zone"))
    assert problems(volume(nfs=NFS, nodeAffinity=near("topology.kubernetes.io/zone")), old) == []
    (problem,) = problems(volume(nfs=NFS, nodeAffinity=near("other")), old)
    assert problem.startswith('nodeAffinity: Invalid value: {"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"')
    assert problem.endswith(": field is immutable, except for updating from beta label to GA")


def test_the_source_of_a_volume_stays_and_the_change_is_shown() -> None:
    (problem,) = problems(volume(nfs={**NFS, "path": "/q"}), volume(nfs=NFS))
    assert problem == (
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n"
        "@@ -5,7 +5,7 @@\n"
        '  "Glusterfs": null,\n'
        '  "NFS": {\n'
        '   "Server": "s",\n'
        '-  "Path": "/p",\n'
        '+  "Path": "/q",\n'
        '   "ReadOnly": false\n'
        "  },\n"
        '  "RBD": null,\n'
    )


def claim(*, annotation: str | None = None, status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    fixed = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    annotations = {} if annotation is None else {CLASS: annotation}
    made = manifest("PersistentVolumeClaim", {**fixed, **spec}, **annotations)
    return {**made, "status": status or {}}


BOUND = {"phase": "Bound"}
WITH_CLASS = {**BOUND, "currentVolumeAttributesClassName": "gold"}
CLAIMS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "the class moves from the annotation to its field": (claim(annotation="a"), claim(storageClassName="a"), []),
    "a class is named for the first time": (claim(), claim(storageClassName="a"), []),
    "but not with an annotation that was not there": (
        claim(),
        claim(storageClassName="a", annotation="b"),
        [f'metadata.annotations.{CLASS}: Invalid value: "b": field is immutable'],
    ),
    "a class of attributes that was never applied may go": (
        claim(volumeAttributesClassName="gold", status=BOUND),
        claim(status=BOUND),
        [],
    ),
    "one that was applied stays": (
        claim(volumeAttributesClassName="gold", status=WITH_CLASS),
        claim(status=WITH_CLASS),
        [
            "spec.volumeAttributesClassName: Forbidden: update to nil is forbidden when "
            "status.currentVolumeAttributesClassName is not nil"
        ],
    ),
    "also where it becomes empty": (
        claim(volumeAttributesClassName="gold", status=WITH_CLASS),
        claim(volumeAttributesClassName="", status=WITH_CLASS),
        [
            "spec.volumeAttributesClassName: Forbidden: update to empty string is forbidden when "
            "status.currentVolumeAttributesClassName is not nil"
        ],
    ),
    "everything else stays, and the change is shown": (
        claim(storageClassName="a"),
        claim(storageClassName="b"),
        [
            "spec: Forbidden: spec is immutable after creation except resources.requests and "
            "volumeAttributesClassName for bound claims\n"
            "@@ -10,7 +10,7 @@\n"
            "   }\n"
            "  },\n"
            '  "VolumeName": "",\n'
            '- "StorageClassName": "a",\n'
            '+ "StorageClassName": "b",\n'
            '  "VolumeMode": "Filesystem",\n'
            '  "DataSource": null,\n'
            '  "DataSourceRef": null,\n'
        ],
    ),
}


@pytest.mark.parametrize(("old", "new", "expected"), CLAIMS.values(), ids=CLAIMS.keys())
def test_a_change_of_a_claim(old: dict[str, Any], new: dict[str, Any], expected: list[str]) -> None:
    assert problems(new, old, namespace="default") == expected


def test_two_sources_of_data_differ_and_the_message_shows_an_empty_path() -> None:
    group = {"apiGroup": "example.com", "kind": "K"}
    data = claim(dataSource={**group, "name": "a"}, dataSourceRef={**group, "name": "b"})
    assert problems(data, namespace="default") == ["spec: Invalid value: {}: must match dataSourceRef"]


def attachment(**volume_spec: Any) -> dict[str, Any]:
    inline = {"accessModes": ["ReadWriteOnce"], "csi": {"driver": "d", "volumeHandle": "h"}, **volume_spec}
    spec = {"attacher": "a.example", "nodeName": "n", "source": {"inlineVolumeSpec": inline}}
    meta = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "x"}}
    return {**meta, "spec": spec}


INLINE: dict[str, tuple[dict[str, Any], list[str]]] = {
    "persistentVolumeReclaimPolicy": (
        {"persistentVolumeReclaimPolicy": "Delete"},
        ["may only be Retain in the context of inline volumes"],
    ),
    "volumeMode": (
        {"volumeMode": "Block"},
        ["may not specify volumeMode other than Filesystem in the context of inline volumes"],
    ),
    "nodeAffinity": ({"nodeAffinity": near("a")}, ["may not be specified in the context of inline volumes"]),
}


@pytest.mark.parametrize("field", INLINE)
def test_the_volume_of_an_attachment_has_a_source_and_little_else(field: str) -> None:
    spec, expected = INLINE[field]
    place = f"spec.source.inlineVolumeSpec.{field}"
    assert problems(attachment(**spec)) == [f"{place}: Forbidden: {text}" for text in expected]
