"""Validation of volume sources, one rule per type, for pods' volumes, PersistentVolumes, or both.

Source: pkg/apis/core/validation validateHostPathVolumeSource and its siblings.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from kitlib.api import volume as types
from kitlib.api.field_errors import (
    Errors,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long_value,
    validate_enum,
)
from kitlib.api.names import in_range, is_dns1123_label, is_dns1123_subdomain
from kitlib.apiserver.validation.paths import (
    validate_local_descending_path,
    validate_path_no_backsteps,
)
from kitlib.apiserver.validation.volume_files import (
    validate_config_map_volume_source,
    validate_downward_api_volume_source,
    validate_projected_volume_source,
    validate_secret_volume_source,
)

HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
CACHING_MODES = ("None", "ReadOnly", "ReadWrite")
DISK_KINDS = ("Dedicated", "Managed", "Shared")
_PORTAL_TEXT = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
    "specified."
)
_HOST_PORTS = "must be a host:port pair or multiple pairs separated by commas"
_IQN = {
    "iqn": re.compile(r"iqn\.[0-9]{4}-[0-9]{2}\.[A-Za-z0-9-.]+:[^,;*&$|\t\n\f\r ]+\Z"),
    "eui": re.compile(r"\Aeui[^\n][0-9A-Za-z]{16}\Z"),
    "naa": re.compile(r"\Anaa[^\n][0-9A-Za-z]{32}\Z"),
}
"""Upstream's patterns, no stricter: any letter is a digit, and an iqn need not be at the start of the text."""
_HOST_PORT = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*")
"""The texts that net.SplitHostPort accepts."""

# Fields that must not be empty, where this is all there is to check.
REQUIRED: dict[type, tuple[str, ...]] = {
    types.PersistentVolumeClaimVolumeSource: ("claim_name",),
    types.GlusterfsVolumeSource: ("endpoints", "path"),
    types.RBDVolumeSource: ("monitors", "image"),
    types.RBDPersistentVolumeSource: ("monitors", "image"),
    types.CephFSVolumeSource: ("monitors",),
    types.CephFSPersistentVolumeSource: ("monitors",),
    types.AzureFileVolumeSource: ("secret_name", "share_name"),
    types.VsphereVirtualDiskVolumeSource: ("volume_path",),
    types.PhotonPersistentDiskVolumeSource: ("pd_id",),
    types.PortworxVolumeSource: ("volume_id",),
    types.ScaleIOVolumeSource: ("gateway", "system", "volume_name"),
    types.ScaleIOPersistentVolumeSource: ("gateway", "system", "volume_name"),
}


def validate_source(source: Any, field: str) -> Errors:
    """Return the errors of a source by the rule of its type."""
    found: Errors = []
    for attribute in REQUIRED.get(type(source), ()):
        if not getattr(source, attribute):
            found.append(required(f"{field}.{_wire_name(type(source), attribute)}"))
    rule = RULES.get(type(source))
    return found + rule(source, field) if rule is not None else found


def _wire_name(type_: type, attribute: str) -> str:
    names = dict(zip(type_.__struct_fields__, type_.__struct_encode_fields__, strict=True))  # type: ignore[attr-defined]
    return str(names[attribute])


def _empty_dir(source: types.EmptyDirVolumeSource, field: str) -> Errors:
    if source.size_limit is not None and source.size_limit.sign() < 0:
        return [forbidden(f"{field}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
    return []


def _host_path(source: types.HostPathVolumeSource, field: str) -> Errors:
    """Source: validateHostPathVolumeSource, validateHostPathType."""
    if not source.path:
        return [required(f"{field}.path")]
    found = validate_path_no_backsteps(source.path, f"{field}.path")
    if source.type is not None and source.type not in HOST_PATH_TYPES:
        found.append(not_supported(f"{field}.type", source.type, HOST_PATH_TYPES))
    return found


def _git_repo(source: types.GitRepoVolumeSource, field: str) -> Errors:
    found = [] if source.repository else [required(f"{field}.repository")]
    return found + validate_local_descending_path(source.directory, f"{field}.directory")


def _partition(
    source: types.GCEPersistentDiskVolumeSource | types.AWSElasticBlockStoreVolumeSource, field: str
) -> Errors:
    """Check the partition; 0 means no partition and is valid, although the message begins at 1.

    Source: validateGCEPersistentDiskVolumeSource, validateAWSElasticBlockStoreVolumeSource.
    """
    found: Errors = []
    if isinstance(source, types.GCEPersistentDiskVolumeSource):
        field = field.rpartition(".")[0] + ".persistentDisk"
        if not source.pd_name:
            found.append(required(f"{field}.pdName"))
    elif not source.volume_id:
        found.append(required(f"{field}.volumeID"))
    if not 0 <= source.partition <= 255:
        found.append(invalid(f"{field}.partition", source.partition, in_range(1, 255)))
    return found


def _nfs(source: types.NFSVolumeSource, field: str) -> Errors:
    found = [
        required(f"{field}.{name}") for name, text in (("server", source.server), ("path", source.path)) if not text
    ]
    if not source.path.startswith("/"):
        found.append(invalid(f"{field}.path", source.path, "must be an absolute path"))
    return found


def _iscsi(source: types.ISCSIVolumeSource | types.ISCSIPersistentVolumeSource, field: str) -> Errors:
    """Source: validateISCSIVolumeSource, validateISCSIPersistentVolumeSource."""
    persistent = isinstance(source, types.ISCSIPersistentVolumeSource)
    form = "must be valid format" if persistent else "must be valid format starting with iqn, eui, or naa"
    found = [] if source.target_portal else [required(f"{field}.targetPortal")]
    if not source.iqn:
        found.append(required(f"{field}.iqn"))
    else:
        found += _initiator(source.iqn, f"{field}.iqn", form)
    if not 0 <= source.lun <= 255:
        found.append(invalid(f"{field}.lun", source.lun, in_range(0, 255)))
    if (source.chap_auth_discovery or source.chap_auth_session) and source.secret_ref is None:
        found.append(required(f"{field}.secretRef"))
    if persistent and source.secret_ref is not None and not source.secret_ref.name:
        found.append(required(f"{field}.secretRef.name"))
    if source.initiator_name is not None:
        found += _initiator(source.initiator_name, f"{field}.initiatorname", form)
    return found


def _initiator(name: str, field: str, form: str) -> Errors:
    pattern = _IQN.get(name[:3])
    if pattern is None:
        return [invalid(field, name, form)]
    return [] if pattern.search(name) else [invalid(field, name, "must be valid format")]


def validate_portal_length(volume: str, source: Any, field: str, value: str) -> Errors:
    """Check the total length of volume name and portal, which is limited if an initiator is named."""
    if source.initiator_name is not None and len(f"{volume}:{source.target_portal}".encode()) > 64:
        return [invalid(field, value, _PORTAL_TEXT)]
    return []


def _fc(source: types.FCVolumeSource, field: str) -> Errors:
    """Source: validateFCVolumeSource."""
    found: Errors = []
    place = f"{field}.targetWWNs"
    if not source.target_wwns and not source.wwids:
        found.append(required(place, "must specify either targetWWNs or wwids, but not both"))
    if source.target_wwns and source.wwids:
        found.append(invalid(place, source.target_wwns, "targetWWNs and wwids can not be specified simultaneously"))
    if source.target_wwns:
        if source.lun is None:
            found.append(required(f"{field}.lun", "lun is required if targetWWNs is specified"))
        elif not 0 <= source.lun <= 255:
            found.append(invalid(f"{field}.lun", source.lun, in_range(0, 255)))
    return found


def _quobyte(source: types.QuobyteVolumeSource, field: str) -> Errors:
    found: Errors = []
    if not source.registry:
        found.append(required(f"{field}.registry", _HOST_PORTS))
    elif len(source.tenant) >= 65:
        found.append(required(f"{field}.tenant", "must be a UUID and may not exceed a length of 64 characters"))
    else:
        for pair in source.registry.split(","):
            if not _HOST_PORT.fullmatch(pair):
                found.append(invalid(f"{field}.registry", source.registry, _HOST_PORTS))
    return found if source.volume else [*found, required(f"{field}.volume")]


def _flocker(source: types.FlockerVolumeSource, field: str) -> Errors:
    found: Errors = []
    if not source.dataset_name and not source.dataset_uuid:
        found.append(required(field, "one of datasetName and datasetUUID is required"))
    if source.dataset_name and source.dataset_uuid:
        found.append(invalid(field, "resource", "datasetName and datasetUUID can not be specified simultaneously"))
    if "/" in source.dataset_name:
        found.append(invalid(f"{field}.datasetName", source.dataset_name, "must not contain '/'"))
    return found


def _glusterfs_persistent(source: types.GlusterfsPersistentVolumeSource, field: str) -> Errors:
    found = [required(f"{field}.{name}") for name in ("endpoints", "path") if not getattr(source, name)]
    if source.endpoints_namespace is not None:
        name, place = source.endpoints_namespace, f"{field}.endpointsNamespace"
        detail = "if the endpointnamespace is set, it must be a valid namespace name"
        found += [invalid(place, name, detail)] if not name else each(place, name, is_dns1123_label(name))
    return found


def _cinder(source: types.CinderVolumeSource | types.CinderPersistentVolumeSource, field: str) -> Errors:
    found = [] if source.volume_id else [required(f"{field}.volumeID")]
    return found + _secret_ref(source.secret_ref, f"{field}.secretRef")


def _secret_ref(reference: Any, field: str) -> Errors:
    """Check that a reference to a Secret is complete."""
    if reference is None:
        return []
    found = [] if reference.name else [required(f"{field}.name")]
    namespaced = not isinstance(reference, types.LocalObjectReference)
    return [*found, required(f"{field}.namespace")] if namespaced and not reference.namespace else found


def _flex(source: types.FlexVolumeSource | types.FlexPersistentVolumeSource, field: str) -> Errors:
    found = [] if source.driver else [required(f"{field}.driver")]
    for key in source.options:
        domain = "." + key.partition("/")[0].lower()
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            detail = "kubernetes.io and k8s.io namespaces are reserved"
            found.append(invalid(f"{field}.options[{key}]", key, detail))
    return found


def _azure_file_persistent(source: types.AzureFilePersistentVolumeSource, field: str) -> Errors:
    found = [
        required(f"{field}.{name}")
        for name, text in (("secretName", source.secret_name), ("shareName", source.share_name))
        if not text
    ]
    return [*found, required(f"{field}.secretNamespace")] if source.secret_namespace == "" else found


def _azure_disk(source: types.AzureDiskVolumeSource, field: str) -> Errors:
    """Source: validateAzureDisk."""
    found = [
        required(f"{field}.{name}")
        for name, text in (("diskName", source.disk_name), ("diskURI", source.disk_uri))
        if not text
    ]
    if source.caching_mode is not None and source.caching_mode not in CACHING_MODES:
        found.append(not_supported(f"{field}.cachingMode", source.caching_mode, CACHING_MODES))
    if source.kind is not None:
        if source.kind not in DISK_KINDS:
            found.append(not_supported(f"{field}.kind", source.kind, DISK_KINDS))
        managed = source.kind == "Managed"
        start = "/subscriptions/" if managed else "https://"
        if not source.disk_uri.startswith(start):
            form = (
                "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
                if managed
                else "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
            )
            found.append(not_supported(f"{field}.diskURI", source.disk_uri, (form,)))
    return found


def _storage_os(source: types.StorageOSVolumeSource | types.StorageOSPersistentVolumeSource, field: str) -> Errors:
    name, namespace = source.volume_name, source.volume_namespace
    found = [] if name else [required(f"{field}.volumeName")]
    found += each(f"{field}.volumeName", name, is_dns1123_label(name)) if name else []
    found += each(f"{field}.volumeNamespace", namespace, is_dns1123_label(namespace)) if namespace else []
    return found + _secret_ref(source.secret_ref, f"{field}.secretRef")


def _local(source: types.LocalVolumeSource, field: str) -> Errors:
    return validate_path_no_backsteps(source.path, f"{field}.path") if source.path else [required(f"{field}.path")]


def validate_csi_driver_name(name: str, field: str) -> Errors:
    """Source: ValidateCSIDriverName."""
    found = [] if name else [required(field)]
    if len(name) > 63:
        found.append(too_long_value(field, 63))
    return found + each(field, name, is_dns1123_subdomain(name.lower()))


def _csi(source: types.CSIVolumeSource, field: str) -> Errors:
    found = validate_csi_driver_name(source.driver, f"{field}.driver")
    reference = source.node_publish_secret_ref
    if reference is not None:
        if not reference.name:
            found.append(required(f"{field}.nodePublishSecretRef.name"))
        else:
            found += each(f"{field}.name", reference.name, is_dns1123_subdomain(reference.name))
    return found


def _csi_persistent(source: types.CSIPersistentVolumeSource, field: str) -> Errors:
    """Source: validateCSIPersistentVolumeSource, validatePVSecretReference."""
    found = validate_csi_driver_name(source.driver, f"{field}.driver")
    if not source.volume_handle:
        found.append(required(f"{field}.volumeHandle"))
    for name, reference in (
        ("controllerPublishSecretRef", source.controller_publish_secret_ref),
        ("controllerExpandSecretRef", source.controller_expand_secret_ref),
        ("nodePublishSecretRef", source.node_publish_secret_ref),
        ("nodeExpandSecretRef", source.node_expand_secret_ref),
    ):
        if reference is None:
            continue
        for part, text, rule in (
            ("name", reference.name, is_dns1123_subdomain),
            ("namespace", reference.namespace, is_dns1123_label),
        ):
            place = f"{field}.{name}.{part}"
            found += each(place, text, rule(text)) if text else [required(place)]
    return found


def _image(source: types.ImageVolumeSource, field: str) -> Errors:
    """Check the pull policy; the reference is required in pods only, not in templates.

    Source: validateImageVolumeSource.
    """
    return validate_enum(source.pull_policy, f"{field}.pullPolicy", ("Always", "IfNotPresent", "Never"))


RULES: dict[type, Callable[[Any, str], Errors]] = {
    types.EmptyDirVolumeSource: _empty_dir,
    types.HostPathVolumeSource: _host_path,
    types.GitRepoVolumeSource: _git_repo,
    types.GCEPersistentDiskVolumeSource: _partition,
    types.AWSElasticBlockStoreVolumeSource: _partition,
    types.SecretVolumeSource: validate_secret_volume_source,
    types.ConfigMapVolumeSource: validate_config_map_volume_source,
    types.NFSVolumeSource: _nfs,
    types.ISCSIVolumeSource: _iscsi,
    types.ISCSIPersistentVolumeSource: _iscsi,
    types.GlusterfsPersistentVolumeSource: _glusterfs_persistent,
    types.FlockerVolumeSource: _flocker,
    types.CinderVolumeSource: _cinder,
    types.CinderPersistentVolumeSource: _cinder,
    types.QuobyteVolumeSource: _quobyte,
    types.DownwardAPIVolumeSource: validate_downward_api_volume_source,
    types.FCVolumeSource: _fc,
    types.FlexVolumeSource: _flex,
    types.FlexPersistentVolumeSource: _flex,
    types.AzureFilePersistentVolumeSource: _azure_file_persistent,
    types.AzureDiskVolumeSource: _azure_disk,
    types.StorageOSVolumeSource: _storage_os,
    types.StorageOSPersistentVolumeSource: _storage_os,
    types.LocalVolumeSource: _local,
    types.ProjectedVolumeSource: validate_projected_volume_source,
    types.CSIVolumeSource: _csi,
    types.CSIPersistentVolumeSource: _csi_persistent,
    types.ImageVolumeSource: _image,
}
