"""storage.k8s.io/v1: classes of volumes, drivers, attachments, capacities.

Source: k8s.io/api/storage/v1/types.go.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from kitlib.api.core import PersistentVolumeSpec
from kitlib.api.meta import KubeObject, KubeStruct, LabelSelector
from kitlib.api.numbers import Int32, Int64
from kitlib.api.resource import Quantity


class TopologySelectorLabelRequirement(KubeStruct):
    key: str = ""
    values: list[str] = []


class TopologySelectorTerm(KubeStruct):
    match_label_expressions: list[TopologySelectorLabelRequirement] = []


class StorageClass(KubeObject):
    api_version: str = "storage.k8s.io/v1"
    kind: str = "StorageClass"
    provisioner: str = ""
    parameters: dict[str, str] = {}
    reclaim_policy: str | None = None
    mount_options: list[str] = []
    allow_volume_expansion: bool | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: list[TopologySelectorTerm] = []


class VolumeAttributesClass(KubeObject):
    api_version: str = "storage.k8s.io/v1"
    kind: str = "VolumeAttributesClass"
    driver_name: str = ""
    parameters: dict[str, str] = {}


class VolumeAttachmentSource(KubeStruct):
    persistent_volume_name: str | None = None
    inline_volume_spec: PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(KubeStruct):
    attacher: str = ""
    source: VolumeAttachmentSource = msgspec.field(default_factory=VolumeAttachmentSource)
    node_name: str = ""


class VolumeError(KubeStruct):
    time: datetime | None = None
    message: str = ""
    error_code: Int32 | None = None


class VolumeAttachmentStatus(KubeStruct):
    attached: bool = False
    attachment_metadata: dict[str, str] = {}
    attach_error: VolumeError | None = None
    detach_error: VolumeError | None = None


class VolumeAttachment(KubeObject):
    api_version: str = "storage.k8s.io/v1"
    kind: str = "VolumeAttachment"
    spec: VolumeAttachmentSpec = msgspec.field(default_factory=VolumeAttachmentSpec)
    status: VolumeAttachmentStatus = msgspec.field(default_factory=VolumeAttachmentStatus)


class VolumeNodeResources(KubeStruct):
    count: Int32 | None = None


class CSINodeDriver(KubeStruct):
    name: str = ""
    node_id: str = msgspec.field(name="nodeID", default="")
    topology_keys: list[str] = []
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(KubeStruct):
    drivers: list[CSINodeDriver] = []


class CSINode(KubeObject):
    api_version: str = "storage.k8s.io/v1"
    kind: str = "CSINode"
    spec: CSINodeSpec = msgspec.field(default_factory=CSINodeSpec)


class TokenRequest(KubeStruct):
    audience: str = ""
    expiration_seconds: Int64 | None = None


class CSIDriverSpec(KubeStruct):
    attach_required: bool | None = None
    fs_group_policy: str | None = None
    pod_info_on_mount: bool | None = None
    volume_lifecycle_modes: list[str] = []
    storage_capacity: bool | None = None
    token_requests: list[TokenRequest] = []
    requires_republish: bool | None = None
    se_linux_mount: bool | None = None
    node_allocatable_update_period_seconds: Int64 | None = None
    service_account_token_in_secrets: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(KubeObject):
    api_version: str = "storage.k8s.io/v1"
    kind: str = "CSIDriver"
    spec: CSIDriverSpec = msgspec.field(default_factory=CSIDriverSpec)


class CSIStorageCapacity(KubeObject):
    api_version: str = "storage.k8s.io/v1"
    kind: str = "CSIStorageCapacity"
    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None
