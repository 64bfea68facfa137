"""policy/v1, scheduling.k8s.io/v1 and storage.k8s.io/v1: small objects that preemption and volume plugins read.

Source: k8s.io/api/policy/v1, scheduling/v1, storage/v1 types.go.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kitlib.api.core import IntOrString
from kitlib.api.meta import KubeObject, KubeStruct, LabelSelector
from kitlib.api.resource import Quantity


class PodDisruptionBudgetSpec(KubeStruct):
    min_available: IntOrString | None = None
    max_unavailable: IntOrString | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(KubeStruct):
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    disrupted_pods: dict[str, str] = {}


class PodDisruptionBudget(KubeObject):
    api_version: str = "policy/v1"
    kind: str = "PodDisruptionBudget"
    spec: PodDisruptionBudgetSpec = msgspec.field(default_factory=PodDisruptionBudgetSpec)
    status: PodDisruptionBudgetStatus = msgspec.field(default_factory=PodDisruptionBudgetStatus)


class PriorityClass(KubeObject):
    api_version: str = "scheduling.k8s.io/v1"
    kind: str = "PriorityClass"
    value: int = 0
    global_default: bool = False
    description: str = ""
    preemption_policy: str | None = None


class StorageClass(KubeObject):
    api_version: str = "storage.k8s.io/v1"
    kind: str = "StorageClass"
    provisioner: str = ""
    volume_binding_mode: str | None = None
    reclaim_policy: str | None = None
    allowed_topologies: list[dict[str, Any]] = []


class CSINodeDriver(KubeStruct):
    name: str = ""
    node_id: str = msgspec.field(name="nodeID", default="")
    topology_keys: list[str] = []
    allocatable: dict[str, int] = {}


class CSINodeSpec(KubeStruct):
    drivers: list[CSINodeDriver] = []


class CSINode(KubeObject):
    api_version: str = "storage.k8s.io/v1"
    kind: str = "CSINode"
    spec: CSINodeSpec = msgspec.field(default_factory=CSINodeSpec)


class CSIDriverSpec(KubeStruct):
    storage_capacity: bool | None = None
    attach_required: bool | None = None


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
