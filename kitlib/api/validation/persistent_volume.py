"""PersistentVolumes.

Source: pkg/apis/core/validation ValidatePersistentVolumeSpec, ValidatePersistentVolumeUpdate.
"""

from __future__ import annotations

import posixpath

import msgspec

from kitlib.api.core import PersistentVolume, PersistentVolumeSpec
from kitlib.api.names import is_dns1123_subdomain
from kitlib.api.serialize import deepcopy
from kitlib.api.validation.fields import (
    NOT_POSITIVE,
    Errors,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
    validate_immutable_field,
)
from kitlib.api.validation.object_meta import validate_object_meta, validate_object_meta_update
from kitlib.api.validation.persistent_volume_claim import VOLUME_MODES, validate_access_modes
from kitlib.api.validation.scheduling import validate_node_selector
from kitlib.api.validation.volume_sources import validate_portal_length, validate_source
from kitlib.api.validation.volumes import ONE_TYPE
from kitlib.api.volume import PersistentVolumeSource

RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")
_SOURCES = tuple((f.name, f.encode_name) for f in msgspec.structs.fields(PersistentVolumeSource))
_INLINE = "may not be specified in the context of inline volumes"


def validate_persistent_volume(volume: PersistentVolume) -> Errors:
    """Source: ValidatePersistentVolume."""
    found = validate_object_meta(volume.metadata, namespaced=False)
    return found + validate_persistent_volume_spec(volume.spec, volume.metadata.name, "spec")


def validate_persistent_volume_spec(
    spec: PersistentVolumeSpec, name: str, field: str, *, inline: bool = False
) -> Errors:
    """Source: ValidatePersistentVolumeSpec.

    Args:
        inline: the volume of a VolumeAttachment, which has a source and little else.
    """
    found = _inline(spec, field) if inline else []
    if not spec.access_modes:
        found.append(required(f"{field}.accessModes"))
    found += validate_access_modes(spec.access_modes, f"{field}.accessModes")
    if not inline:
        found += _capacity(spec, f"{field}.capacity")
        policy = spec.persistent_volume_reclaim_policy
        if policy and policy not in RECLAIM_POLICIES:
            found.append(not_supported(f"{field}.persistentVolumeReclaimPolicy", policy, RECLAIM_POLICIES))
    affinity = spec.node_affinity
    if affinity is not None and not inline:
        if affinity.required is None:
            detail = "must specify required node constraints"
            found.append(required(f"{field}.nodeAffinity.required", detail))
        else:
            terms = affinity.required.node_selector_terms
            found += validate_node_selector(terms, f"{field}.nodeAffinity.required")
    found += _sources(spec, name, field)
    path = spec.host_path.path if spec.host_path is not None else ""
    if path and posixpath.normpath(path) == "/" and spec.persistent_volume_reclaim_policy == "Recycle":
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        found.append(forbidden(f"{field}.persistentVolumeReclaimPolicy", detail))
    if spec.storage_class_name:
        if inline:
            found.append(forbidden(f"{field}.storageClassName", _INLINE))
        else:
            class_name = spec.storage_class_name
            found += each(f"{field}.storageClassName", class_name, is_dns1123_subdomain(class_name))
    if spec.volume_mode is not None and spec.volume_mode not in VOLUME_MODES:
        found.append(not_supported(f"{field}.volumeMode", spec.volume_mode, VOLUME_MODES))
    if spec.volume_attributes_class_name is not None:
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
            ("nodeAffinity", spec.node_affinity),
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


def _sources(spec: PersistentVolumeSpec, name: str, field: str) -> Errors:
    """Exactly one source; a local one needs to say on which nodes it is."""
    found: Errors = []
    seen = False
    for attribute, wire_name in _SOURCES:
        source = getattr(spec, attribute)
        if source is None:
            continue
        if seen:
            found.append(forbidden(f"{field}.{'cephFS' if attribute == 'cephfs' else wire_name}", ONE_TYPE))
            continue
        seen = True
        found += validate_source(source, f"{field}.{wire_name}")
        if attribute == "iscsi":
            portal = source.target_portal
            found += validate_portal_length(name, source, f"{field}.iscsi.targetportal", portal)
        if attribute == "local" and spec.node_affinity is None:
            found.append(required(f"{field}.nodeAffinity", "Local volume requires node affinity"))
    return found if seen or spec.unknown_fields else [*found, required(field, "must specify a volume type")]


def validate_persistent_volume_update(new: PersistentVolume, old: PersistentVolume) -> Errors:
    """The source stays. Source: ValidatePersistentVolumeUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata) + validate_persistent_volume(new)
    mine, theirs = deepcopy(new.spec), deepcopy(old.spec)
    if mine.csi is not None and theirs.csi is not None and theirs.csi.controller_expand_secret_ref is None:
        mine.csi.controller_expand_secret_ref = None
    if any(getattr(mine, attribute) != getattr(theirs, attribute) for attribute, _ in _SOURCES):
        detail = "spec.persistentvolumesource is immutable after creation"
        found.append(forbidden("spec.persistentvolumesource", detail))
    found += validate_immutable_field(mine.volume_mode, theirs.volume_mode, "volumeMode")
    if theirs.node_affinity is not None:
        found += validate_immutable_field(mine.node_affinity, theirs.node_affinity, "nodeAffinity")
    if theirs.volume_attributes_class_name is not None and mine.volume_attributes_class_name is None:
        detail = "update from non-nil value to nil is forbidden"
        found.append(forbidden("spec.volumeAttributesClassName", detail))
    return found
