"""Fields that Go writes even when they are empty, as a kube-apiserver of 1.36.2 answers a creation."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.required_fields import complete
from kitlib.apiserver.http.dispatcher import Dispatcher
from kitlib.cluster import Cluster
from tests.apiserver.http.conftest import call_of

_TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "a struct without a pointer": (
        "/apis/coordination.k8s.io/v1/namespaces/default/leases",
        {},
        {"spec": {}},
    ),
    "a struct within a struct": (
        "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
        {},
        {"spec": {"devices": {"requests": None}}, "status": {}},
    ),
    "a list and a number without omitempty": (
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        {"addressType": "IPv4"},
        {"addressType": "IPv4", "endpoints": None, "ports": None},
    ),
    "structs in the items of a list": (
        "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
        {"spec": {"egress": [{"to": [{"podSelector": {}}]}]}},
        {"spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"], "egress": [{"to": [{"podSelector": {}}]}]}},
    ),
    "the fields of the served version, not of the stored one": (
        "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
        {"spec": {"scaleTargetRef": _TARGET, "maxReplicas": 2}},
        {
            "spec": {
                "scaleTargetRef": _TARGET,
                "minReplicas": 1,
                "maxReplicas": 2,
                "targetCPUUtilizationPercentage": 80,
            },
            "status": {"currentReplicas": 0, "desiredReplicas": 0},
        },
    ),
    "an object reference without a version": (
        "/api/v1/namespaces/default/events",
        {"involvedObject": {"kind": "Pod", "namespace": "default"}},
        {
            "involvedObject": {"kind": "Pod", "namespace": "default"},
            "source": {},
            "eventTime": None,
            "firstTimestamp": None,
            "lastTimestamp": None,
            "reportingComponent": "",
            "reportingInstance": "",
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_object_is_served_with_the_fields_that_its_go_type_always_writes(case: str) -> None:
    path, fields, expected = CASES[case]
    with Cluster.simulated(1) as cluster:
        call = call_of(Dispatcher(cluster))
        status, made = call("POST", path, {"metadata": {"name": "a"}, **fields})
    assert status == 201
    assert {name: value for name, value in made.items() if name not in ("apiVersion", "kind", "metadata")} == expected


def test_a_json_patch_adds_a_field_to_the_empty_status_of_a_new_object() -> None:
    path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    patch = [{"op": "add", "path": "/status/allocation", "value": {"devices": {}}}]
    with Cluster.simulated(1) as cluster:
        call = call_of(Dispatcher(cluster))
        call("POST", path, {"metadata": {"name": "a"}})
        status, made = call("PATCH", f"{path}/a/status", patch, content_type="application/json-patch+json")
    assert (status, made["status"]) == (200, {"allocation": {"devices": {}}})


def test_a_version_that_the_table_lacks_has_the_fields_of_another_version() -> None:
    rule: dict[str, Any] = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "spec": {"taint": {}}}
    expected = {"taint": {"key": "", "effect": ""}}
    assert complete(rule) == {**rule, "metadata": {}, "spec": expected, "status": {}}


_NODE_INFO = (
    *("architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion", "kubeletVersion"),
    *("machineID", "operatingSystem", "osImage", "systemUUID"),
)


@pytest.mark.parametrize(
    ("version", "kind", "data", "expected"),
    [
        ("example.com/v1", "Lease", {"a": 1}, {"a": 1}),
        ("coordination.k8s.io/v1", "Lease", {"spec": {"holderIdentity": "x"}}, {"spec": {"holderIdentity": "x"}}),
        ("rbac.authorization.k8s.io/v1", "Role", {}, {"rules": None}),
        ("rbac.authorization.k8s.io/v1", "Role", {"rules": []}, {"rules": []}),
        ("scheduling.k8s.io/v1", "PriorityClass", {"value": 5}, {"value": 5}),
        ("v1", "Service", {"status": {}}, {"spec": {}, "status": {"loadBalancer": {}}}),
        (
            "v1",
            "Node",
            {"status": {"nodeInfo": {"osImage": "x"}}},
            {
                "spec": {},
                "status": {
                    "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
                    "nodeInfo": {**dict.fromkeys(_NODE_INFO, ""), "osImage": "x"},
                },
            },
        ),
        ("v1", "Pod", {"spec": {"containers": ["x"]}, "status": "x"}, {"spec": {"containers": ["x"]}, "status": "x"}),
    ],
)
def test_values_are_kept_and_missing_fields_added(
    version: str, kind: str, data: dict[str, Any], expected: dict[str, Any]
) -> None:
    obj = {"apiVersion": version, "kind": kind, "metadata": {}, **data}
    assert complete(obj) is obj
    assert obj == {"apiVersion": version, "kind": kind, "metadata": {}, **expected}


def test_the_statuses_of_containers_have_no_common_parts() -> None:
    pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "status": {"containerStatuses": [{}, {"ready": True}]}}
    first, second = complete(pod)["status"]["containerStatuses"]
    numbers = {"ready": False, "restartCount": 0}
    assert first == {"name": "", "image": "", "imageID": "", "lastState": {}, "state": {}, **numbers}
    assert second["ready"] is True
    first["state"]["running"] = {}
    assert second["state"] == {}


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"])
def test_the_template_of_a_workload(kind: str) -> None:
    template = {"spec": {"containers": [{"name": "a"}], "initContainers": [{"name": "i"}]}}
    found = complete({"apiVersion": "apps/v1", "kind": kind, "spec": {"template": template}})["spec"]["template"]
    containers = {"containers": [{"name": "a", "resources": {}}], "initContainers": [{"name": "i", "resources": {}}]}
    assert found == {"metadata": {}, "spec": containers}
