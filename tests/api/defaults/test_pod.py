"""Defaults of pods: what a pod has that names nothing, requests from limits, host ports, pod-level amounts."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict, to_dict


def spec_of(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """The specification of a pod with one container, with its defaults."""
    one = {"name": "c", "image": "nginx:1.27", **(container or {})}
    data = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [one], **spec}}
    made: Pod = set_defaults(from_dict(data))
    return dict(to_dict(made)["spec"])


def test_a_pod_that_names_nothing() -> None:
    """Source: SetDefaults_PodSpec, SetDefaults_Pod, SetDefaults_Container."""
    assert spec_of() == {
        "containers": [
            {
                "name": "c",
                "image": "nginx:1.27",
                "imagePullPolicy": "IfNotPresent",
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }


@pytest.mark.parametrize(
    ("image", "policy"),
    [("nginx", "Always"), ("nginx:latest", "Always"), ("nginx:1", "IfNotPresent"), ("r.io:5000/nginx", "Always")],
)
def test_the_pull_policy_follows_the_tag(image: str, policy: str) -> None:
    assert spec_of({"image": image})["containers"][0]["imagePullPolicy"] == policy


def test_a_missing_request_is_the_limit_and_a_given_one_stays() -> None:
    resources = {"requests": {"cpu": "100m"}, "limits": {"cpu": "1", "memory": "1Gi"}}
    made = spec_of({"resources": resources})["containers"][0]["resources"]
    assert made["requests"] == {"cpu": "100m", "memory": "1Gi"}


def test_amounts_below_a_thousandth_are_rounded_up() -> None:
    """Source: SetDefaults_ResourceList."""
    made = spec_of({"resources": {"requests": {"cpu": "100u", "memory": "1500u"}}})["containers"][0]["resources"]
    assert made["requests"] == {"cpu": "1m", "memory": "2m"}


@pytest.mark.parametrize(("host", "port"), [(True, {"containerPort": 80, "hostPort": 80, "protocol": "TCP"}),
                                            (False, {"containerPort": 80, "protocol": "TCP"})])  # fmt: skip
def test_on_the_hosts_network_a_port_is_the_hosts(host: bool, port: dict[str, Any]) -> None:
    assert spec_of({"ports": [{"containerPort": 80}]}, hostNetwork=host)["containers"][0]["ports"] == [port]


def test_probes_and_handlers() -> None:
    """Source: SetDefaults_Probe, SetDefaults_HTTPGetAction."""
    made = spec_of({"readinessProbe": {"httpGet": {"port": 80}}, "lifecycle": {"preStop": {"httpGet": {"port": 80}}}})[
        "containers"
    ][0]
    get = {"path": "/", "port": 80, "scheme": "HTTP"}
    assert made["readinessProbe"] == {
        "failureThreshold": 3,
        "httpGet": get,
        "periodSeconds": 10,
        "successThreshold": 1,
        "timeoutSeconds": 1,
    }
    assert made["lifecycle"]["preStop"]["httpGet"] == get


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ({"limits": {"cpu": "4"}}, {"limits": {"cpu": "4"}, "requests": {"cpu": "1", "memory": "1Gi"}}),
        ({"limits": {"cpu": "4"}, "requests": {"cpu": "2"}},
         {"limits": {"cpu": "4"}, "requests": {"cpu": "2", "memory": "1Gi"}}),
        ({"requests": {"cpu": "2"}}, {"requests": {"cpu": "2"}}),
        ({}, {}),
    ],
    ids=["from the containers", "a given request stays", "without limits nothing is added", "nothing"],
)  # fmt: skip
def test_pod_level_requests_follow_containers_and_limits(level: dict[str, Any], expected: dict[str, Any]) -> None:
    """Source: defaultPodRequests."""
    own = {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    assert spec_of(own, resources=level).get("resources", {}) == expected


def test_the_deprecated_service_account_is_the_accounts_name() -> None:
    made = spec_of(serviceAccount="robot")
    assert made["serviceAccountName"] == "robot" == made.get("serviceAccount", "robot")


def test_a_variable_without_a_field_and_one_with_a_version_stay_as_they_are() -> None:
    """Source: SetDefaults_ObjectFieldSelector."""
    env = [
        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}},
        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v2"}}},
        {"name": "D", "value": "x"},
    ]
    found = spec_of({"env": env})["containers"][0]["env"]
    assert found[0] == env[0] and found[3] == env[3]
    assert [one["valueFrom"]["fieldRef"]["apiVersion"] for one in found[1:3]] == ["v1", "v2"]


@pytest.mark.parametrize(
    ("given", "rounded"),
    [("1.0001", "1001m"), ("1.001", "1.001"), ("100u", "1m"), ("1m", "1m"), ("0.0010", "1m"), ("0", "0")],
)
def test_amounts_are_rounded_up_to_thousandths(given: str, rounded: str) -> None:
    """Source: SetDefaults_ResourceList; what needs no rounding keeps the text that ParseQuantity keeps."""
    found = spec_of({"resources": {"requests": {"cpu": given}}})["containers"][0]["resources"]["requests"]
    assert found == {"cpu": rounded}
