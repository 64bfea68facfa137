"""Defaults of volumes, claims and PersistentVolumes.

Source: pkg/apis/core/v1/defaults.go (SetDefaults_Volume, SetDefaults_SecretVolumeSource and so on),
pkg/apis/storage/v1/defaults.go.
"""

from __future__ import annotations

from kitlib.api.core import (
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeSource,
    Volume,
)
from kitlib.api.image_reference import default_pull_policy
from kitlib.api.storage import CSIDriver, StorageClass
from kitlib.api.volume import (
    DownwardAPIVolumeFile,
    EmptyDirVolumeSource,
    ServiceAccountTokenProjection,
    VolumeProjection,
)

MODE = 0o644
"""The default permissions of files in volumes (0644)."""
TOKEN_SECONDS = 3600
_SOURCES = tuple(name for name in Volume.__struct_fields__ if name != "name")


def volume(volume: Volume) -> None:
    """Make a volume without a source an emptyDir, and set the defaults of the source. Source: SetDefaults_Volume."""
    if all(getattr(volume, name) is None for name in _SOURCES) and not volume.unknown_fields:
        volume.empty_dir = EmptyDirVolumeSource()
    for source in (volume.secret, volume.config_map, volume.downward_api, volume.projected):
        if source is not None and source.default_mode is None:
            source.default_mode = MODE
    if volume.downward_api is not None:
        _files(volume.downward_api.items)
    if volume.projected is not None:
        for projection in volume.projected.sources:
            _projection(projection)
    if volume.ephemeral is not None and volume.ephemeral.volume_claim_template is not None:
        claim_spec(volume.ephemeral.volume_claim_template.spec)
    if volume.image is not None and not volume.image.pull_policy:
        volume.image.pull_policy = default_pull_policy(volume.image.reference)
    _shared(volume)


def _files(files: list[DownwardAPIVolumeFile]) -> None:
    for file in files:
        if file.field_ref is not None:
            file.field_ref.api_version = file.field_ref.api_version or "v1"


def _projection(projection: VolumeProjection) -> None:
    token: ServiceAccountTokenProjection | None = projection.service_account_token
    if token is not None and token.expiration_seconds is None:
        token.expiration_seconds = TOKEN_SECONDS
    if projection.downward_api is not None:
        _files(projection.downward_api.items)
    certificate = projection.pod_certificate
    if certificate is not None and certificate.max_expiration_seconds is None:
        certificate.max_expiration_seconds = 86400


def _shared(one: Volume | PersistentVolumeSource) -> None:
    """Set the defaults of the sources that pods and PersistentVolumes share."""
    if one.host_path is not None and one.host_path.type is None:
        one.host_path.type = ""
    if one.iscsi is not None:
        one.iscsi.iscsi_interface = one.iscsi.iscsi_interface or "default"
    if one.rbd is not None:
        one.rbd.pool = one.rbd.pool or "rbd"
        one.rbd.user = one.rbd.user or "admin"
        one.rbd.keyring = one.rbd.keyring or "/etc/ceph/keyring"
    if one.azure_disk is not None:
        disk = one.azure_disk
        disk.caching_mode = disk.caching_mode or "ReadWrite"
        disk.kind = disk.kind or "Shared"
        disk.fs_type = disk.fs_type or "ext4"
        disk.read_only = bool(disk.read_only)
    if one.scale_io is not None:
        one.scale_io.storage_mode = one.scale_io.storage_mode or "ThinProvisioned"
        one.scale_io.fs_type = one.scale_io.fs_type or "xfs"


def claim_spec(spec: PersistentVolumeClaimSpec) -> None:
    """Source: SetDefaults_PersistentVolumeClaimSpec."""
    if spec.volume_mode is None:
        spec.volume_mode = "Filesystem"


def claim(obj: PersistentVolumeClaim) -> None:
    """Set a new claim's phase to Pending, and the defaults of its spec. Source: SetDefaults_PersistentVolumeClaim."""
    obj.status.phase = obj.status.phase or "Pending"
    claim_spec(obj.spec)


def persistent_volume(obj: PersistentVolume) -> None:
    """Set the defaults of the spec; the phase belongs to the volume binder. Source: SetDefaults_PersistentVolume."""
    obj.spec.persistent_volume_reclaim_policy = obj.spec.persistent_volume_reclaim_policy or "Retain"
    if obj.spec.volume_mode is None:
        obj.spec.volume_mode = "Filesystem"
    _shared(obj.spec)


def storage_class(obj: StorageClass) -> None:
    """Source: SetDefaults_StorageClass."""
    obj.reclaim_policy = obj.reclaim_policy if obj.reclaim_policy is not None else "Delete"
    obj.volume_binding_mode = obj.volume_binding_mode if obj.volume_binding_mode is not None else "Immediate"


def csi_driver(obj: CSIDriver) -> None:
    """Source: SetDefaults_CSIDriver."""
    spec = obj.spec
    spec.attach_required = True if spec.attach_required is None else spec.attach_required
    spec.pod_info_on_mount = bool(spec.pod_info_on_mount)
    spec.storage_capacity = bool(spec.storage_capacity)
    spec.fs_group_policy = spec.fs_group_policy if spec.fs_group_policy is not None else "ReadWriteOnceWithFSType"
    spec.volume_lifecycle_modes = spec.volume_lifecycle_modes or ["Persistent"]
    spec.requires_republish = bool(spec.requires_republish)
    spec.se_linux_mount = bool(spec.se_linux_mount)
