"""Fields without `omitempty` are written even when they are empty."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.required_fields import complete


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        ("ConfigMap", {"a": 1}, {"a": 1}),
        ("Namespace", {}, {"spec": {}, "status": {}}),
        ("Role", {}, {"rules": None}),
        ("Role", {"rules": []}, {"rules": []}),
        ("PriorityClass", {"value": 5}, {"value": 5}),
        ("Service", {"status": {}}, {"status": {}}),
        ("Service", {}, {"status": {"loadBalancer": {}}}),
        (
            "Pod",
            {"spec": {"containers": [{"name": "a"}, {"name": "b", "resources": {"limits": {}}}]}},
            {
                "spec": {
                    "containers": [{"name": "a", "resources": {}}, {"name": "b", "resources": {"limits": {}}}],
                },
                "status": {},
            },
        ),
        (
            "Node",
            {"spec": {"taints": [{"key": "k"}]}, "status": {"nodeInfo": {"osImage": "x"}}},
            {
                "spec": {"taints": [{"key": "k", "effect": ""}]},
                "status": {
                    "nodeInfo": {
                        **dict.fromkeys(
                            ["architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion"],
                            "",
                        ),
                        **dict.fromkeys(["kubeletVersion", "machineID", "operatingSystem", "systemUUID"], ""),
                        "osImage": "x",
                    }
                },
            },
        ),
        ("PodDisruptionBudget", {"status": {"currentHealthy": 2}}, {"status": {
            "currentHealthy": 2, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0}}),
        # Paths go through fields that the object has, in the order of the table: nothing is made below a missing one.
        ("CronJob", {"spec": {}}, {"spec": {}, "status": {}}),
        (
            "CronJob",
            {"spec": {"jobTemplate": {}}},
            {"spec": {"jobTemplate": {"metadata": {}, "spec": {}}}, "status": {}},
        ),
        ("NetworkPolicy", {}, {"spec": {"podSelector": {}}}),
        ("Pod", {"spec": {"containers": None}, "status": "x"}, {"spec": {"containers": None}, "status": "x"}),
        ("Pod", {"spec": {"containers": ["x"]}, "status": {}}, {"spec": {"containers": ["x"]}, "status": {}}),
    ],
)  # fmt: skip
def test_required_fields_are_added_where_they_are_missing(
    kind: str, data: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert complete(kind, data) == expected


def test_the_statuses_of_containers_have_no_common_parts() -> None:
    data = {"spec": {}, "status": {"containerStatuses": [{"name": "a"}, {"name": "b", "ready": True}]}}
    first, second = complete("Pod", data)["status"]["containerStatuses"]
    assert first == {
        "name": "a", "image": "", "imageID": "", "lastState": {}, "ready": False, "restartCount": 0, "state": {},
    }  # fmt: skip
    assert second["ready"] is True
    first["state"]["running"] = {}
    assert second["state"] == {}
    assert complete("Namespace", {})["spec"] is not complete("Namespace", {})["spec"]


def test_the_object_itself_is_changed_and_returned() -> None:
    data: dict[str, Any] = {}
    assert complete("Namespace", data) is data
    assert data == {"spec": {}, "status": {}}


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"])
def test_the_template_of_a_workload(kind: str) -> None:
    template = {"spec": {"containers": [{"name": "a"}], "initContainers": [{"name": "i"}]}}
    found = complete(kind, {"spec": {"template": template}})["spec"]["template"]
    containers = {"containers": [{"name": "a", "resources": {}}], "initContainers": [{"name": "i", "resources": {}}]}
    assert found == {"metadata": {}, "spec": containers}
