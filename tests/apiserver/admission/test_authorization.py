"""Roles and bindings: which binding allows something, told as the real authorizer tells it."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.authorization import Attributes
from kitlib.api.errors import KitError
from kitlib.apiserver.admission.authorization import RBACAuthorizer
from kitlib.apiserver.admission.requester import ADMINISTRATOR, Requester, requested_by, service_account
from kitlib.cluster import Cluster

GROUP = "rbac.authorization.k8s.io"
ADA = Requester("ada", ("developers",))


def role(kind: str, name: str, *verbs: str, resource: str = "pods") -> dict[str, Any]:
    rule = {"apiGroups": [""], "resources": [resource], "verbs": list(verbs)}
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, "rules": [rule]}


def binding(kind: str, name: str, subject: dict[str, str], role_kind: str = "ClusterRole") -> dict[str, Any]:
    group = {"apiGroup": GROUP} if subject["kind"] != "ServiceAccount" else {}
    reference = {"apiGroup": GROUP, "kind": role_kind, "name": "reader"}
    made = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}}
    return {**made, "subjects": [{**subject, **group}], "roleRef": reference}


def test_a_decision_says_which_binding_it_comes_from() -> None:
    cluster = Cluster.simulated(0)
    account = {"kind": "ServiceAccount", "name": "web", "namespace": "default"}
    cluster.apply(
        [
            role("ClusterRole", "reader", "get"),
            binding("ClusterRoleBinding", "all", {"kind": "Group", "name": "developers"}),
            binding("RoleBinding", "some", account),
        ]
    )
    rbac = RBACAuthorizer(cluster.api.store)
    get = Attributes("get", resource="pods", namespace="default")
    words = 'RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "reader" to Group "developers"'
    assert rbac.decide(ADA, get) == (True, words)
    words = 'RBAC: allowed by RoleBinding "some/default" of ClusterRole "reader" to ServiceAccount "web/default"'
    assert rbac.decide(service_account("default", "web"), get) == (True, words)
    assert rbac.decide(service_account("default", "web"), get._replace(namespace="other")) == (False, "")
    assert rbac.decide(ADA, get._replace(verb="delete")) == (False, "")
    assert rbac.decide(ADMINISTRATOR, get._replace(verb="delete")) == (True, "")


def test_a_policy_asks_what_the_user_may_do() -> None:
    """Only who may delete nodes may make pods that tolerate everything."""
    cluster = Cluster.simulated(1)
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    expression = "authorizer.group('').resource('nodes').check('delete').allowed()"
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression}]}
    group = "admissionregistration.k8s.io/v1"
    bound = {"policyName": "a", "validationActions": ["Deny"]}
    policy = {"apiVersion": group, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "a"}, "spec": spec}
    cluster.apply([policy, {**policy, "kind": "ValidatingAdmissionPolicyBinding", "spec": bound}])
    container = {"name": "c", "image": "app"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
    with requested_by(ADA), pytest.raises(KitError, match="failed expression: authorizer"):
        cluster.apply(pod)
    cluster.apply([role("ClusterRole", "reader", "delete", resource="nodes")])
    cluster.apply(binding("ClusterRoleBinding", "all", {"kind": "User", "name": "ada"}))
    with requested_by(ADA):
        cluster.apply(pod)
    cluster.delete("Pod", "p")
    cluster.apply(pod)  # the administrator may do everything
