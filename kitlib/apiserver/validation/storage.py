"""Validation of StorageClasses, CSIDrivers, CSINodes, VolumeAttachments and other storage kinds.

Source: pkg/apis/storage/validation.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from kitlib.api.field_errors import (
    NOT_NEGATIVE,
    Errors,
    duplicate,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long_value,
    validate_immutable_field,
    validate_nonnegative_field,
)
from kitlib.api.names import is_dns1123_subdomain, is_qualified_name
from kitlib.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
    VolumeAttributesClass,
)
from kitlib.apiserver.validation.object_meta import (
    validate_label_name,
    validate_label_selector,
    validate_object_meta,
    validate_object_meta_update,
)
from kitlib.apiserver.validation.persistent_volume import validate_persistent_volume_spec
from kitlib.apiserver.validation.rules import Rules
from kitlib.apiserver.validation.volume_sources import validate_csi_driver_name

RECLAIM_POLICIES = ("Delete", "Retain")
BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
FS_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
LIFECYCLE_MODES = ("Persistent", "Ephemeral")
MAX_PARAMETERS, MAX_PARAMETERS_SIZE = 512, 256 * 1024
MAX_NODE_ID = 256
_ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def validate_storage_class(obj: StorageClass) -> Errors:
    """Source: ValidateStorageClass."""
    found = validate_object_meta(obj.metadata, namespaced=False)
    found += _provisioner(obj.provisioner, "provisioner")
    found += _parameters(obj.parameters, "parameters")
    if obj.reclaim_policy and obj.reclaim_policy not in RECLAIM_POLICIES:
        found.append(not_supported("reclaimPolicy", obj.reclaim_policy, RECLAIM_POLICIES))
    if obj.volume_binding_mode is None:
        found.append(required("volumeBindingMode"))
    elif obj.volume_binding_mode not in BINDING_MODES:
        found.append(not_supported("volumeBindingMode", obj.volume_binding_mode, BINDING_MODES))
    return found + _topologies(obj)


def _provisioner(name: str, field: str) -> Errors:
    return each(field, name.lower(), is_qualified_name(name.lower())) if name else [required(field)]


def _parameters(parameters: Mapping[str, str], field: str, *, may_be_empty: bool = True) -> Errors:
    """Source: validateParameters."""
    if len(parameters) > MAX_PARAMETERS:
        return [too_long_value(field, MAX_PARAMETERS)]
    found: Errors = []
    if "" in parameters:
        found.append(invalid(field, "", "field can not be empty."))
    if sum(len(key.encode()) + len(value.encode()) for key, value in parameters.items()) > MAX_PARAMETERS_SIZE:
        found.append(too_long_value(field, MAX_PARAMETERS_SIZE))
    if not parameters and not may_be_empty:
        found.append(required(field, "must contain at least one key/value pair"))
    return found


def _topologies(obj: StorageClass) -> Errors:
    """Source: validateAllowedTopologies, ValidateTopologySelectorTerm."""
    found: Errors = []
    # upstream compares each term with as many empty terms as there are terms, and then with those before it
    seen: list[dict[str, set[str]]] = [{} for _ in obj.allowed_topologies]
    for i, term in enumerate(obj.allowed_topologies):
        keys: dict[str, set[str]] = {}
        for j, requirement in enumerate(term.match_label_expressions):
            place = f"allowedTopologies[{i}].matchLabelExpressions[{j}]"
            if not requirement.values:
                found.append(required(f"{place}.values"))
            values: set[str] = set()
            for k, value in enumerate(requirement.values):
                if value in values:
                    found.append(duplicate(f"{place}.values[{k}]", value))
                values.add(value)
            found += validate_label_name(requirement.key, f"{place}.key")
            if requirement.key in keys:
                found.append(duplicate(f"{place}.key", requirement.key))
            keys[requirement.key] = values
        place = f"allowedTopologies[{i}].matchLabelExpressions"
        found += [duplicate(place, "") for other in seen if other == keys]
        seen.append(keys)
    return found


def validate_storage_class_update(new: StorageClass, old: StorageClass) -> Errors:
    """Source: storageClassStrategy.ValidateUpdate, ValidateStorageClassUpdate."""
    found = validate_storage_class(new) + validate_object_meta_update(new.metadata, old.metadata)
    for name, value, before in (
        ("parameters", new.parameters, old.parameters),
        ("provisioner", new.provisioner, old.provisioner),
        ("reclaimPolicy", new.reclaim_policy, old.reclaim_policy),
    ):
        if value != before:
            found.append(forbidden(name, f"updates to {name} are forbidden."))
    return found + validate_immutable_field(new.volume_binding_mode, old.volume_binding_mode, "volumeBindingMode")


def validate_csi_driver(obj: CSIDriver) -> Errors:
    """Source: ValidateCSIDriver, validateCSIDriverSpec."""
    return validate_object_meta(obj.metadata, namespaced=False) + _csi_driver_spec(obj)


def _csi_driver_spec(obj: CSIDriver) -> Errors:
    spec = obj.spec
    found: Errors = []
    if spec.fs_group_policy is not None and spec.fs_group_policy not in FS_GROUP_POLICIES:
        found.append(not_supported("spec.fsGroupPolicy", spec.fs_group_policy, FS_GROUP_POLICIES))
    audiences: set[str] = set()
    for i, request in enumerate(spec.token_requests):
        place = f"spec.tokenRequests[{i}]"
        if request.audience in audiences:
            found.append(duplicate(f"{place}.audience", request.audience))
            continue
        audiences.add(request.audience)
        seconds = request.expiration_seconds
        if seconds is not None and seconds < 600:
            detail = "may not specify a duration less than 10 minutes"
            found.append(invalid(f"{place}.expirationSeconds", seconds, detail))
        if seconds is not None and seconds > 2**32:
            detail = "may not specify a duration larger than 2^32 seconds"
            found.append(invalid(f"{place}.expirationSeconds", seconds, detail))
    for mode in spec.volume_lifecycle_modes:
        if mode not in LIFECYCLE_MODES:
            found.append(not_supported("spec.volumeLifecycleModes", mode, LIFECYCLE_MODES))
    period = spec.node_allocatable_update_period_seconds
    if period is not None and period < 10:
        detail = "must be greater than or equal to 10 seconds"
        found.append(invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, detail))
    in_secrets = spec.service_account_token_in_secrets
    if in_secrets is not None and not spec.token_requests:
        detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        found.append(invalid("spec.serviceAccountTokenInSecrets", in_secrets, detail))
    return found


def validate_csi_driver_update(new: CSIDriver, old: CSIDriver) -> Errors:
    """Source: ValidateCSIDriverUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata) + _csi_driver_spec(new)
    found += validate_immutable_field(new.spec.attach_required, old.spec.attach_required, "spec.attachedRequired")
    modes = new.spec.volume_lifecycle_modes, old.spec.volume_lifecycle_modes
    return found + validate_immutable_field(*modes, "spec.volumeLifecycleModes")


def validate_csi_node(obj: CSINode) -> Errors:
    """Source: ValidateCSINode, validateCSINodeDriver."""
    found = validate_object_meta(obj.metadata, namespaced=False)
    names: set[str] = set()
    for i, driver in enumerate(obj.spec.drivers):
        place = f"spec.drivers[{i}]"
        found += validate_csi_driver_name(driver.name, f"{place}.name")
        if not driver.node_id:
            found.append(required(f"{place}.nodeID"))
        if len(driver.node_id) > MAX_NODE_ID:
            found.append(invalid(f"{place}.nodeID", driver.node_id, f"must be {MAX_NODE_ID} characters or less"))
        if driver.allocatable is not None:
            found += validate_nonnegative_field(driver.allocatable.count, f"{place}.allocatable.count")
        if driver.name in names:
            found.append(duplicate(f"{place}.name", driver.name))
        names.add(driver.name)
        keys: set[str] = set()
        for key in driver.topology_keys:
            if not key:
                found.append(required(place))
            if key in keys:
                found.append(duplicate(place, key))
            keys.add(key)
            found += each(place, key, is_qualified_name(key))
    return found


def validate_csi_node_update(new: CSINode, old: CSINode) -> Errors:
    """Check that existing drivers change only their volume limit. Source: ValidateCSINodeUpdate."""
    found = validate_csi_node(new)
    for was in old.spec.drivers:
        for driver in new.spec.drivers:
            if driver.name == was.name:
                mine, theirs = (msgspec.structs.replace(one, allocatable=None) for one in (driver, was))
                found += validate_immutable_field(mine, theirs, "spec.drivers")
    return found


def validate_csi_storage_capacity(obj: CSIStorageCapacity) -> Errors:
    """Source: ValidateCSIStorageCapacity."""
    found = validate_object_meta(obj.metadata, namespaced=True)
    found += validate_label_selector(obj.node_topology, "nodeTopology")
    found += each("storageClassName", obj.storage_class_name, is_dns1123_subdomain(obj.storage_class_name))
    if obj.capacity is not None and obj.capacity.sign() < 0:
        found.append(invalid("capacity", obj.capacity, NOT_NEGATIVE))
    return found


def validate_csi_storage_capacity_update(new: CSIStorageCapacity, old: CSIStorageCapacity) -> Errors:
    """Source: csiStorageCapacityStrategy.ValidateUpdate, ValidateCSIStorageCapacityUpdate."""
    found = validate_csi_storage_capacity(new) + validate_object_meta_update(new.metadata, old.metadata)
    found += validate_immutable_field(new.node_topology, old.node_topology, "nodeTopology")
    return found + validate_immutable_field(new.storage_class_name, old.storage_class_name, "storageClassName")


def validate_volume_attributes_class(obj: VolumeAttributesClass) -> Errors:
    """Source: ValidateVolumeAttributesClass."""
    found = validate_object_meta(obj.metadata, namespaced=False) + _provisioner(obj.driver_name, "driverName")
    return found + _parameters(obj.parameters, "parameters", may_be_empty=False)


def validate_volume_attributes_class_update(new: VolumeAttributesClass, old: VolumeAttributesClass) -> Errors:
    """Source: ValidateVolumeAttributesClassUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata)
    for name, value, before in (
        ("driverName", new.driver_name, old.driver_name),
        ("parameters", new.parameters, old.parameters),
    ):
        if value != before:
            found.append(forbidden(name, f"updates to {name} are forbidden."))
    return found + validate_volume_attributes_class(new)


def validate_volume_attachment(obj: VolumeAttachment) -> Errors:
    """Check a new VolumeAttachment, for which the rules are stricter than for an update.

    Source: volumeAttachmentStrategy.Validate, ValidateVolumeAttachmentV1.
    """
    found = _volume_attachment(obj) + validate_csi_driver_name(obj.spec.attacher, "spec.attacher")
    name = obj.spec.source.persistent_volume_name
    return found if name is None else found + each("spec.source.persistentVolumeName", name, is_dns1123_subdomain(name))


def _volume_attachment(obj: VolumeAttachment) -> Errors:
    """Source: ValidateVolumeAttachment."""
    found = validate_object_meta(obj.metadata, namespaced=False)
    spec, source = obj.spec, obj.spec.source
    if not spec.attacher:
        found.append(required("spec.attacher"))
    name, inline = source.persistent_volume_name, source.inline_volume_spec
    if name is None and inline is None:
        found.append(required("spec.source", _ONE_SOURCE))
    elif name is not None and inline is not None:
        found.append(forbidden("spec.source", _ONE_SOURCE))
    elif inline is not None:
        found += validate_persistent_volume_spec(inline, "", "spec.source.inlineVolumeSpec", inline=True)
    elif not name:
        detail = "must specify non empty persistentVolumeName"
        found.append(required("spec.source.persistentVolumeName", detail))
    return found + each("spec.nodeName", spec.node_name, is_dns1123_subdomain(spec.node_name))


def validate_volume_attachment_update(new: VolumeAttachment, old: VolumeAttachment) -> Errors:
    """Source: ValidateVolumeAttachmentUpdate."""
    return _volume_attachment(new) + validate_immutable_field(new.spec, old.spec, "spec")


KINDS: Rules = {
    StorageClass: (validate_storage_class, validate_storage_class_update),
    CSIDriver: (validate_csi_driver, validate_csi_driver_update),
    CSINode: (validate_csi_node, validate_csi_node_update),
    CSIStorageCapacity: (validate_csi_storage_capacity, validate_csi_storage_capacity_update),
    VolumeAttachment: (validate_volume_attachment, validate_volume_attachment_update),
    VolumeAttributesClass: (validate_volume_attributes_class, validate_volume_attributes_class_update),
}
