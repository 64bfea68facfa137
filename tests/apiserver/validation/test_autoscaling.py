"""HorizontalPodAutoscalers: bounds, references, metrics and rules."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.autoscaling import HorizontalPodAutoscaler
from kitlib.apiserver.validation import autoscaling
from tests.apiserver.validation.told import named, told

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 1}}}


def scaler(**spec: Any) -> list[str]:
    whole = {"minReplicas": 1, "maxReplicas": 5, "scaleTargetRef": TARGET, "metrics": [CPU], **spec}
    made = named(HorizontalPodAutoscaler, "a", "n", spec=whole)
    found = told(autoscaling.validate_horizontal_pod_autoscaler(made))
    assert told(autoscaling.validate_horizontal_pod_autoscaler_update(made, made)) == found
    return [text.removeprefix("spec.") for text in found]


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({}, []),
        ({"minReplicas": 5}, []),
        ({"minReplicas": 6}, ["maxReplicas Invalid must be greater than or equal to `minReplicas`"]),
        ({"minReplicas": None, "maxReplicas": 0}, ["maxReplicas Required must be set and greater than 0"]),
        ({"scaleTargetRef": {**TARGET, "kind": ""}}, ["scaleTargetRef.kind Required"]),
        ({"scaleTargetRef": {**TARGET, "name": "a/b"}}, ["scaleTargetRef.name Invalid may not contain '/'"]),
        (
            {"scaleTargetRef": {**TARGET, "apiVersion": "v1"}},
            ["scaleTargetRef.apiVersion Invalid apiVersion must specify API group"],
        ),
        ({"scaleTargetRef": {**TARGET, "apiVersion": "v1", "kind": "ReplicationController"}}, []),
        (
            {"scaleTargetRef": {**TARGET, "apiVersion": "a/b/c"}},
            ["scaleTargetRef.apiVersion Invalid unexpected GroupVersion string: a/b/c"],
        ),
    ],
)
def test_bounds_and_targets(spec: dict[str, Any], errors: list[str]) -> None:
    """Source: validateHorizontalPodAutoscalerSpec, ValidateCrossVersionObjectReference."""
    assert scaler(**spec) == errors


def metric(kind: str, **target: Any) -> dict[str, Any]:
    field = kind[:1].lower() + kind[1:]
    parts: dict[str, Any] = {
        "object": {"describedObject": {"kind": "Service", "name": "s"}, "metric": {"name": "m"}},
        "external": {"metric": {"name": "m"}},
        "pods": {"metric": {"name": "m"}},
        "resource": {"name": "cpu"},
        "containerResource": {"name": "cpu", "container": "c"},
    }
    return {"type": kind, field: {**parts[field], "target": {"type": "Value", **target}}}


ONE_TARGET = "must set either a target raw value or a target utilization"


@pytest.mark.parametrize(
    ("one", "errors"),
    [
        (metric("Object", value="1"), []),
        (metric("Object", averageValue="1"), []),
        (metric("Object"), ["object.target.averageValue Required must set either a target value or averageValue"]),
        (
            metric("External"),
            ["external.target.averageValue Required must set either a target value for metric or a per-pod target"],
        ),
        (
            metric("External", value="1", averageValue="1"),
            ["external.target.value Forbidden may not set both a target value for metric and a per-pod target"],
        ),
        (metric("Pods", averageValue="1"), []),
        (metric("Pods", value="1"), ["pods.target.averageValue Required must specify a positive target averageValue"]),
        (metric("Resource"), [f"resource.target.averageUtilization Required {ONE_TARGET}"]),
        (
            metric("Resource", averageUtilization=1, averageValue="1"),
            ["resource.target.averageValue Forbidden may not set both a target raw value and a target utilization"],
        ),
        (
            metric("ContainerResource", averageUtilization=0),
            ["containerResource.target.averageUtilization Invalid must be greater than 0"],
        ),
        (metric("Object", value="0"), ["object.target.value Invalid must be positive"]),
        (metric("Pods", averageValue="-1"), ["pods.target.averageValue Invalid must be positive"]),
        (
            metric("Pods", averageValue="1", type="x"),
            ["pods.target.type Invalid must be either Utilization, Value, or AverageValue"],
        ),
        ({"type": "Pods"}, ["pods Required must populate information for the given metric source"]),
        (
            {**metric("Pods", averageValue="1"), "resource": CPU["resource"]},
            ["resource Forbidden must populate the given metric source only"],
        ),
    ],
)
def test_metrics(one: dict[str, Any], errors: list[str]) -> None:
    """Source: validateMetricSpec."""
    assert [text.removeprefix("metrics[0].") for text in scaler(metrics=[one])] == errors


def test_an_unknown_metric() -> None:
    kinds = 'NotSupported supported values: "ContainerResource", "External", "Object", "Pods", "Resource"'
    assert scaler(metrics=[{"type": "x"}]) == [f"metrics[0].type {kinds}"] * 2
    assert (
        scaler(metrics=[{}])
        == ["metrics[0].type Required must specify a metric source type"] + [f"metrics[0].type {kinds}"] * 2
    )


POLICY = {"type": "Pods", "value": 1, "periodSeconds": 1}


@pytest.mark.parametrize(
    ("rules", "errors"),
    [
        ({}, []),
        ({"stabilizationWindowSeconds": 3600}, []),
        (
            {"stabilizationWindowSeconds": 3601},
            ["stabilizationWindowSeconds Invalid must be less than or equal to 3600"],
        ),
        (
            {"stabilizationWindowSeconds": -1},
            ["stabilizationWindowSeconds Invalid must be greater than or equal to zero"],
        ),
        ({"selectPolicy": "Disabled"}, []),
        ({"selectPolicy": "x"}, ['selectPolicy NotSupported supported values: "Disabled", "Max", "Min"']),
        ({"policies": []}, ["policies Required must specify at least one Policy"]),
        (
            {"policies": [{**POLICY, "type": "x"}]},
            ['policies[0].type NotSupported supported values: "Percent", "Pods"'],
        ),
        ({"policies": [{**POLICY, "value": 0}]}, ["policies[0].value Invalid must be greater than zero"]),
        ({"policies": [{**POLICY, "periodSeconds": 1800}]}, []),
        (
            {"policies": [{**POLICY, "periodSeconds": 1801}]},
            ["policies[0].periodSeconds Invalid must be less than or equal to 1800"],
        ),
        (
            {"policies": [{**POLICY, "periodSeconds": 0}]},
            ["policies[0].periodSeconds Invalid must be greater than zero"],
        ),
        ({"tolerance": "0"}, []),
        ({"tolerance": "-1m"}, ["tolerance Invalid must be greater than or equal to 0"]),
    ],
)
@pytest.mark.parametrize("side", ["scaleUp", "scaleDown"])
def test_rules(side: str, rules: dict[str, Any], errors: list[str]) -> None:
    """Source: validateScalingRules."""
    found = scaler(behavior={side: {"policies": [POLICY], **rules}})
    assert [text.removeprefix(f"behavior.{side}.") for text in found] == errors
