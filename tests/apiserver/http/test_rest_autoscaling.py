"""autoscaling/v1 beside autoscaling/v2 over HTTP."""

from __future__ import annotations

from typing import Any

CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
MEMORY = {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}}
V1 = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
V2 = V1.replace("/v1/", "/v2/")


def test_an_autoscaler_is_written_in_one_version_and_read_in_the_other(call: Any) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec: dict[str, Any] = {"scaleTargetRef": target, "maxReplicas": 3}
    spec["targetCPUUtilizationPercentage"] = 60
    body = {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": spec,
    }
    code, made = call("POST", V1, body)

    assert (code, made["apiVersion"], made["spec"]["targetCPUUtilizationPercentage"]) == (201, "autoscaling/v1", 60)
    _, found = call("GET", f"{V2}/web")
    assert found["spec"]["metrics"][0]["resource"]["target"] == {"type": "Utilization", "averageUtilization": 60}
    patch = {"spec": {"metrics": [CPU, MEMORY]}}
    assert call("PATCH", f"{V2}/web", patch, content_type="application/merge-patch+json")[0] == 200
    _, old = call("GET", f"{V1}/web")
    assert old["spec"]["targetCPUUtilizationPercentage"] == 50
    patch = {"spec": {"maxReplicas": 7}}
    assert call("PATCH", f"{V1}/web", patch, content_type="application/merge-patch+json")[0] == 200
    _, found = call("GET", f"{V2}/web")
    assert (found["spec"]["maxReplicas"], found["spec"]["metrics"]) == (7, [CPU, MEMORY])
    (listed,) = call("GET", V1)[1]["items"]
    assert listed["apiVersion"] == "autoscaling/v1"


def test_discovery_prefers_the_newer_version(call: Any) -> None:
    _, found = call("GET", "/apis/autoscaling")
    assert [one["version"] for one in found["versions"]] == ["v2", "v1"]
    assert found["preferredVersion"]["version"] == "v2"
