"""apps/v1: the workload objects whose controllers make pods.

Source: k8s.io/api/apps/v1/types.go.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kitlib.api.core import PodTemplateSpec
from kitlib.api.meta import KubeObject, KubeStruct, LabelSelector


class DeploymentSpec(KubeStruct):
    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = msgspec.field(default_factory=PodTemplateSpec)
    strategy: dict[str, Any] | None = None
    paused: bool = False


class Deployment(KubeObject):
    api_version: str = "apps/v1"
    kind: str = "Deployment"
    spec: DeploymentSpec = msgspec.field(default_factory=DeploymentSpec)
    status: dict[str, Any] = {}


class ReplicaSetSpec(KubeStruct):
    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = msgspec.field(default_factory=PodTemplateSpec)


class ReplicaSet(KubeObject):
    api_version: str = "apps/v1"
    kind: str = "ReplicaSet"
    spec: ReplicaSetSpec = msgspec.field(default_factory=ReplicaSetSpec)
    status: dict[str, Any] = {}


class StatefulSetSpec(KubeStruct):
    replicas: int | None = None
    selector: LabelSelector | None = None
    service_name: str = ""
    pod_management_policy: str = ""
    template: PodTemplateSpec = msgspec.field(default_factory=PodTemplateSpec)


class StatefulSet(KubeObject):
    api_version: str = "apps/v1"
    kind: str = "StatefulSet"
    spec: StatefulSetSpec = msgspec.field(default_factory=StatefulSetSpec)
    status: dict[str, Any] = {}


class DaemonSetSpec(KubeStruct):
    selector: LabelSelector | None = None
    template: PodTemplateSpec = msgspec.field(default_factory=PodTemplateSpec)


class DaemonSet(KubeObject):
    api_version: str = "apps/v1"
    kind: str = "DaemonSet"
    spec: DaemonSetSpec = msgspec.field(default_factory=DaemonSetSpec)
    status: dict[str, Any] = {}
