"""Who writes: a person, or a part of the cluster under its own name."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.apiserver.admission.requester import (
    ADMINISTRATOR,
    Requester,
    kubelet,
    requested_by,
    requester,
    service_account,
)
from kitlib.cluster import Cluster
from kitlib.controllers.descriptors import CONTROLLERS
from kitlib.controllers.manager import ControllerManager

GROUP = "admissionregistration.k8s.io/v1"


def policy(expression: str, resource: str, *operations: str, group: str = "") -> list[dict[str, Any]]:
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "operations": list(operations), "resources": [resource]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": expression, "messageExpression": "request.userInfo.username"}],
    }
    bound = {"policyName": "who", "validationActions": ["Deny"]}
    return [
        {"apiVersion": GROUP, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "who"}, "spec": spec},
        {"apiVersion": GROUP, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "who"}, "spec": bound},
    ]


def pod(name: str = "web") -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "image": "nginx"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def deployment() -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod()["spec"]}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def test_it_is_the_administrator_unless_it_is_said_otherwise() -> None:
    assert requester() == ADMINISTRATOR
    with requested_by(Requester("ada", ("developers",), "7")):
        assert requester().name == "ada"
        with pytest.raises(ValueError, match="wrong"), requested_by(kubelet("node-1")):
            assert requester().groups == ("system:nodes", "system:authenticated")
            raise ValueError("wrong")
        assert requester().name == "ada"
    assert requester() == ADMINISTRATOR


def test_a_deployments_pods_are_made_by_a_controller() -> None:
    made = Cluster.simulated(1)
    only = "request.userInfo.username == 'system:serviceaccount:kube-system:replicaset-controller'"
    made.apply(policy(only, "pods", "CREATE"))
    with requested_by(Requester("ada", ("developers",))):
        made.apply(deployment())
        with pytest.raises(KitError, match="denied request: ada"):
            made.apply(pod())
    assert len(made.pods()) == 2
    assert all("system:serviceaccounts" in requester_.groups for requester_ in [service_account("a", "b")])


def test_a_status_is_written_by_the_nodes_kubelet() -> None:
    made = Cluster.simulated(1)
    node = made.list("Node")[0].name
    wanted = f"request.userInfo.username in ['system:kube-scheduler', 'system:node:{node}']"
    made.apply(policy(wanted, "pods/status", "UPDATE"))
    made.apply(pod())
    made.advance(5)
    assert made.pod("web").status.phase == "Running"


def test_the_scheduler_writes_what_it_could_not_do_under_its_own_name() -> None:
    made = Cluster.simulated(1)
    made.apply(policy("request.userInfo.username != 'system:kube-scheduler'", "pods/status", "UPDATE"))
    big = pod("big")
    big["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1000"}}
    made.apply(big)
    assert made.pod("big").status.conditions == []


def test_every_controller_has_the_account_that_the_bootstrap_roles_name() -> None:
    """Source: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go."""
    manager = ControllerManager(Cluster.simulated(0).api)
    named = {one.name: manager.controller(one.name).user.name for one in CONTROLLERS}
    in_kube_system = {name: user.removeprefix("system:serviceaccount:kube-system:") for name, user in named.items()}
    assert in_kube_system["daemonset-controller"] == "daemon-set-controller"
    assert in_kube_system["persistentvolume-controller"] == "persistent-volume-binder"
    assert in_kube_system["garbage-collector-controller"] == "generic-garbage-collector"
    assert in_kube_system["crd-naming-condition-controller"] == "system:apiserver"
    assert [user for user in in_kube_system.values() if "." in user or "_" in user] == []
