"""autoscaling/v1: fields and annotations hold what v2 says, in both directions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kitlib.api.autoscaling import HorizontalPodAutoscaler
from kitlib.api.autoscaling_v1 import BEHAVIOR, CONDITIONS, CURRENT, METRICS, to_v1, to_v2
from kitlib.api.serialize import load

CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
MEMORY = {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}}
CONTAINER = {
    "type": "ContainerResource",
    "containerResource": {"name": "cpu", "container": "c", "target": {"type": "Utilization", "averageUtilization": 9}},
}
PODS = {
    "type": "Pods",
    "pods": {"metric": {"name": "rps", "selector": {}}, "target": {"type": "AverageValue", "averageValue": "5"}},
}
OBJECT = {
    "type": "Object",
    "object": {
        "describedObject": {"kind": "Service", "name": "web"},
        "metric": {"name": "hits"},
        "target": {"type": "Value", "value": "100"},
    },
}
EXTERNAL = {
    "type": "External",
    "external": {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "30"}},
}


def v2(metrics: list[Any], **more: Any) -> dict[str, Any]:
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 3, "metrics": metrics}
    behavior = more.pop("behavior", None)
    spec |= {"behavior": behavior} if behavior else {}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "annotations": {"mine": "1"}},
        "spec": spec,
        "status": more,
    }


def test_the_target_for_cpu_is_a_field_and_the_others_are_an_annotation() -> None:
    found = to_v1(v2([MEMORY, CPU]))
    assert found["apiVersion"] == "autoscaling/v1"
    assert found["spec"]["targetCPUUtilizationPercentage"] == 50 and "metrics" not in found["spec"]
    noted = found["metadata"]["annotations"]
    assert noted["mine"] == "1"
    assert noted[METRICS] == '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}]'


def test_status_conditions_and_behavior_are_annotations() -> None:
    condition = {"type": "AbleToScale", "status": "True"}
    current = {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 7}}}
    found = to_v1(v2([CPU], conditions=[condition], currentMetrics=[current], behavior={"scaleUp": {"policies": []}}))
    noted = {key: json.loads(value) for key, value in found["metadata"]["annotations"].items()}
    assert noted[CONDITIONS] == [condition] and noted[BEHAVIOR] == {"ScaleUp": {"policies": []}}
    assert noted[CURRENT] == [{"type": "Resource", "resource": {"name": "cpu", "currentAverageUtilization": 7}}]
    assert found["status"] == {"currentCPUUtilizationPercentage": 7}


@pytest.mark.parametrize("metric", [CPU, MEMORY, CONTAINER, PODS, OBJECT, EXTERNAL], ids=lambda one: str(one["type"]))
def test_nothing_is_lost_on_the_way_there_and_back(metric: dict[str, Any]) -> None:
    condition = {"type": "AbleToScale", "status": "True"}
    whole = v2([metric], conditions=[condition], behavior={"scaleDown": {"selectPolicy": "Disabled"}})
    assert to_v2(to_v1(whole)) == whole


@pytest.mark.parametrize("text", ["", "{", "{}", "3"])
def test_annotations_that_cannot_be_read_say_nothing(text: str) -> None:
    data = {"metadata": {"annotations": {METRICS: text, "mine": "1"}}, "spec": {"maxReplicas": 3}}
    found = to_v2(data)
    assert found["spec"] == {"maxReplicas": 3} and found["metadata"]["annotations"] == {"mine": "1"}


def test_a_manifest_of_v1_is_kept_as_v2() -> None:
    """Also the metrics that v1 has annotations for."""
    noted = [{"type": "Resource", "resource": {"name": "memory", "targetAverageUtilization": 70}}]
    (made,) = load(
        json.dumps(
            {
                "apiVersion": "autoscaling/v1",
                "kind": "HorizontalPodAutoscaler",
                "metadata": {"name": "a", "annotations": {METRICS: json.dumps(noted)}},
                "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "w"}, "maxReplicas": 3},
            }
        )
    )
    assert isinstance(made, HorizontalPodAutoscaler) and METRICS not in made.metadata.annotations
    (metric,) = made.spec.metrics
    assert (metric.resource.name, metric.resource.target.average_utilization) == ("memory", 70)
