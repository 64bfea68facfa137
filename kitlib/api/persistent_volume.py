"""core/v1: PersistentVolume and PersistentVolumeClaim.

Source: k8s.io/api/core/v1/types.go.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from kitlib.api.affinity import NodeSelector
from kitlib.api.container import ResourceList
from kitlib.api.meta import Condition, KubeObject, KubeStruct
from kitlib.api.volume import ObjectReference, PersistentVolumeClaimSpec, PersistentVolumeSource


class ModifyVolumeStatus(KubeStruct):
    target_volume_attributes_class_name: str = ""
    status: str = ""


class PersistentVolumeClaimStatus(KubeStruct):
    phase: str = ""
    access_modes: list[str] = []
    capacity: ResourceList = {}
    conditions: list[Condition] = []
    allocated_resources: ResourceList = {}
    allocated_resource_statuses: dict[str, str] = {}
    current_volume_attributes_class_name: str | None = None
    modify_volume_status: ModifyVolumeStatus | None = None


class PersistentVolumeClaim(KubeObject):
    api_version: str = "v1"
    kind: str = "PersistentVolumeClaim"
    spec: PersistentVolumeClaimSpec = msgspec.field(default_factory=PersistentVolumeClaimSpec)
    status: PersistentVolumeClaimStatus = msgspec.field(default_factory=PersistentVolumeClaimStatus)


class VolumeNodeAffinity(KubeStruct):
    required: NodeSelector | None = None


class PersistentVolumeSpec(PersistentVolumeSource):
    capacity: ResourceList = {}
    access_modes: list[str] = []
    claim_ref: ObjectReference | None = None
    persistent_volume_reclaim_policy: str = ""
    storage_class_name: str = ""
    mount_options: list[str] = []
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeStatus(KubeStruct):
    phase: str = ""
    message: str = ""
    reason: str = ""
    last_phase_transition_time: datetime | None = None


class PersistentVolume(KubeObject):
    api_version: str = "v1"
    kind: str = "PersistentVolume"
    spec: PersistentVolumeSpec = msgspec.field(default_factory=PersistentVolumeSpec)
    status: PersistentVolumeStatus = msgspec.field(default_factory=PersistentVolumeStatus)


_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


def class_name(obj: PersistentVolumeClaim | PersistentVolume) -> str:
    """Return the storage class of a claim or volume; its beta annotation, if set, comes first.

    Source: GetPersistentVolumeClaimClass, GetPersistentVolumeClass.
    """
    return obj.metadata.annotations.get(_BETA_CLASS, obj.spec.storage_class_name) or ""
