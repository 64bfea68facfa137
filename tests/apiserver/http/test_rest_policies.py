"""Mutating policies over HTTP: custom objects are completed and checked after them, and whose a field is."""

from __future__ import annotations

from typing import Any

import pytest

GROUP = "admissionregistration.k8s.io/v1"
POLICIES = f"/apis/{GROUP}/mutatingadmissionpolicies"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/example.com/v1/namespaces/default/things"
PODS = "/api/v1/namespaces/default/pods"
RULE = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["things", "pods"]}


@pytest.fixture
def mutated(call: Any) -> Any:
    """Binds a policy of one apply configuration."""

    def bind(expression: str) -> Any:
        mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
        constraints = {"resourceRules": [RULE]}
        spec = {"matchConstraints": constraints, "reinvocationPolicy": "Never", "mutations": [mutation]}
        made = {"apiVersion": GROUP, "kind": "MutatingAdmissionPolicy", "metadata": {"name": "p"}, "spec": spec}
        assert call("POST", POLICIES, made)[0] == 201
        bound = {**made, "kind": "MutatingAdmissionPolicyBinding", "spec": {"policyName": "p"}}
        assert call("POST", f"/apis/{GROUP}/mutatingadmissionpolicybindings", bound)[0] == 201
        return call

    return bind


def define(call: Any) -> None:
    """A kind with parts that have a size from 1 to 9, which is 3 where it is not given."""
    size = {"type": "integer", "default": 3, "minimum": 1, "maximum": 9}
    part = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}, "size": size}}
    keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"]}
    spec = {"type": "object", "properties": {"parts": {"type": "array", **keys, "items": part}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    made = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    assert call("POST", CRDS, {**head, "metadata": {"name": "things.example.com"}, "spec": made})[0] == 201


THING = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": {}}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "x"},
    "spec": {"containers": [{"name": "a", "image": "a"}]},
}


def test_a_custom_object_has_its_defaults_after_a_mutation(mutated: Any) -> None:
    call = mutated("Object{spec: Object.spec{parts: [Object.spec.parts{id: 'a'}]}}")
    define(call)
    code, made = call("POST", THINGS, THING)
    assert (code, made["spec"]) == (201, {"parts": [{"id": "a", "size": 3}]})


def test_a_mutation_may_not_make_what_the_schema_refuses(mutated: Any) -> None:
    call = mutated("Object{spec: Object.spec{parts: [Object.spec.parts{id: 'a', size: 10}]}}")
    define(call)
    code, made = call("POST", THINGS, THING)
    assert code == 422
    assert made["message"].endswith("spec.parts[0].size in body should be less than or equal to 9")
    assert call("GET", f"{THINGS}/x")[0] == 404


def test_what_a_policy_sets_has_no_owner(mutated: Any) -> None:
    call = mutated("Object{metadata: Object.metadata{labels: {'by': 'policy'}}}")
    code, made = call("POST", PODS, POD)
    assert (code, made["metadata"]["labels"]) == (201, {"by": "policy"})
    assert "f:metadata" not in made["metadata"]["managedFields"][0]["fieldsV1"]


def test_a_failure_is_a_status_with_code_403_and_a_cause(mutated: Any) -> None:
    call = mutated("Object{spec: Object.spec{priority: object.none}}")
    code, made = call("POST", PODS, POD)
    words = "policy 'p' with binding 'p' denied request: expression 'Object{spec: Object.spec{priority: object.none}}' "
    words += "resulted in error: no such key: none"
    assert (code, made["code"], made["reason"], made["message"]) == (403, 403, "Invalid", words)
    assert made["details"] == {"name": "x", "kind": "pods", "causes": [{"message": words}]}
