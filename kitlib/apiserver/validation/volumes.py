"""Validation of a pod's volumes and of their mounts in containers.

Source: pkg/apis/core/validation ValidateVolumes, validateVolumeSource, ValidateVolumeMounts, ValidateVolumeDevices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from kitlib.api.core import Container, Volume
from kitlib.api.field_errors import Errors, duplicate, each, forbidden, invalid, not_found, not_supported, required
from kitlib.api.meta import ObjectMeta
from kitlib.api.names import is_dns1123_label, is_dns1123_subdomain
from kitlib.apiserver.validation.paths import validate_local_descending_path, validate_path_no_backsteps
from kitlib.apiserver.validation.persistent_volume_claim import validate_persistent_volume_claim_template
from kitlib.apiserver.validation.volume_sources import validate_portal_length, validate_source

ONE_TYPE = "may not specify more than 1 volume type"
MOUNT_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
RECURSIVE_READ_ONLY = ("Disabled", "Enabled", "IfPossible")
_SOURCES = tuple((f.name, f.encode_name) for f in msgspec.structs.fields(Volume) if f.name != "name")
_SECOND_NAMES = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
"""Field -> upstream's spelling of it in the error for a second type."""


def validate_volumes(
    volumes: Sequence[Volume], meta: ObjectMeta | None, field: str
) -> tuple[dict[str, Volume], Errors]:
    """Return the valid volumes by name, and the errors of the others.

    Args:
        volumes: the pod's volumes.
        meta: the pod's metadata; None for a template, whose pods have other names.
        field: the path of the volumes.

    Source: ValidateVolumes.
    """
    if not volumes:
        return {}, []
    found: Errors = []
    usable: dict[str, Volume] = {}
    pod = meta.name if meta is not None else ""
    claims = {f"{pod}-{volume.name}" for volume in volumes if volume.ephemeral is not None} if pod else set()
    for i, volume in enumerate(volumes):
        place = f"{field}[{i}]"
        wrong = validate_volume_source(volume, meta, place)
        if not volume.name:
            wrong.append(required(f"{place}.name"))
        else:
            wrong += each(f"{place}.name", volume.name, is_dns1123_label(volume.name))
        if volume.name in usable:
            wrong.append(duplicate(f"{place}.name", volume.name))
        if wrong:
            found += wrong
        else:
            usable[volume.name] = volume
        claim = volume.persistent_volume_claim
        if claim is not None and claim.claim_name in claims:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            found.append(invalid(f"{place}.persistentVolumeClaim.claimName", claim.claim_name, detail))
    return usable, found


def validate_volume_source(volume: Volume, meta: ObjectMeta | None, field: str) -> Errors:
    """Check that there is exactly one source.

    Args:
        volume: the volume.
        meta: the pod's metadata; None for a template.
        field: the path of the volume.

    Source: validateVolumeSource.
    """
    pod = meta.name if meta is not None else ""
    found: Errors = []
    seen = False
    for attribute, name in _SOURCES:
        source = getattr(volume, attribute)
        if source is None:
            continue
        if seen:
            found.append(forbidden(f"{field}.{_SECOND_NAMES.get(name, name)}", ONE_TYPE))
        elif volume.ephemeral is source:
            found += _ephemeral(volume, pod, field)
        else:
            if volume.image is source and meta is not None and not volume.image.reference:
                found.append(required(f"{field}.image.reference"))
            found += validate_source(source, f"{field}.{name}")
        if volume.iscsi is source:
            found += validate_portal_length(volume.name, source, f"{field}.name", volume.name)
        seen = True
    if not seen and not volume.unknown_fields:
        found.append(required(field, "must specify a volume type"))
    return found


def _ephemeral(volume: Volume, pod: str, field: str) -> Errors:
    assert volume.ephemeral is not None
    place = f"{field}.ephemeral.volumeClaimTemplate"
    if volume.ephemeral.volume_claim_template is None:
        found = [required(place)]
    else:
        found = validate_persistent_volume_claim_template(volume.ephemeral.volume_claim_template, place)
    if pod and volume.name:
        claim = f"{pod}-{volume.name}"
        details = [f'PVC name "{claim}": {problem}' for problem in is_dns1123_subdomain(claim)]
        found += each(f"{field}.name", volume.name, details)
    return found


def validate_volume_mounts(container: Container, volumes: Mapping[str, Volume], field: str) -> Errors:
    """Source: ValidateVolumeMounts."""
    found: Errors = []
    paths: set[str] = set()
    devices = {device.name for device in container.volume_devices}
    device_paths = {device.device_path for device in container.volume_devices}
    for i, mount in enumerate(container.volume_mounts):
        place = f"{field}[{i}]"
        if not mount.name:
            found.append(required(f"{place}.name"))
        volume = volumes.get(mount.name)
        if volume is None:
            found.append(not_found(f"{place}.name", mount.name))
        if not mount.mount_path:
            found.append(required(f"{place}.mountPath"))
        if mount.mount_path in paths:
            found.append(invalid(f"{place}.mountPath", mount.mount_path, "must be unique"))
        paths.add(mount.mount_path)
        if mount.name in devices:
            found.append(invalid(f"{place}.name", mount.name, "must not already exist in volumeDevices"))
        if mount.mount_path in device_paths:
            detail = "must not already exist as a path in volumeDevices"
            found.append(invalid(f"{place}.mountPath", mount.mount_path, detail))
        if mount.sub_path:
            found += validate_local_descending_path(mount.sub_path, f"{field}.subPath")
        if mount.sub_path_expr:
            if mount.sub_path:
                detail = "subPathExpr and subPath are mutually exclusive"
                found.append(invalid(f"{place}.subPathExpr", mount.sub_path_expr, detail))
            found += validate_local_descending_path(mount.sub_path_expr, f"{field}.subPathExpr")
        if mount.mount_propagation is not None:
            found += _propagation(mount.mount_propagation, container, f"{field}.mountPropagation")
        if mount.recursive_read_only is not None:
            mode, where = mount.recursive_read_only, f"{field}.recursiveReadOnly"
            if mode not in RECURSIVE_READ_ONLY:
                found.append(not_supported(where, mode, RECURSIVE_READ_ONLY))
            elif mode != "Disabled":
                if not mount.read_only:
                    found.append(forbidden(where, "may only be specified when readOnly is true"))
                if mount.mount_propagation not in (None, "None"):
                    detail = "may only be specified when mountPropagation is None or not specified"
                    found.append(forbidden(where, detail))
    return found


def _propagation(mode: str, container: Container, field: str) -> Errors:
    """Source: validateMountPropagation."""
    found: Errors = []
    if mode not in MOUNT_PROPAGATIONS:
        found.append(not_supported(field, mode, MOUNT_PROPAGATIONS))
    context = container.security_context
    if mode == "Bidirectional" and not (context is not None and context.privileged):
        detail = "Bidirectional mount propagation is available only to privileged containers"
        found.append(forbidden(field, detail))
    return found


def validate_volume_devices(container: Container, volumes: Mapping[str, Volume], field: str) -> Errors:
    """Source: ValidateVolumeDevices."""
    found: Errors = []
    names: set[str] = set()
    paths: set[str] = set()
    mounts = {mount.name for mount in container.volume_mounts}
    mount_paths = {mount.mount_path for mount in container.volume_mounts}
    for i, device in enumerate(container.volume_devices):
        place = f"{field}[{i}]"
        if not device.name:
            found.append(required(f"{place}.name"))
        if device.name in names:
            found.append(invalid(f"{place}.name", device.name, "must be unique"))
        volume = volumes.get(device.name)
        if volume is None:
            found.append(not_found(f"{place}.name", device.name))
        elif volume.persistent_volume_claim is None and volume.ephemeral is None:
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            found.append(invalid(f"{place}.name", device.name, detail))
        if not device.device_path:
            found.append(required(f"{place}.devicePath"))
        if device.device_path in paths:
            found.append(invalid(f"{place}.devicePath", device.device_path, "must be unique"))
        if device.device_path and validate_path_no_backsteps(device.device_path, place):
            detail = "can not contain backsteps ('..')"
            found.append(invalid(f"{place}.devicePath", device.device_path, detail))
        else:
            paths.add(device.device_path)
        if device.name in mounts:
            found.append(invalid(f"{place}.name", device.name, "must not already exist in volumeMounts"))
        if device.device_path in mount_paths:
            detail = "must not already exist as a path in volumeMounts"
            found.append(invalid(f"{place}.devicePath", device.device_path, detail))
        if device.name:
            names.add(device.name)
    return found
