"""Conversion of HorizontalPodAutoscalers between autoscaling/v1 and v2: v1 keeps its missing fields in annotations.

    spec       the target for CPU is targetCPUUtilizationPercentage; other metrics and the behavior are annotations
    status     the CPU utilization is currentCPUUtilizationPercentage; all metrics and conditions are annotations

Source: pkg/apis/autoscaling/v1/conversion.go, annotations.go; k8s.io/api/autoscaling/v1 (MetricSpec, MetricStatus).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]
PREFIX = "autoscaling.alpha.kubernetes.io/"
METRICS, CURRENT, CONDITIONS, BEHAVIOR = (
    f"{PREFIX}{name}" for name in ("metrics", "current-metrics", "conditions", "behavior")
)
_CPU_TARGET, _CPU_NOW = "targetCPUUtilizationPercentage", "currentCPUUtilizationPercentage"
_FIELDS = {
    "resource": (("averageUtilization", "AverageUtilization"), ("averageValue", "AverageValue")),
    "containerResource": (("averageUtilization", "AverageUtilization"), ("averageValue", "AverageValue")),
    "pods": (("averageValue", "AverageValue"),),
    "object": (("value", "Value"), ("averageValue", "")),
    "external": (("value", "Value"), ("averageValue", "AverageValue")),
}
"""By source of a metric: the field of its v2 value, and the end of the v1 field's name ("" = `averageValue`)."""
_TYPES = {"averageUtilization": "Utilization", "averageValue": "AverageValue", "value": "Value"}


def to_v1(data: Mapping[str, Any]) -> Object:
    """Convert the wire form of v2 to v1; fields that v1 does not have become annotations."""
    spec, status = dict(data.get("spec") or {}), dict(data.get("status") or {})
    metrics, current = spec.pop("metrics", None) or [], status.pop("currentMetrics", None) or []
    noted: Object = {}
    others = [_metric_to_v1(one, "target") for one in metrics if not _is_cpu(one, "target")]
    if others:
        noted[METRICS] = others
    if current:
        noted[CURRENT] = [_metric_to_v1(one, "current") for one in current]
    if status.get("conditions"):
        noted[CONDITIONS] = status["conditions"]
    status.pop("conditions", None)
    behavior = spec.pop("behavior", None)
    if behavior is not None:
        noted[BEHAVIOR] = {name[0].upper() + name[1:]: rules for name, rules in behavior.items()}
    for metric in metrics:
        if _is_cpu(metric, "target"):
            spec[_CPU_TARGET] = metric["resource"]["target"]["averageUtilization"]
    for metric in current:
        if _is_cpu(metric, "current"):
            status[_CPU_NOW] = metric["resource"]["current"]["averageUtilization"]
    meta = dict(data.get("metadata") or {})
    annotations = _without_own(meta) | {key: json.dumps(value, separators=(",", ":")) for key, value in noted.items()}
    if annotations:
        meta["annotations"] = annotations
    return {**data, "apiVersion": "autoscaling/v1", "metadata": meta, "spec": spec, "status": status}


def to_v2(data: Mapping[str, Any]) -> Object:
    """Convert the wire form of v1 to v2; annotations that cannot be parsed are ignored."""
    meta, spec, status = (dict(data.get(part) or {}) for part in ("metadata", "spec", "status"))
    metrics = [_metric_to_v2(one, "target") for one in _noted(meta, METRICS, list)]
    percent, now = spec.pop(_CPU_TARGET, None), status.pop(_CPU_NOW, None)
    if percent is not None:
        target = {"type": "Utilization", "averageUtilization": percent}
        metrics.insert(0, {"type": "Resource", "resource": {"name": "cpu", "target": target}})
    current = [_metric_to_v2(one, "current") for one in _noted(meta, CURRENT, list)]
    if now is not None and not current:
        current = [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": now}}}]
    behavior = _noted(meta, BEHAVIOR, dict)
    conditions = _noted(meta, CONDITIONS, list)
    for part, field, value in (
        (spec, "metrics", metrics),
        (spec, "behavior", {name[0].lower() + name[1:]: rules for name, rules in behavior.items()}),
        (status, "currentMetrics", current),
        (status, "conditions", conditions),
    ):
        if value:
            part[field] = value
    annotations = _without_own(meta)
    meta.pop("annotations", None)
    if annotations:
        meta["annotations"] = annotations
    return {**data, "apiVersion": "autoscaling/v2", "metadata": meta, "spec": spec, "status": status}


def _without_own(meta: Mapping[str, Any]) -> Object:
    """Source: DropRoundTripHorizontalPodAutoscalerAnnotations."""
    own = (METRICS, CURRENT, CONDITIONS, BEHAVIOR)
    return {key: value for key, value in (meta.get("annotations") or {}).items() if key not in own}


def _noted(meta: Mapping[str, Any], key: str, kind: type) -> Any:
    try:
        found = json.loads((meta.get("annotations") or {}).get(key, "null"))
    except (ValueError, TypeError):
        return kind()
    return found if isinstance(found, kind) else kind()


def _is_cpu(metric: Mapping[str, Any], place: str) -> bool:
    """Return whether it is the metric that v1 has a field for: the average utilization of CPU."""
    resource = metric.get("resource") or {}
    value = resource.get(place) or {}
    return resource.get("name") == "cpu" and value.get("averageUtilization") is not None


def _metric_to_v1(metric: Mapping[str, Any], place: str) -> Object:
    kind = str(metric.get("type", ""))
    name = kind[:1].lower() + kind[1:]
    source = metric.get(name) or {}
    value, made = source.get(place) or {}, {}
    for field in ("name", "container"):
        if field in source:
            made[field] = source[field]
    if "describedObject" in source:
        made["target"] = source["describedObject"]
    identifier = source.get("metric") or {}
    if identifier:
        made["metricName"] = identifier.get("name", "")
        if identifier.get("selector") is not None:
            made["metricSelector" if name == "external" else "selector"] = identifier["selector"]
    for field, end in _FIELDS.get(name, ()):
        if value.get(field) is not None:
            made[f"{place}{end}" if end else "averageValue"] = value[field]
    return {"type": kind, name: made}


def _metric_to_v2(metric: Any, place: str) -> Object:
    kind = str(metric.get("type", "")) if isinstance(metric, dict) else ""
    name = kind[:1].lower() + kind[1:]
    source = dict(metric.get(name) or {}) if isinstance(metric, dict) else {}
    value, made = {}, {field: source[field] for field in ("name", "container") if field in source}
    for field, end in _FIELDS.get(name, ()):
        given = source.get(f"{place}{end}" if end else "averageValue")
        if given is not None:
            value[field] = given
            if place == "target":
                value["type"] = _TYPES[field]
    if isinstance(source.get("target"), dict):
        made["describedObject"] = source["target"]
    if "metricName" in source:
        made["metric"] = {"name": source["metricName"]}
        selector = source.get("selector", source.get("metricSelector"))
        if selector is not None:
            made["metric"]["selector"] = selector
    return {"type": kind, name: {**made, place: value}}
