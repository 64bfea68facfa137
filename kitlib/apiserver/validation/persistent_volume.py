"""Validation of PersistentVolumes.

Source: pkg/apis/core/validation ValidatePersistentVolumeSpec, ValidatePersistentVolumeUpdate.
"""

from __future__ import annotations

import posixpath

import msgspec

from kitlib.api.core import PersistentVolume, PersistentVolumeSpec, VolumeNodeAffinity
from kitlib.api.field_errors import (
    NOT_POSITIVE,
    Errors,
    GoStruct,
    diff,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
    validate_immutable_field,
)
from kitlib.api.names import is_dns1123_subdomain
from kitlib.api.serialize import deepcopy
from kitlib.api.volume import PersistentVolumeSource
from kitlib.apiserver.validation.object_meta import validate_object_meta, validate_object_meta_update
from kitlib.apiserver.validation.persistent_volume_claim import VOLUME_MODES, validate_access_modes
from kitlib.apiserver.validation.rules import Rules
from kitlib.apiserver.validation.scheduling import validate_node_selector
from kitlib.apiserver.validation.volume_sources import validate_portal_length, validate_source
from kitlib.apiserver.validation.volumes import ONE_TYPE

RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")
_SOURCES = tuple((f.name, f.encode_name) for f in msgspec.structs.fields(PersistentVolumeSource))
_INLINE = "may not be specified in the context of inline volumes"
_MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"
_WITH_MOUNT_OPTIONS = (
    *("gce_persistent_disk", "aws_elastic_block_store", "glusterfs", "nfs", "rbd", "quobyte", "iscsi", "cinder"),
    *("cephfs", "azure_file", "vsphere_volume", "azure_disk", "photon_persistent_disk"),
)
_GO_NAMES = {
    "GCEPersistentDisk": "gce_persistent_disk",
    "AWSElasticBlockStore": "aws_elastic_block_store",
    "HostPath": "host_path",
    "Glusterfs": "glusterfs",
    "NFS": "nfs",
    "RBD": "rbd",
    "Quobyte": "quobyte",
    "ISCSI": "iscsi",
    "FlexVolume": "flex_volume",
    "Cinder": "cinder",
    "CephFS": "cephfs",
    "FC": "fc",
    "Flocker": "flocker",
    "AzureFile": "azure_file",
    "VsphereVolume": "vsphere_volume",
    "AzureDisk": "azure_disk",
    "PhotonPersistentDisk": "photon_persistent_disk",
    "PortworxVolume": "portworx_volume",
    "ScaleIO": "scale_io",
    "Local": "local",
    "StorageOS": "storageos",
    "CSI": "csi",
}
"""The sources in the order of core.PersistentVolumeSource."""
_NEWER_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def validate_persistent_volume(volume: PersistentVolume) -> Errors:
    """Source: ValidatePersistentVolume."""
    found = validate_object_meta(volume.metadata, namespaced=False)
    found += validate_persistent_volume_spec(volume.spec, volume.metadata.name, "spec")
    return found + _mount_options(volume)


def _mount_options(volume: PersistentVolume) -> Errors:
    """Reject the old annotation for volumes without mount options. Source: pkg/volume checkMountOption."""
    if any(getattr(volume.spec, attribute) is not None for attribute in _WITH_MOUNT_OPTIONS):
        return []
    if _MOUNT_OPTIONS not in volume.metadata.annotations:
        return []
    detail = "may not specify mount options for this volume type"
    return [forbidden(f"metadata.annotations.{_MOUNT_OPTIONS}", detail)]


def validate_persistent_volume_spec(
    spec: PersistentVolumeSpec, name: str, field: str, *, inline: bool = False
) -> Errors:
    """Source: ValidatePersistentVolumeSpec.

    Args:
        spec: the volume's spec.
        name: the volume's name.
        field: the path of the spec.
        inline: whether it is the inline volume of a VolumeAttachment, which allows few other fields.
    """
    found = _inline(spec, field) if inline else []
    if not spec.access_modes:
        found.append(required(f"{field}.accessModes"))
    found += validate_access_modes(spec.access_modes, f"{field}.accessModes")
    if not inline:
        found += _capacity(spec, f"{field}.capacity")
    policy, place = spec.persistent_volume_reclaim_policy, f"{field}.persistentVolumeReclaimPolicy"
    if inline and policy not in ("", "Retain"):
        found.append(forbidden(place, "may only be Retain in the context of inline volumes"))
    elif policy and policy not in RECLAIM_POLICIES:
        found.append(not_supported(place, policy, RECLAIM_POLICIES))
    affinity = spec.node_affinity
    if affinity is not None:
        if inline:
            found.append(forbidden(f"{field}.nodeAffinity", _INLINE))
        elif affinity.required is None:
            detail = "must specify required node constraints"
            found.append(required(f"{field}.nodeAffinity.required", detail))
        else:
            terms = affinity.required.node_selector_terms
            found += validate_node_selector(terms, f"{field}.nodeAffinity.required")
    found += _sources(spec, name, field, has_affinity=affinity is not None and not inline)
    path = spec.host_path.path if spec.host_path is not None else ""
    if path and posixpath.normpath(path) in ("/", "//") and policy == "Recycle":
        found.append(forbidden(place, "may not be 'recycle' for a hostPath mount of '/'"))
    if spec.storage_class_name:
        if inline:
            found.append(forbidden(f"{field}.storageClassName", _INLINE))
        else:
            class_name = spec.storage_class_name
            found += each(f"{field}.storageClassName", class_name, is_dns1123_subdomain(class_name))
    if inline and spec.volume_mode not in (None, "Filesystem"):
        detail = "may not specify volumeMode other than Filesystem in the context of inline volumes"
        found.append(forbidden(f"{field}.volumeMode", detail))
    elif spec.volume_mode is not None and spec.volume_mode not in VOLUME_MODES:
        found.append(not_supported(f"{field}.volumeMode", spec.volume_mode, VOLUME_MODES))
    if spec.volume_attributes_class_name is not None and not inline:
        class_name, place = spec.volume_attributes_class_name, f"{field}.volumeAttributesClassName"
        if not class_name:
            found.append(required(place, "an empty string is disallowed"))
        else:
            found += each(place, class_name, is_dns1123_subdomain(class_name))
        if spec.csi is None:
            found.append(required(f"{field}.csi", "has to be specified when using volumeAttributesClassName"))
    return found


def _inline(spec: PersistentVolumeSpec, field: str) -> Errors:
    found = [
        forbidden(f"{field}.{name}", _INLINE)
        for name, value in (
            ("claimRef", spec.claim_ref),
            ("capacity", spec.capacity),
        )
        if value
    ]
    if spec.csi is None:
        found.append(required(f"{field}.csi", "has to be specified in the context of inline volumes"))
    return found


def _capacity(spec: PersistentVolumeSpec, field: str) -> Errors:
    found: Errors = []
    if not spec.capacity:
        found.append(required(field))
    if list(spec.capacity) != ["storage"]:
        found.append(not_supported(field, spec.capacity or None, ("storage",)))
    for name, quantity in spec.capacity.items():
        if quantity.value() < 0:
            found.append(invalid(f"{field}[{name}]", quantity.value(), "must be a valid resource quantity"))
        if quantity.sign() <= 0:
            found.append(invalid(f"{field}[{name}]", quantity, NOT_POSITIVE))
    return found


def _sources(spec: PersistentVolumeSpec, name: str, field: str, *, has_affinity: bool) -> Errors:
    """Check that there is exactly one source; upstream tolerates a flexVolume after another source.

    A local volume must have a node affinity.
    """
    found: Errors = []
    seen = False
    for attribute, wire_name in _SOURCES:
        source = getattr(spec, attribute)
        if source is None:
            continue
        if seen and attribute != "flex_volume":
            found.append(forbidden(f"{field}.{'cephFS' if attribute == 'cephfs' else wire_name}", ONE_TYPE))
            continue
        seen = True
        wrong = validate_source(source, f"{field}.{wire_name}")
        if attribute == "iscsi":
            portal = source.target_portal
            after = 0 if portal else 1
            wrong[after:after] = validate_portal_length(name, source, f"{field}.iscsi.targetportal", portal)
        found += wrong
        if attribute == "local" and not has_affinity:
            found.append(required(f"{field}.nodeAffinity", "Local volume requires node affinity"))
    return found if seen or spec.unknown_fields else [*found, required(field, "must specify a volume type")]


def validate_persistent_volume_update(new: PersistentVolume, old: PersistentVolume) -> Errors:
    """Check that an update keeps the source. Source: ValidatePersistentVolumeUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata) + validate_persistent_volume(new)
    mine, theirs = deepcopy(new.spec), deepcopy(old.spec)
    if mine.csi is not None and theirs.csi is not None and theirs.csi.controller_expand_secret_ref is None:
        mine.csi.controller_expand_secret_ref = None
    if any(getattr(mine, attribute) != getattr(theirs, attribute) for attribute, _ in _SOURCES):
        changes = diff(_go_source(theirs), _go_source(mine))
        detail = f"spec.persistentvolumesource is immutable after creation\n{changes}"
        found.append(forbidden("spec.persistentvolumesource", detail))
    found += validate_immutable_field(mine.volume_mode, theirs.volume_mode, "volumeMode")
    if theirs.node_affinity is not None and mine.node_affinity != _with_newer_labels(theirs, mine):
        detail = "field is immutable, except for updating from beta label to GA"
        found.append(invalid("nodeAffinity", mine.node_affinity, detail))
    if theirs.volume_attributes_class_name is not None and mine.volume_attributes_class_name is None:
        detail = "update from non-nil value to nil is forbidden"
        found.append(forbidden("spec.volumeAttributesClassName", detail))
    return found


def _go_source(spec: PersistentVolumeSpec) -> GoStruct:
    return GoStruct({name: getattr(spec, attribute) for name, attribute in _GO_NAMES.items()})


def _with_newer_labels(old: PersistentVolumeSpec, new: PersistentVolumeSpec) -> VolumeNodeAffinity | None:
    """Return the old affinity with beta labels replaced if the new one has the successor label.

    Source: validatePvNodeAffinity, getMaskNodeSelectorLabelChangeEqualities.
    """
    kept, asked = old.node_affinity, new.node_affinity
    if kept is None or kept.required is None or asked is None or asked.required is None:
        return kept
    pairs = zip(kept.required.node_selector_terms, asked.required.node_selector_terms, strict=False)
    for before, after in pairs:
        for which in ("match_expressions", "match_fields"):
            for mine, theirs in zip(getattr(before, which), getattr(after, which), strict=False):
                if _NEWER_LABELS.get(mine.key) == theirs.key:
                    mine.key = theirs.key
    return kept


KINDS: Rules = {
    PersistentVolume: (validate_persistent_volume, validate_persistent_volume_update),
}
