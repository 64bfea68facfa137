"""Validation of HorizontalPodAutoscalers.

Source: pkg/apis/autoscaling/validation.
"""

from __future__ import annotations

from typing import Any

from kitlib.api.autoscaling import (
    CrossVersionObjectReference,
    HorizontalPodAutoscaler,
    HPAScalingRules,
    MetricIdentifier,
    MetricSpec,
    MetricTarget,
)
from kitlib.api.field_errors import (
    NOT_POSITIVE,
    Errors,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kitlib.api.names import is_dns1123_label, is_path_segment_name
from kitlib.api.release import Release
from kitlib.apiserver.validation.object_meta import (
    validate_label_selector,
    validate_object_meta,
    validate_object_meta_update,
)
from kitlib.apiserver.validation.resources import validate_container_resource_name
from kitlib.apiserver.validation.rules import Rules

METRIC_TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")
SELECT_POLICIES = ("Disabled", "Max", "Min")
SCALING_POLICIES = ("Percent", "Pods")
MAX_PERIOD_SECONDS = 1800
MAX_WINDOW_SECONDS = 3600
_NOT_TO_ZERO = "must specify at least one Object or External metric to support scaling to zero replicas"
_ONE_TARGET = "must set either a target raw value or a target utilization"
_TWO_TARGETS = "may not set both a target raw value and a target utilization"


def validate_horizontal_pod_autoscaler(obj: HorizontalPodAutoscaler) -> Errors:
    """Source: ValidateHorizontalPodAutoscaler."""
    return validate_object_meta(obj.metadata, namespaced=True) + _spec(obj)


def validate_horizontal_pod_autoscaler_update(new: HorizontalPodAutoscaler, old: HorizontalPodAutoscaler) -> Errors:
    """Source: ValidateHorizontalPodAutoscalerUpdate."""
    return validate_object_meta_update(new.metadata, old.metadata) + _spec(new)


def _spec(obj: HorizontalPodAutoscaler) -> Errors:
    """Source: validateHorizontalPodAutoscalerSpec, validateMetrics."""
    spec = obj.spec
    found: Errors = []
    least = 0 if Release.followed().enabled("HPAScaleToZero") else 1
    if spec.min_replicas is not None and spec.min_replicas < least:
        found.append(invalid("spec.minReplicas", spec.min_replicas, f"must be greater than or equal to {least}"))
    if spec.max_replicas < 1:
        found.append(required("spec.maxReplicas", "must be set and greater than 0"))
    if spec.min_replicas is not None and spec.max_replicas < spec.min_replicas:
        found.append(invalid("spec.maxReplicas", spec.max_replicas, "must be greater than or equal to `minReplicas`"))
    target = spec.scale_target_ref
    found += _reference(target, "spec.scaleTargetRef", grouped=target.kind != "ReplicationController")
    for i, metric in enumerate(spec.metrics):
        found += _metric(metric, f"spec.metrics[{i}]")
    if spec.min_replicas == 0 and not {metric.type for metric in spec.metrics or ()} & {"Object", "External"}:
        found.append(forbidden("spec.metrics", _NOT_TO_ZERO))
    if spec.behavior is not None:
        found += _rules(spec.behavior.scale_up, "spec.behavior.scaleUp")
        found += _rules(spec.behavior.scale_down, "spec.behavior.scaleDown")
    return found


def _reference(reference: CrossVersionObjectReference, field: str, *, grouped: bool = False) -> Errors:
    """Source: ValidateCrossVersionObjectReference, ValidateAPIVersion.

    Args:
        reference: the reference.
        field: the path of the reference.
        grouped: whether an API group is required, as for a scale target other than a ReplicationController.
    """
    found: Errors = []
    for name, value in (("kind", reference.kind), ("name", reference.name)):
        found += each(f"{field}.{name}", value, is_path_segment_name(value)) if value else [required(f"{field}.{name}")]
    version = reference.api_version
    if version.count("/") > 1:
        found.append(invalid(f"{field}.apiVersion", version, f"unexpected GroupVersion string: {version}"))
    elif grouped and not version.rpartition("/")[0]:
        found.append(invalid(f"{field}.apiVersion", version, "apiVersion must specify API group"))
    return found


def _metric(metric: MetricSpec, field: str) -> Errors:
    """Source: validateMetricSpec."""
    found: Errors = []
    if not metric.type:
        found.append(required(f"{field}.type", "must specify a metric source type"))
    if metric.type not in METRIC_TYPES:
        found.append(not_supported(f"{field}.type", metric.type, METRIC_TYPES))
    sources = {
        "object": metric.object,
        "external": metric.external,
        "pods": metric.pods,
        "resource": metric.resource,
        "containerResource": metric.container_resource,
    }
    present = [name for name, source in sources.items() if source is not None]
    if present:
        found += _source(present[0], sources[present[0]], f"{field}.{present[0]}")
    expected = metric.type[:1].lower() + metric.type[1:] if metric.type in METRIC_TYPES else ""
    if not expected:
        found.append(not_supported(f"{field}.type", metric.type, METRIC_TYPES))
    elif expected not in present:
        found.append(required(f"{field}.{expected}", "must populate information for the given metric source"))
    if len(present) != 1:
        found += [
            forbidden(f"{field}.{name}", "must populate the given metric source only")
            for name in present
            if name != expected
        ]
    return found


def _source(name: str, source: Any, field: str) -> Errors:
    """Source: validateObjectSource, validateExternalSource, validatePodsSource, validateResourceSource."""
    target: MetricTarget = source.target
    found: Errors = []
    if name == "object":
        found += _reference(source.described_object, f"{field}.describedObject")
    if name in ("object", "external", "pods"):
        found += _identifier(source.metric, f"{field}.metric")
    else:
        if not source.name:
            found.append(required(f"{field}.name", "must specify a resource name"))
        elif name == "containerResource":
            found += validate_container_resource_name(source.name, f"{field}.name")
        if name == "containerResource":
            if not source.container:
                found.append(required(f"{field}.container", "must specify a container"))
            else:
                found += each(f"{field}.container", source.container, is_dns1123_label(source.container))
    found += _target(target, f"{field}.target")
    place = f"{field}.target.averageValue"
    if name == "object" and target.value is None and target.average_value is None:
        found.append(required(place, "must set either a target value or averageValue"))
    if name == "external":
        if target.value is None and target.average_value is None:
            found.append(required(place, "must set either a target value for metric or a per-pod target"))
        if target.value is not None and target.average_value is not None:
            detail = "may not set both a target value for metric and a per-pod target"
            found.append(forbidden(f"{field}.target.value", detail))
    if name == "pods" and target.average_value is None:
        found.append(required(place, "must specify a positive target averageValue"))
    if name in ("resource", "containerResource"):
        if target.average_utilization is None and target.average_value is None:
            found.append(required(f"{field}.target.averageUtilization", _ONE_TARGET))
        if target.average_utilization is not None and target.average_value is not None:
            found.append(forbidden(place, _TWO_TARGETS))
    return found


def _target(target: MetricTarget, field: str) -> Errors:
    """Source: validateMetricTarget."""
    found: Errors = []
    if not target.type:
        found.append(required(f"{field}.type", "must specify a metric target type"))
    if target.type not in ("Utilization", "Value", "AverageValue"):
        found.append(invalid(f"{field}.type", target.type, "must be either Utilization, Value, or AverageValue"))
    for name, value in (("value", target.value), ("averageValue", target.average_value)):
        if value is not None and value.sign() <= 0:
            found.append(invalid(f"{field}.{name}", value, "must be positive"))
    if target.average_utilization is not None and target.average_utilization < 1:
        found.append(invalid(f"{field}.averageUtilization", target.average_utilization, "must be greater than 0"))
    return found


def _identifier(metric: MetricIdentifier, field: str) -> Errors:
    """Source: validateMetricIdentifier."""
    if not metric.name:
        found = [required(f"{field}.name", "must specify a metric name")]
    else:
        found = each(f"{field}.name", metric.name, is_path_segment_name(metric.name))
    return found + validate_label_selector(metric.selector, f"{field}.selector")


def _rules(rules: HPAScalingRules | None, field: str) -> Errors:
    """Source: validateScalingRules, validateScalingPolicy."""
    if rules is None:
        return []
    found: Errors = []
    window, place = rules.stabilization_window_seconds, f"{field}.stabilizationWindowSeconds"
    if window is not None and window < 0:
        found.append(invalid(place, window, "must be greater than or equal to zero"))
    if window is not None and window > MAX_WINDOW_SECONDS:
        found.append(invalid(place, window, f"must be less than or equal to {MAX_WINDOW_SECONDS}"))
    if rules.select_policy is not None and rules.select_policy not in SELECT_POLICIES:
        found.append(not_supported(f"{field}.selectPolicy", rules.select_policy, SELECT_POLICIES))
    if not rules.policies:
        found.append(required(f"{field}.policies", "must specify at least one Policy"))
    for i, policy in enumerate(rules.policies or ()):
        place = f"{field}.policies[{i}]"
        if policy.type not in SCALING_POLICIES:
            found.append(not_supported(f"{place}.type", policy.type, SCALING_POLICIES))
        if policy.value <= 0:
            found.append(invalid(f"{place}.value", policy.value, NOT_POSITIVE))
        if policy.period_seconds <= 0:
            found.append(invalid(f"{place}.periodSeconds", policy.period_seconds, NOT_POSITIVE))
        if policy.period_seconds > MAX_PERIOD_SECONDS:
            detail = f"must be less than or equal to {MAX_PERIOD_SECONDS}"
            found.append(invalid(f"{place}.periodSeconds", policy.period_seconds, detail))
    if rules.tolerance is not None and rules.tolerance.sign() < 0:
        found.append(invalid(f"{field}.tolerance", rules.tolerance, "must be greater than or equal to 0"))
    return found


KINDS: Rules = {
    HorizontalPodAutoscaler: (validate_horizontal_pod_autoscaler, validate_horizontal_pod_autoscaler_update),
}
