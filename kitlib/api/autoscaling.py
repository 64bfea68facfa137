"""autoscaling/v2: HorizontalPodAutoscaler; and autoscaling/v1, which is read and kept as v2.

Source: k8s.io/api/autoscaling/v2/types.go, v1/types.go; pkg/apis/autoscaling/v1/conversion.go.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from kitlib.api.meta import Condition, KubeObject, KubeStruct, LabelSelector
from kitlib.api.numbers import Int32, Int64
from kitlib.api.resource import Quantity


class CrossVersionObjectReference(KubeStruct):
    kind: str = ""
    name: str = ""
    api_version: str = ""


class MetricIdentifier(KubeStruct):
    name: str = ""
    selector: LabelSelector | None = None


class MetricTarget(KubeStruct):
    type: str = ""
    value: Quantity | None = None
    average_value: Quantity | None = None
    average_utilization: Int32 | None = None


class ObjectMetricSource(KubeStruct):
    described_object: CrossVersionObjectReference = msgspec.field(default_factory=CrossVersionObjectReference)
    target: MetricTarget = msgspec.field(default_factory=MetricTarget)
    metric: MetricIdentifier = msgspec.field(default_factory=MetricIdentifier)


class PodsMetricSource(KubeStruct):
    metric: MetricIdentifier = msgspec.field(default_factory=MetricIdentifier)
    target: MetricTarget = msgspec.field(default_factory=MetricTarget)


class ResourceMetricSource(KubeStruct):
    name: str = ""
    target: MetricTarget = msgspec.field(default_factory=MetricTarget)


class ContainerResourceMetricSource(KubeStruct):
    name: str = ""
    container: str = ""
    target: MetricTarget = msgspec.field(default_factory=MetricTarget)


class ExternalMetricSource(KubeStruct):
    metric: MetricIdentifier = msgspec.field(default_factory=MetricIdentifier)
    target: MetricTarget = msgspec.field(default_factory=MetricTarget)


class MetricSpec(KubeStruct):
    type: str = ""
    object: ObjectMetricSource | None = None
    pods: PodsMetricSource | None = None
    resource: ResourceMetricSource | None = None
    container_resource: ContainerResourceMetricSource | None = None
    external: ExternalMetricSource | None = None


class HPAScalingPolicy(KubeStruct):
    type: str = ""
    value: Int32 = 0
    period_seconds: Int32 = 0


class HPAScalingRules(KubeStruct):
    stabilization_window_seconds: Int32 | None = None
    select_policy: str | None = None
    policies: list[HPAScalingPolicy] | None = None  # None = default; [] is rejected
    tolerance: Quantity | None = None


class HorizontalPodAutoscalerBehavior(KubeStruct):
    scale_up: HPAScalingRules | None = None
    scale_down: HPAScalingRules | None = None


class HorizontalPodAutoscalerSpec(KubeStruct):
    scale_target_ref: CrossVersionObjectReference = msgspec.field(default_factory=CrossVersionObjectReference)
    min_replicas: Int32 | None = None
    max_replicas: Int32 = 0
    metrics: list[MetricSpec] = []
    behavior: HorizontalPodAutoscalerBehavior | None = None


class MetricValueStatus(KubeStruct):
    value: Quantity | None = None
    average_value: Quantity | None = None
    average_utilization: Int32 | None = None


class ObjectMetricStatus(KubeStruct):
    metric: MetricIdentifier = msgspec.field(default_factory=MetricIdentifier)
    current: MetricValueStatus = msgspec.field(default_factory=MetricValueStatus)
    described_object: CrossVersionObjectReference = msgspec.field(default_factory=CrossVersionObjectReference)


class PodsMetricStatus(KubeStruct):
    metric: MetricIdentifier = msgspec.field(default_factory=MetricIdentifier)
    current: MetricValueStatus = msgspec.field(default_factory=MetricValueStatus)


class ResourceMetricStatus(KubeStruct):
    name: str = ""
    current: MetricValueStatus = msgspec.field(default_factory=MetricValueStatus)


class ContainerResourceMetricStatus(KubeStruct):
    name: str = ""
    container: str = ""
    current: MetricValueStatus = msgspec.field(default_factory=MetricValueStatus)


class ExternalMetricStatus(KubeStruct):
    metric: MetricIdentifier = msgspec.field(default_factory=MetricIdentifier)
    current: MetricValueStatus = msgspec.field(default_factory=MetricValueStatus)


class MetricStatus(KubeStruct):
    type: str = ""
    object: ObjectMetricStatus | None = None
    pods: PodsMetricStatus | None = None
    resource: ResourceMetricStatus | None = None
    container_resource: ContainerResourceMetricStatus | None = None
    external: ExternalMetricStatus | None = None


class HorizontalPodAutoscalerStatus(KubeStruct):
    observed_generation: Int64 | None = None
    last_scale_time: datetime | None = None
    current_replicas: Int32 = 0
    desired_replicas: Int32 = 0
    current_metrics: list[MetricStatus] = []
    conditions: list[Condition] = []


class HorizontalPodAutoscaler(KubeObject):
    api_version: str = "autoscaling/v2"
    kind: str = "HorizontalPodAutoscaler"
    spec: HorizontalPodAutoscalerSpec = msgspec.field(default_factory=HorizontalPodAutoscalerSpec)
    status: HorizontalPodAutoscalerStatus = msgspec.field(default_factory=HorizontalPodAutoscalerStatus)


class CrossVersionObjectReferenceV1(CrossVersionObjectReference):
    pass


class HorizontalPodAutoscalerSpecV1(KubeStruct):
    scale_target_ref: CrossVersionObjectReferenceV1 = msgspec.field(default_factory=CrossVersionObjectReferenceV1)
    min_replicas: Int32 | None = None
    max_replicas: Int32 = 0
    target_cpu_utilization_percentage: Int32 | None = msgspec.field(name="targetCPUUtilizationPercentage", default=None)


class HorizontalPodAutoscalerV1(KubeObject):
    """The older version, which has a target for CPU alone; it is converted to v2, see `kitlib.api.autoscaling_v1`."""

    api_version: str = "autoscaling/v1"
    kind: str = "HorizontalPodAutoscaler"
    spec: HorizontalPodAutoscalerSpecV1 = msgspec.field(default_factory=HorizontalPodAutoscalerSpecV1)
    status: dict[str, Any] = {}
