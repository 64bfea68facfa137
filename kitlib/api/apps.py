"""apps/v1: the workload objects whose controllers make pods.

Source: k8s.io/api/apps/v1/types.go.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kitlib.api.core import PersistentVolumeClaim, PodTemplateSpec
from kitlib.api.meta import KubeObject, KubeStruct, LabelSelector
from kitlib.api.numbers import Int32, Int64, IntOrString


class RollingUpdateDeployment(KubeStruct):
    max_unavailable: IntOrString | None = None
    max_surge: IntOrString | None = None


class DeploymentStrategy(KubeStruct):
    type: str = ""
    rolling_update: RollingUpdateDeployment | None = None


class DeploymentSpec(KubeStruct):
    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = msgspec.field(default_factory=PodTemplateSpec)
    strategy: DeploymentStrategy = msgspec.field(default_factory=DeploymentStrategy)
    min_ready_seconds: Int32 = 0
    revision_history_limit: Int32 | None = None
    paused: bool = False
    progress_deadline_seconds: Int32 | None = None


class Deployment(KubeObject):
    api_version: str = "apps/v1"
    kind: str = "Deployment"
    spec: DeploymentSpec = msgspec.field(default_factory=DeploymentSpec)
    status: dict[str, Any] = {}


class ReplicaSetSpec(KubeStruct):
    replicas: Int32 | None = None
    min_ready_seconds: Int32 = 0
    selector: LabelSelector | None = None
    template: PodTemplateSpec = msgspec.field(default_factory=PodTemplateSpec)


class ReplicaSet(KubeObject):
    api_version: str = "apps/v1"
    kind: str = "ReplicaSet"
    spec: ReplicaSetSpec = msgspec.field(default_factory=ReplicaSetSpec)
    status: dict[str, Any] = {}


class RollingUpdateStatefulSetStrategy(KubeStruct):
    partition: Int32 | None = None
    max_unavailable: IntOrString | None = None


class StatefulSetUpdateStrategy(KubeStruct):
    type: str = ""
    rolling_update: RollingUpdateStatefulSetStrategy | None = None


class StatefulSetPersistentVolumeClaimRetentionPolicy(KubeStruct):
    when_deleted: str = ""
    when_scaled: str = ""


class StatefulSetOrdinals(KubeStruct):
    start: Int32 = 0


class StatefulSetSpec(KubeStruct):
    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = msgspec.field(default_factory=PodTemplateSpec)
    volume_claim_templates: list[PersistentVolumeClaim] = []
    service_name: str = ""
    pod_management_policy: str = ""
    update_strategy: StatefulSetUpdateStrategy = msgspec.field(default_factory=StatefulSetUpdateStrategy)
    revision_history_limit: Int32 | None = None
    min_ready_seconds: Int32 = 0
    persistent_volume_claim_retention_policy: StatefulSetPersistentVolumeClaimRetentionPolicy | None = None
    ordinals: StatefulSetOrdinals | None = None


class StatefulSet(KubeObject):
    api_version: str = "apps/v1"
    kind: str = "StatefulSet"
    spec: StatefulSetSpec = msgspec.field(default_factory=StatefulSetSpec)
    status: dict[str, Any] = {}


class RollingUpdateDaemonSet(KubeStruct):
    max_unavailable: IntOrString | None = None
    max_surge: IntOrString | None = None


class DaemonSetUpdateStrategy(KubeStruct):
    type: str = ""
    rolling_update: RollingUpdateDaemonSet | None = None


class DaemonSetSpec(KubeStruct):
    selector: LabelSelector | None = None
    template: PodTemplateSpec = msgspec.field(default_factory=PodTemplateSpec)
    update_strategy: DaemonSetUpdateStrategy = msgspec.field(default_factory=DaemonSetUpdateStrategy)
    min_ready_seconds: Int32 = 0
    revision_history_limit: Int32 | None = None


class DaemonSet(KubeObject):
    api_version: str = "apps/v1"
    kind: str = "DaemonSet"
    spec: DaemonSetSpec = msgspec.field(default_factory=DaemonSetSpec)
    status: dict[str, Any] = {}


class ControllerRevision(KubeObject):
    api_version: str = "apps/v1"
    kind: str = "ControllerRevision"
    data: dict[str, Any] | None = None
    revision: Int64 = 0
