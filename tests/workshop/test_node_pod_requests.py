"""The policies for requests about a node pod that exists: update, deletion, subresources."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.meta import SERVER_WRITTEN
from kitlib.node.kubernetes.manifest import GRACE
from tests.workshop.test_node_pod_policy import NAMESPACE, PODS, changed, evaluate


def policy(name: str) -> list[tuple[str, str]]:
    found = next(one for one in NAMESPACE.manifests() if one["metadata"]["name"] == f"kitlib-nodes-{name}")
    return [(one["expression"], one["message"]) for one in found["spec"]["validations"]]


LEARNER = {"username": "ada", "groups": ["system:authenticated"]}
KUBELET = {"username": "system:node:n", "groups": ["system:nodes", "system:authenticated"]}
ADMINISTRATOR = {"username": "root", "groups": ["system:masters", "system:authenticated"]}


@pytest.mark.parametrize(
    ("path", "value", "learner", "kubelet"),
    [
        (("metadata", "resourceVersion"), "2", True, True),
        (("metadata", "managedFields"), [{"manager": "m"}], True, True),
        (("metadata", "generation"), 2, True, True),
        *((("metadata", field), "x", True, True) for field in SERVER_WRITTEN),
        (("metadata", "generateName"), "x", False, True),
        (("metadata", "labels"), {}, False, True),
        (("metadata", "ownerReferences"), [], False, True),
        (("metadata", "a-later-field"), "x", False, True),
        (("spec", "aLaterField"), "x", False, True),
        (("metadata", "annotations", "cni.example/address"), "10.1.0.1", False, True),
        (("metadata", "finalizers"), ["x"], False, True),
        (("spec", "activeDeadlineSeconds"), 1, False, True),
        (("spec", "containers", 0, "image"), "busybox", False, False),
    ],
)
def test_an_update_by_a_learner_changes_nothing(path: Any, value: Any, learner: bool, kubelet: bool) -> None:
    old = PODS["a node"]
    for user, expected in ((LEARNER, learner), (KUBELET, kubelet)):
        variables = {"object": changed(old, path, value), "oldObject": old, "request": {"userInfo": user}}
        assert all(evaluate(text, **variables) is True for text, _ in policy("update")) is expected


@pytest.mark.parametrize(
    ("options", "passes"),
    [
        ({}, True),
        ({"gracePeriodSeconds": 0}, True),
        ({"gracePeriodSeconds": GRACE}, True),
        ({"gracePeriodSeconds": -1}, True),  # one second to the server
        ({"gracePeriodSeconds": GRACE + 1}, False),
        ({"gracePeriodSeconds": 2**63 - 1}, False),
    ],
)
def test_a_deletion_does_not_prolong_a_life(options: dict[str, Any], passes: bool) -> None:
    options = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", **options}
    for user, expected in ((LEARNER, passes), (KUBELET, True), (ADMINISTRATOR, True)):
        variables = {"object": None, "oldObject": PODS["a node"], "request": {"userInfo": user, "options": options}}
        assert all(evaluate(text, **variables) is True for text, _ in policy("delete")) is expected


@pytest.mark.parametrize(
    ("subresource", "options", "passes"),
    [
        ("attach", {"kind": "PodAttachOptions", "stdin": True, "stdout": True, "container": "node"}, True),
        ("attach", {"kind": "PodAttachOptions", "stdin": True, "tty": True, "container": "node"}, False),
        ("attach", {"kind": "PodAttachOptions", "container": "debugger"}, False),
        ("exec", {"kind": "PodExecOptions", "container": "node", "command": ["sh"]}, False),
        ("portforward", {"kind": "PodPortForwardOptions", "ports": [80]}, False),
        ("proxy", {"kind": "PodProxyOptions", "path": "/"}, False),
    ],
)
def test_a_node_pod_is_reached_by_attach_only(subresource: str, options: Any, passes: bool) -> None:
    for user, expected in ((LEARNER, passes), (ADMINISTRATOR, True)):
        variables = {"object": options, "request": {"userInfo": user, "subResource": subresource}}
        assert all(evaluate(text, **variables) is True for text, _ in policy("subresources")) is expected


SCHEDULER = {"username": "system:kube-scheduler", "groups": ["system:authenticated"]}


@pytest.mark.parametrize(
    ("part", "users"),
    [
        *((one, [ADMINISTRATOR]) for one in ("ephemeralcontainers", "resize", "a-later-one")),
        *((one, [ADMINISTRATOR, SCHEDULER, KUBELET]) for one in ("binding", "status")),
    ],
)
def test_other_subresources_are_closed_to_learners(part: str, users: list[Any]) -> None:
    for user in (LEARNER, KUBELET, SCHEDULER, ADMINISTRATOR):
        variables = {"object": {"kind": "Pod"}, "request": {"userInfo": user, "subResource": part}}
        assert all(evaluate(text, **variables) is True for text, _ in policy("subresources")) is (user in users)


def test_the_older_kind_of_binding_has_no_subresource() -> None:
    for user, expected in ((LEARNER, False), (SCHEDULER, True)):
        variables = {"object": {"kind": "Binding"}, "request": {"userInfo": user}}
        assert all(evaluate(text, **variables) is True for text, _ in policy("subresources")) is expected


@pytest.mark.parametrize(
    ("options", "passes"),
    [(None, True), ({}, True), ({"gracePeriodSeconds": GRACE}, True), ({"gracePeriodSeconds": 999_999}, False)],
)
def test_an_eviction_does_not_prolong_a_life(options: Any, passes: bool) -> None:
    eviction = {"kind": "Eviction", **({} if options is None else {"deleteOptions": options})}
    for user, expected in ((LEARNER, passes), (SCHEDULER, True), (ADMINISTRATOR, True)):
        variables = {"object": eviction, "request": {"userInfo": user, "subResource": "eviction"}}
        assert all(evaluate(text, **variables) is True for text, _ in policy("subresources")) is expected


def test_the_condition_excludes_the_pod_itself() -> None:
    found = next(one for one in NAMESPACE.manifests() if one["metadata"]["name"] == "kitlib-nodes-subresources")
    (condition,) = found["spec"]["matchConditions"]
    for resource, below, expected in (("pods", "status", True), ("pods", "", False), ("bindings", "", True)):
        request = {"resource": {"resource": resource}}
        assert evaluate(condition["expression"], request={**request, "subResource": below}) is expected
        assert below or evaluate(condition["expression"], request=request) is expected
