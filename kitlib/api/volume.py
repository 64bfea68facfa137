"""core/v1 volumes: all sources of pods' volumes and of PersistentVolumes.

Source: k8s.io/api/core/v1/types.go (VolumeSource, PersistentVolumeSource).
"""

from __future__ import annotations

import msgspec

from kitlib.api.container import ResourceList
from kitlib.api.meta import KubeStruct, LabelSelector, ObjectMeta
from kitlib.api.numbers import Int32
from kitlib.api.resource import Quantity
from kitlib.api.volume_files import ClusterTrustBundleProjection as ClusterTrustBundleProjection
from kitlib.api.volume_files import ConfigMapProjection as ConfigMapProjection
from kitlib.api.volume_files import ConfigMapVolumeSource as ConfigMapVolumeSource
from kitlib.api.volume_files import DownwardAPIProjection as DownwardAPIProjection
from kitlib.api.volume_files import DownwardAPIVolumeFile as DownwardAPIVolumeFile
from kitlib.api.volume_files import DownwardAPIVolumeSource as DownwardAPIVolumeSource
from kitlib.api.volume_files import KeyToPath as KeyToPath
from kitlib.api.volume_files import PodCertificateProjection as PodCertificateProjection
from kitlib.api.volume_files import ProjectedVolumeSource as ProjectedVolumeSource
from kitlib.api.volume_files import SecretProjection as SecretProjection
from kitlib.api.volume_files import SecretVolumeSource as SecretVolumeSource
from kitlib.api.volume_files import ServiceAccountTokenProjection as ServiceAccountTokenProjection
from kitlib.api.volume_files import VolumeProjection as VolumeProjection


class LocalObjectReference(KubeStruct):
    name: str = ""


class TypedLocalObjectReference(KubeStruct):
    api_group: str | None = None
    kind: str = ""
    name: str = ""


class TypedObjectReference(KubeStruct):
    api_group: str | None = None
    kind: str = ""
    name: str = ""
    namespace: str | None = None


class SecretReference(KubeStruct):
    name: str = ""
    namespace: str = ""


class PersistentVolumeClaimVolumeSource(KubeStruct):
    claim_name: str = ""
    read_only: bool = False


class VolumeResourceRequirements(KubeStruct):
    limits: ResourceList = {}
    requests: ResourceList = {}


class PersistentVolumeClaimSpec(KubeStruct):
    access_modes: list[str] = []
    selector: LabelSelector | None = None
    resources: VolumeResourceRequirements = msgspec.field(default_factory=VolumeResourceRequirements)
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    data_source: TypedLocalObjectReference | None = None
    data_source_ref: TypedObjectReference | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimTemplate(KubeStruct):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PersistentVolumeClaimSpec = msgspec.field(default_factory=PersistentVolumeClaimSpec)


class EphemeralVolumeSource(KubeStruct):
    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class HostPathVolumeSource(KubeStruct):
    path: str = ""
    type: str | None = None


class EmptyDirVolumeSource(KubeStruct):
    medium: str = ""
    size_limit: Quantity | None = None


class GCEPersistentDiskVolumeSource(KubeStruct):
    pd_name: str = ""
    fs_type: str = ""
    partition: Int32 = 0
    read_only: bool = False


class AWSElasticBlockStoreVolumeSource(KubeStruct):
    volume_id: str = msgspec.field(name="volumeID", default="")
    fs_type: str = ""
    partition: Int32 = 0
    read_only: bool = False


class GitRepoVolumeSource(KubeStruct):
    repository: str = ""
    revision: str = ""
    directory: str = ""


class NFSVolumeSource(KubeStruct):
    server: str = ""
    path: str = ""
    read_only: bool = False


class ISCSIVolumeSource(KubeStruct):
    target_portal: str = ""
    iqn: str = ""
    lun: Int32 = 0
    iscsi_interface: str = ""
    fs_type: str = ""
    read_only: bool = False
    portals: list[str] = []
    chap_auth_discovery: bool = False
    chap_auth_session: bool = False
    secret_ref: LocalObjectReference | None = None
    initiator_name: str | None = None


class ISCSIPersistentVolumeSource(KubeStruct):
    target_portal: str = ""
    iqn: str = ""
    lun: Int32 = 0
    iscsi_interface: str = ""
    fs_type: str = ""
    read_only: bool = False
    portals: list[str] = []
    chap_auth_discovery: bool = False
    chap_auth_session: bool = False
    secret_ref: SecretReference | None = None
    initiator_name: str | None = None


class GlusterfsVolumeSource(KubeStruct):
    endpoints: str = ""
    path: str = ""
    read_only: bool = False


class GlusterfsPersistentVolumeSource(KubeStruct):
    endpoints: str = ""
    path: str = ""
    read_only: bool = False
    endpoints_namespace: str | None = None


class RBDVolumeSource(KubeStruct):
    monitors: list[str] = []
    image: str = ""
    fs_type: str = ""
    pool: str = ""
    user: str = ""
    keyring: str = ""
    secret_ref: LocalObjectReference | None = None
    read_only: bool = False


class RBDPersistentVolumeSource(KubeStruct):
    monitors: list[str] = []
    image: str = ""
    fs_type: str = ""
    pool: str = ""
    user: str = ""
    keyring: str = ""
    secret_ref: SecretReference | None = None
    read_only: bool = False


class FlexVolumeSource(KubeStruct):
    driver: str = ""
    fs_type: str = ""
    secret_ref: LocalObjectReference | None = None
    read_only: bool = False
    options: dict[str, str] = {}


class FlexPersistentVolumeSource(KubeStruct):
    driver: str = ""
    fs_type: str = ""
    secret_ref: SecretReference | None = None
    read_only: bool = False
    options: dict[str, str] = {}


class CinderVolumeSource(KubeStruct):
    volume_id: str = msgspec.field(name="volumeID", default="")
    fs_type: str = ""
    read_only: bool = False
    secret_ref: LocalObjectReference | None = None


class CinderPersistentVolumeSource(KubeStruct):
    volume_id: str = msgspec.field(name="volumeID", default="")
    fs_type: str = ""
    read_only: bool = False
    secret_ref: SecretReference | None = None


class CephFSVolumeSource(KubeStruct):
    monitors: list[str] = []
    path: str = ""
    user: str = ""
    secret_file: str = ""
    secret_ref: LocalObjectReference | None = None
    read_only: bool = False


class CephFSPersistentVolumeSource(KubeStruct):
    monitors: list[str] = []
    path: str = ""
    user: str = ""
    secret_file: str = ""
    secret_ref: SecretReference | None = None
    read_only: bool = False


class FlockerVolumeSource(KubeStruct):
    dataset_name: str = ""
    dataset_uuid: str = msgspec.field(name="datasetUUID", default="")


class FCVolumeSource(KubeStruct):
    target_wwns: list[str] = msgspec.field(name="targetWWNs", default_factory=list)
    lun: Int32 | None = None
    fs_type: str = ""
    read_only: bool = False
    wwids: list[str] = []


class AzureFileVolumeSource(KubeStruct):
    secret_name: str = ""
    share_name: str = ""
    read_only: bool = False


class AzureFilePersistentVolumeSource(KubeStruct):
    secret_name: str = ""
    share_name: str = ""
    read_only: bool = False
    secret_namespace: str | None = None


class VsphereVirtualDiskVolumeSource(KubeStruct):
    volume_path: str = ""
    fs_type: str = ""
    storage_policy_name: str = ""
    storage_policy_id: str = msgspec.field(name="storagePolicyID", default="")


class QuobyteVolumeSource(KubeStruct):
    registry: str = ""
    volume: str = ""
    read_only: bool = False
    user: str = ""
    group: str = ""
    tenant: str = ""


class AzureDiskVolumeSource(KubeStruct):
    disk_name: str = ""
    disk_uri: str = msgspec.field(name="diskURI", default="")
    caching_mode: str | None = None
    fs_type: str | None = None
    read_only: bool | None = None
    kind: str | None = None


class PhotonPersistentDiskVolumeSource(KubeStruct):
    pd_id: str = msgspec.field(name="pdID", default="")
    fs_type: str = ""


class PortworxVolumeSource(KubeStruct):
    volume_id: str = msgspec.field(name="volumeID", default="")
    fs_type: str = ""
    read_only: bool = False


class ScaleIOVolumeSource(KubeStruct):
    gateway: str = ""
    system: str = ""
    secret_ref: LocalObjectReference | None = None
    ssl_enabled: bool = False
    protection_domain: str = ""
    storage_pool: str = ""
    storage_mode: str = ""
    volume_name: str = ""
    fs_type: str = ""
    read_only: bool = False


class ScaleIOPersistentVolumeSource(KubeStruct):
    gateway: str = ""
    system: str = ""
    secret_ref: SecretReference | None = None
    ssl_enabled: bool = False
    protection_domain: str = ""
    storage_pool: str = ""
    storage_mode: str = ""
    volume_name: str = ""
    fs_type: str = ""
    read_only: bool = False


class StorageOSVolumeSource(KubeStruct):
    volume_name: str = ""
    volume_namespace: str = ""
    fs_type: str = ""
    read_only: bool = False
    secret_ref: LocalObjectReference | None = None


class ObjectReference(KubeStruct):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""
    field_path: str = ""


class StorageOSPersistentVolumeSource(KubeStruct):
    volume_name: str = ""
    volume_namespace: str = ""
    fs_type: str = ""
    read_only: bool = False
    secret_ref: ObjectReference | None = None


class CSIVolumeSource(KubeStruct):
    driver: str = ""
    read_only: bool | None = None
    fs_type: str | None = None
    volume_attributes: dict[str, str] = {}
    node_publish_secret_ref: LocalObjectReference | None = None


class CSIPersistentVolumeSource(KubeStruct):
    driver: str = ""
    volume_handle: str = ""
    read_only: bool = False
    fs_type: str = ""
    volume_attributes: dict[str, str] = {}
    controller_publish_secret_ref: SecretReference | None = None
    node_stage_secret_ref: SecretReference | None = None
    node_publish_secret_ref: SecretReference | None = None
    controller_expand_secret_ref: SecretReference | None = None
    node_expand_secret_ref: SecretReference | None = None


class ImageVolumeSource(KubeStruct):
    reference: str = ""
    pull_policy: str = ""


class LocalVolumeSource(KubeStruct):
    path: str = ""
    fs_type: str | None = None


class Volume(KubeStruct):
    """A pod's volume; exactly one source is set. The order of the fields is that of the checks."""

    name: str = ""
    empty_dir: EmptyDirVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    git_repo: GitRepoVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    secret: SecretVolumeSource | None = None
    nfs: NFSVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    glusterfs: GlusterfsVolumeSource | None = None
    flocker: FlockerVolumeSource | None = None
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    cephfs: CephFSVolumeSource | None = None
    quobyte: QuobyteVolumeSource | None = None
    downward_api: DownwardAPIVolumeSource | None = msgspec.field(name="downwardAPI", default=None)
    fc: FCVolumeSource | None = None
    flex_volume: FlexVolumeSource | None = None
    config_map: ConfigMapVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    storageos: StorageOSVolumeSource | None = None
    projected: ProjectedVolumeSource | None = None
    scale_io: ScaleIOVolumeSource | None = msgspec.field(name="scaleIO", default=None)
    csi: CSIVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    image: ImageVolumeSource | None = None


class PersistentVolumeSource(KubeStruct):
    """The source fields of a PersistentVolume's specification, in the order of the checks."""

    host_path: HostPathVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    glusterfs: GlusterfsPersistentVolumeSource | None = None
    flocker: FlockerVolumeSource | None = None
    nfs: NFSVolumeSource | None = None
    rbd: RBDPersistentVolumeSource | None = None
    quobyte: QuobyteVolumeSource | None = None
    cephfs: CephFSPersistentVolumeSource | None = None
    iscsi: ISCSIPersistentVolumeSource | None = None
    cinder: CinderPersistentVolumeSource | None = None
    fc: FCVolumeSource | None = None
    flex_volume: FlexPersistentVolumeSource | None = None
    azure_file: AzureFilePersistentVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    scale_io: ScaleIOPersistentVolumeSource | None = msgspec.field(name="scaleIO", default=None)
    local: LocalVolumeSource | None = None
    storageos: StorageOSPersistentVolumeSource | None = None
    csi: CSIPersistentVolumeSource | None = None
