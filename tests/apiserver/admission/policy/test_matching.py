"""Which writes a policy is about: rules, scopes, names, selectors, exclusions."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.admissionregistration import MatchResources
from kitlib.api.core import Namespace
from kitlib.api.serialize import from_dict
from kitlib.apiserver.admission.attributes import CREATE, UPDATE, AdmissionAttributes
from kitlib.apiserver.admission.policy.matching import matches
from kitlib.apiserver.store.kinds import resource_of

POD = from_dict(
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "a", "labels": {"x": "1"}}}
)
BARE = from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "a"}})
NODE = from_dict({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
DEPLOYMENT = from_dict({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "a"}})
SPACE = from_dict(
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": {"team": "ours"}}}, Namespace
)
EVERY = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
PODS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}


def about(rule: dict[str, Any] | None, obj: Any = POD, **given: Any) -> bool:
    operation, subresource = given.pop("operation", CREATE), given.pop("subresource", "")
    old = given.pop("old", None)
    given = {"resourceRules": [rule] if rule else [], **given}
    attributes = AdmissionAttributes(operation, resource_of(obj), obj, old, subresource)
    return matches(from_dict(given, MatchResources), attributes, SPACE if obj.namespace else None)


@pytest.mark.parametrize(
    ("rule", "obj", "given", "expected"),
    [
        (PODS, POD, {}, True),
        (PODS, POD, {"operation": UPDATE}, False),
        (PODS, POD, {"subresource": "status"}, False),
        ({**PODS, "resources": ["pods/status"]}, POD, {"subresource": "status"}, True),
        ({**PODS, "resources": ["pods/status"]}, POD, {}, False),
        ({**PODS, "resources": ["pods/*"]}, POD, {}, True),
        ({**PODS, "resources": ["*/status"]}, POD, {"subresource": "status"}, True),
        (EVERY, POD, {"subresource": "status"}, False),
        ({**EVERY, "resources": ["*/*"]}, POD, {"subresource": "status"}, True),
        (PODS, DEPLOYMENT, {}, False),
        ({**PODS, "apiGroups": ["apps"], "resources": ["deployments"]}, DEPLOYMENT, {}, True),
        ({**PODS, "apiVersions": ["v2"]}, POD, {}, True),
        ({**PODS, "apiVersions": ["v2"]}, POD, {"matchPolicy": "Exact"}, False),
        ({**EVERY, "scope": "Cluster"}, POD, {}, False),
        ({**EVERY, "scope": "Cluster"}, NODE, {}, True),
        ({**EVERY, "scope": "Namespaced"}, NODE, {}, False),
        ({**EVERY, "scope": "*"}, NODE, {}, True),
        ({**PODS, "resourceNames": ["db"]}, POD, {}, False),
        ({**PODS, "resourceNames": ["db", "web"]}, POD, {}, True),
        (EVERY, POD, {"excludeResourceRules": [PODS]}, False),
        (EVERY, NODE, {"excludeResourceRules": [PODS]}, True),
        (None, POD, {}, True),
        (EVERY, POD, {"namespaceSelector": {"matchLabels": {"team": "ours"}}}, True),
        (EVERY, POD, {"namespaceSelector": {"matchLabels": {"team": "theirs"}}}, False),
        (EVERY, NODE, {"namespaceSelector": {"matchLabels": {"team": "theirs"}}}, True),
        (EVERY, SPACE, {"namespaceSelector": {"matchLabels": {"team": "theirs"}}}, False),
        (EVERY, POD, {"objectSelector": {"matchLabels": {"x": "1"}}}, True),
        (EVERY, BARE, {"objectSelector": {"matchLabels": {"x": "1"}}}, False),
        (EVERY, BARE, {"objectSelector": {"matchLabels": {"x": "1"}}, "old": POD, "operation": UPDATE}, True),
    ],
)
def test_a_rule_is_about_a_write(rule: Any, obj: Any, given: dict[str, Any], expected: bool) -> None:
    assert about(rule, obj, **given) is expected
