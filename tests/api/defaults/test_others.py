"""Defaults of Services, Secrets, autoscalers, network policies, bindings, CustomResourceDefinitions."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict, to_dict


def spec_of(kind: str, spec: dict[str, Any], version: str = "v1") -> dict[str, Any]:
    """The specification of an object with its defaults."""
    made = set_defaults(from_dict({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}))
    return dict(to_dict(made).get("spec", {}))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster"}),
        (
            {"ports": [{"port": 80}, {"port": 81, "targetPort": "web", "protocol": "UDP"}]},
            {
                "type": "ClusterIP",
                "sessionAffinity": "None",
                "internalTrafficPolicy": "Cluster",
                "ports": [
                    {"port": 80, "protocol": "TCP", "targetPort": 80},
                    {"port": 81, "protocol": "UDP", "targetPort": "web"},
                ],
            },
        ),
        (
            {"type": "LoadBalancer"},
            {
                "type": "LoadBalancer",
                "sessionAffinity": "None",
                "internalTrafficPolicy": "Cluster",
                "externalTrafficPolicy": "Cluster",
                "allocateLoadBalancerNodePorts": True,
            },
        ),
        (
            {"type": "NodePort", "externalTrafficPolicy": "Local"},
            {
                "type": "NodePort",
                "sessionAffinity": "None",
                "internalTrafficPolicy": "Cluster",
                "externalTrafficPolicy": "Local",
            },
        ),
        (
            {"externalIPs": ["1.2.3.4"]},
            {
                "type": "ClusterIP",
                "sessionAffinity": "None",
                "internalTrafficPolicy": "Cluster",
                "externalTrafficPolicy": "Cluster",
                "externalIPs": ["1.2.3.4"],
            },
        ),
        ({"type": "ExternalName", "externalName": "a.b"},
         {"type": "ExternalName", "sessionAffinity": "None", "externalName": "a.b"}),
        (
            {"sessionAffinity": "ClientIP"},
            {
                "type": "ClusterIP",
                "sessionAffinity": "ClientIP",
                "internalTrafficPolicy": "Cluster",
                "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}},
            },
        ),
    ],
)  # fmt: skip
def test_a_service(given: dict[str, Any], expected: dict[str, Any]) -> None:
    """Source: SetDefaults_Service."""
    assert spec_of("Service", given) == expected


def test_a_secrets_plain_text_becomes_data() -> None:
    data = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "stringData": {"a": "b"}}
    made = to_dict(set_defaults(from_dict(data)))
    assert (made["type"], made["data"], "stringData" in made) == ("Opaque", {"a": "Yg=="}, False)


@pytest.mark.parametrize(
    ("given", "types"),
    [({}, ["Ingress"]), ({"egress": [{}]}, ["Ingress", "Egress"]), ({"policyTypes": ["Egress"]}, ["Egress"])],
)
def test_a_network_policys_types(given: dict[str, Any], types: list[str]) -> None:
    assert spec_of("NetworkPolicy", {"podSelector": {}, **given}, "networking.k8s.io/v1")["policyTypes"] == types


def test_a_network_policys_ports() -> None:
    rules = {"ingress": [{"ports": [{"port": 1}]}], "egress": [{"ports": [{"port": 2, "protocol": "UDP"}]}]}
    made = spec_of("NetworkPolicy", {"podSelector": {}, **rules}, "networking.k8s.io/v1")
    assert made["ingress"][0]["ports"] == [{"port": 1, "protocol": "TCP"}]
    assert made["egress"][0]["ports"] == [{"port": 2, "protocol": "UDP"}]


TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def test_an_autoscaler() -> None:
    """Source: autoscaling/v2 SetDefaults_HorizontalPodAutoscaler."""
    made = spec_of("HorizontalPodAutoscaler", {"maxReplicas": 3, "scaleTargetRef": TARGET}, "autoscaling/v2")
    target = {"type": "Utilization", "averageUtilization": 80}
    assert made["minReplicas"] == 1 and "behavior" not in made
    assert made["metrics"] == [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]


@pytest.mark.parametrize("given", [{}, {"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 9}]}}])
def test_an_autoscalers_behaviour(given: dict[str, Any]) -> None:
    """Source: GenerateHPAScaleUpRules, GenerateHPAScaleDownRules."""
    spec = {"maxReplicas": 3, "minReplicas": 2, "scaleTargetRef": TARGET, "behavior": given}
    made = spec_of("HorizontalPodAutoscaler", spec, "autoscaling/v2")
    up = {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    }
    down = {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}
    assert made["behavior"] == {"scaleUp": {**up, **given.get("scaleUp", {})}, "scaleDown": down}
    assert made["minReplicas"] == 2


@pytest.mark.parametrize(
    ("kind", "group"),
    [("User", "rbac.authorization.k8s.io"), ("Group", "rbac.authorization.k8s.io"), ("ServiceAccount", "")],
)
def test_a_bindings_subjects(kind: str, group: str) -> None:
    data = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "x"},
        "roleRef": {"kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": kind, "name": "n"}],
    }
    made = to_dict(set_defaults(from_dict(data)))
    assert made["roleRef"]["apiGroup"] == "rbac.authorization.k8s.io"
    assert made["subjects"][0].get("apiGroup", "") == group


def test_a_custom_resource_definitions_names() -> None:
    spec = {"group": "a.b", "names": {"kind": "Thing", "plural": "things"}, "scope": "Namespaced", "versions": []}
    made = spec_of("CustomResourceDefinition", spec, "apiextensions.k8s.io/v1")
    assert made["names"] == {"kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList"}
    assert made["conversion"] == {"strategy": "None"}
