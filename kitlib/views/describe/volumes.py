"""The part `Volumes` of `kubectl describe pod`: every source with its fields.

Source: kubectl describe.go (describeVolumes, print…VolumeSource, printPersistentVolumeClaim).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Object = Mapping[str, Any]
Field = tuple[str, str, Any]
"""Title, key, and the text for a missing key."""

SOURCES: dict[str, tuple[str, tuple[Field, ...]]] = {
    "hostPath": (
        "HostPath (bare host directory volume)",
        (("Path", "path", ""), ("HostPathType", "type", "<none>")),
    ),
    "emptyDir": (
        "EmptyDir (a temporary directory that shares a pod's lifetime)",
        (("Medium", "medium", ""), ("SizeLimit", "sizeLimit", "<unset>")),
    ),
    "secret": (
        "Secret (a volume populated by a Secret)",
        (("SecretName", "secretName", ""), ("Optional", "optional", False)),
    ),
    "configMap": (
        "ConfigMap (a volume populated by a ConfigMap)",
        (("Name", "name", ""), ("Optional", "optional", False)),
    ),
    "nfs": (
        "NFS (an NFS mount that lasts the lifetime of a pod)",
        (("Server", "server", ""), ("Path", "path", ""), ("ReadOnly", "readOnly", False)),
    ),
    "persistentVolumeClaim": (
        "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
        (("ClaimName", "claimName", ""), ("ReadOnly", "readOnly", False)),
    ),
    "image": (
        "Image (a container image or OCI artifact)",
        (("Reference", "reference", ""), ("PullPolicy", "pullPolicy", "")),
    ),
    "gitRepo": (
        "GitRepo (a volume that is pulled from git when the pod is created)",
        (("Repository", "repository", ""), ("Revision", "revision", "")),
    ),
    "gcePersistentDisk": (
        "GCEPersistentDisk (a Persistent Disk resource in Google Compute Engine)",
        (
            ("PDName", "pdName", ""),
            ("FSType", "fsType", ""),
            ("Partition", "partition", 0),
            ("ReadOnly", "readOnly", False),
        ),
    ),
    "awsElasticBlockStore": (
        "AWSElasticBlockStore (a Persistent Disk resource in AWS)",
        (
            ("VolumeID", "volumeID", ""),
            ("FSType", "fsType", ""),
            ("Partition", "partition", 0),
            ("ReadOnly", "readOnly", False),
        ),
    ),
    "fc": (
        "FC (a Fibre Channel disk)",
        (
            ("TargetWWNs", "targetWWNs", ""),
            ("LUN", "lun", "<none>"),
            ("FSType", "fsType", ""),
            ("ReadOnly", "readOnly", False),
        ),
    ),
    "azureFile": (
        "AzureFile (an Azure File Service mount on the host and bind mount to the pod)",
        (("SecretName", "secretName", ""), ("ShareName", "shareName", ""), ("ReadOnly", "readOnly", False)),
    ),
    "csi": (
        "CSI (a Container Storage Interface (CSI) volume source)",
        (("Driver", "driver", ""), ("FSType", "fsType", ""), ("ReadOnly", "readOnly", False)),
    ),
}
_MAX = 140
"""Maximum number of characters of an attribute. Source: maxAnnotationLen."""


def describe_volumes(volumes: Sequence[Object]) -> str:
    """Return all volumes of a pod, with tabs between the columns."""
    if not volumes:
        return "Volumes:\t<none>\n"
    return "Volumes:\n" + "".join(f"  {volume['name']}:\n{_source(volume)}" for volume in volumes)


def _source(volume: Object) -> str:
    for name, write in _OWN.items():
        if name in volume:
            return write(volume[name] or {})
    for name, (sentence, fields) in SOURCES.items():
        if name in volume:
            return _lines(sentence, fields, volume[name] or {})
    return "  <unknown>\n"


def _lines(sentence: str, fields: Sequence[Field], source: Object) -> str:
    shown = [(title, source.get(key, default)) for title, key, default in fields]
    return f"    Type:\t{sentence}\n" + "".join(f"    {title}:\t{_value(value)}\n" for title, value in shown)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _csi(source: Object) -> str:
    sentence, fields = SOURCES["csi"]
    found = sorted((source.get("volumeAttributes") or {}).items())
    lines = [line if len(line) <= _MAX else f"{line[:_MAX]}..." for line in (f"{k}={v}" for k, v in found)]
    shown = f"    VolumeAttributes:\t{lines[0] if lines else '<none>'}\n" + "".join(
        f"    \t{one}\n" for one in lines[1:]
    )
    return _lines(sentence, fields, source) + shown


def _projected(source: Object) -> str:
    text = "    Type:\tProjected (a volume that contains injected data from multiple sources)\n"
    for one in source.get("sources") or ():
        for key, title in (("secret", "SecretName"), ("configMap", "ConfigMapName")):
            if one.get(key) is not None:
                text += f"    {title}:\t{one[key].get('name', '')}\n"
                text += f"    Optional:\t{_value(bool(one[key].get('optional')))}\n"
        if one.get("downwardAPI") is not None:
            text += "    DownwardAPI:\ttrue\n"
        if one.get("serviceAccountToken") is not None:
            text += f"    TokenExpirationSeconds:\t{one['serviceAccountToken'].get('expirationSeconds', 3600)}\n"
    return text


def _downward_api(source: Object) -> str:
    text = "    Type:\tDownwardAPI (a volume populated by information about the pod)\n    Items:\n"
    for item in source.get("items") or ():
        for key, field in (("fieldRef", "fieldPath"), ("resourceFieldRef", "resource")):
            if item.get(key):
                text += f"      {item[key][field]} -> {item['path']}\n"
    return text


def _ephemeral(source: Object) -> str:
    text = (
        "    Type:\tEphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)\n"
    )
    template = source.get("volumeClaimTemplate")
    if not template:
        return text
    spec, meta = template.get("spec") or {}, template.get("metadata") or {}
    text += f"    StorageClass:\t{spec.get('storageClassName', '')}\n    Volume:\t{spec.get('volumeName', '')}\n"
    for title, key, sign in (("Labels", "labels", "="), ("Annotations", "annotations", ": ")):
        some = [f"{name}{sign}{value}" for name, value in sorted((meta.get(key) or {}).items())]
        text += f"    {title}:\t{some[0] if some else '<none>'}\n" + "".join(f"    \t{one}\n" for one in some[1:])
    text += "    Capacity:\t\n    Access Modes:\t\n"
    return text + (f"    VolumeMode:\t{spec['volumeMode']}\n" if spec.get("volumeMode") else "")


_OWN: dict[str, Callable[[Object], str]] = {
    "csi": _csi,
    "projected": _projected,
    "downwardAPI": _downward_api,
    "ephemeral": _ephemeral,
}
