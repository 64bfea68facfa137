"""Validation of PersistentVolumeClaims and their templates.

Source: pkg/apis/core/validation ValidatePersistentVolumeClaim, ValidatePersistentVolumeClaimSpec,
ValidatePersistentVolumeClaimUpdate.
"""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.api.core import (
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimTemplate,
)
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
from kitlib.api.names import is_dns1123_label, is_dns1123_subdomain
from kitlib.api.resource import Quantity
from kitlib.api.serialize import deepcopy
from kitlib.api.volume import TypedLocalObjectReference, TypedObjectReference
from kitlib.apiserver.validation.object_meta import (
    validate_label_selector,
    validate_object_meta,
    validate_object_meta_update,
    validate_template_object_meta,
)
from kitlib.apiserver.validation.rules import Rules

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_ONLY = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"


def validate_persistent_volume_claim(claim: PersistentVolumeClaim) -> Errors:
    """Source: ValidatePersistentVolumeClaim."""
    return validate_object_meta(claim.metadata, namespaced=True) + validate_persistent_volume_claim_spec(
        claim.spec, "spec"
    )


def validate_persistent_volume_claim_template(template: PersistentVolumeClaimTemplate, field: str) -> Errors:
    """Source: ValidatePersistentVolumeClaimTemplate."""
    found = validate_template_object_meta(template.metadata, f"{field}.metadata")
    return found + validate_persistent_volume_claim_spec(template.spec, f"{field}.spec")


def validate_persistent_volume_claim_spec(spec: PersistentVolumeClaimSpec, field: str) -> Errors:
    """Source: ValidatePersistentVolumeClaimSpec."""
    found: Errors = []
    if not spec.access_modes:
        found.append(required(f"{field}.accessModes", "at least 1 access mode is required"))
    found += validate_label_selector(spec.selector, f"{field}.selector")
    found += validate_access_modes(spec.access_modes, f"{field}.accessModes")
    place = f"{field}.resources[storage]"
    size = spec.resources.requests.get("storage")
    if size is None:
        found.append(required(place))
    elif size.sign() <= 0:
        found.append(invalid(place, size, NOT_POSITIVE))
    if spec.storage_class_name:
        name = spec.storage_class_name
        found += each(f"{field}.storageClassName", name, is_dns1123_subdomain(name))
    if spec.volume_mode is not None and spec.volume_mode not in VOLUME_MODES:
        found.append(not_supported(f"{field}.volumeMode", spec.volume_mode, VOLUME_MODES))
    found += _data_sources(spec, field)
    if spec.volume_attributes_class_name:
        name = spec.volume_attributes_class_name
        found += each(f"{field}.volumeAttributesClassName", name, is_dns1123_subdomain(name))
    return found


def validate_access_modes(modes: Sequence[str], field: str) -> Errors:
    """Check that the modes are known, and that ReadWriteOncePod is the only one if used."""
    found = [not_supported(field, mode, ACCESS_MODES) for mode in modes if mode not in ACCESS_MODES]
    others = any(mode in ACCESS_MODES and mode != "ReadWriteOncePod" for mode in modes)
    if "ReadWriteOncePod" in modes and others:
        found.append(forbidden(field, "may not use ReadWriteOncePod with other access modes"))
    return found


def _data_sources(spec: PersistentVolumeClaimSpec, field: str) -> Errors:
    """Source: validateDataSource, validateDataSourceRef."""
    found: Errors = []
    source, reference = spec.data_source, spec.data_source_ref
    if source is not None:
        found += _data_source(source, f"{field}.dataSource")
    if reference is not None:
        found += _data_source(reference, f"{field}.dataSourceRef")
        if reference.namespace:
            place = f"{field}.dataSourceRef.namespace"
            found += each(place, reference.namespace, is_dns1123_label(reference.namespace))
    if source is None or reference is None:
        return found
    path = GoStruct()  # upstream prints a field.Path as the value; it has no exported fields
    if reference.namespace:
        detail = "may not be specified when dataSourceRef.namespace is specified"
        return [*found, invalid(field, path, detail)]
    if (source.api_group, source.kind, source.name) != (reference.api_group, reference.kind, reference.name):
        found.append(invalid(field, path, "must match dataSourceRef"))
    return found


def _data_source(source: TypedLocalObjectReference | TypedObjectReference, field: str) -> Errors:
    found = [required(f"{field}.{name}") for name in ("name", "kind") if not getattr(source, name)]
    if not source.api_group and source.kind != "PersistentVolumeClaim":
        detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        found.append(invalid(field, source.kind, detail))
    if source.api_group:
        found += each(f"{field}.apiGroup", source.api_group, is_dns1123_subdomain(source.api_group))
    return found


def validate_persistent_volume_claim_update(new: PersistentVolumeClaim, old: PersistentVolumeClaim) -> Errors:
    """Check that a claim's volume is set only once, and that a bound claim only grows.

    Source: ValidatePersistentVolumeClaimUpdate.
    """
    found = validate_object_meta_update(new.metadata, old.metadata) + validate_persistent_volume_claim(new)
    mine, theirs = deepcopy(new.spec), deepcopy(old.spec)
    if not theirs.volume_name:
        theirs.volume_name = mine.volume_name
    annotation, now = old.metadata.annotations.get(_ANNOTATION), new.metadata.annotations.get(_ANNOTATION)
    named = theirs.storage_class_name is None and mine.storage_class_name is not None
    if not (named and annotation == mine.storage_class_name and now in (None, annotation)):
        found += validate_immutable_field(now or "", annotation or "", f"metadata.annotations.{_ANNOTATION}")
    if named and annotation in (None, mine.storage_class_name):
        mine.storage_class_name = None
    before, after = theirs.resources.requests.get("storage"), mine.resources.requests.get("storage")
    if new.status.phase == "Bound":
        if mine.resources.requests and before is not None:
            mine.resources.requests["storage"] = before
        mine.volume_attributes_class_name = theirs.volume_attributes_class_name
    if mine != theirs:
        found.append(forbidden("spec", f"{_ONLY}\n{diff(theirs, mine)}"))
    if before is not None and (after or Quantity("0")) < before:
        capacity = old.status.capacity.get("storage", Quantity("0"))
        if (after or Quantity("0")) <= capacity:
            found.append(forbidden("spec.resources.requests.storage", "field can not be less than status.capacity"))
    found += validate_immutable_field(new.spec.volume_mode, old.spec.volume_mode, "volumeMode")
    name, before_name = new.spec.volume_attributes_class_name, old.spec.volume_attributes_class_name
    if name != before_name and not name and old.status.current_volume_attributes_class_name is not None:
        to = "nil" if name is None else "empty string"
        detail = f"update to {to} is forbidden when status.currentVolumeAttributesClassName is not nil"
        found.append(forbidden("spec.volumeAttributesClassName", detail))
    return found


KINDS: Rules = {
    PersistentVolumeClaim: (validate_persistent_volume_claim, validate_persistent_volume_claim_update),
}
