"""What the server says of a patch that does not fit the object's type, and which parts of one would be replaced."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.typed_patch import atomics, problems

SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "port": {"x-kubernetes-int-or-string": True},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "names": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "parts": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["id"],
                    "items": {"type": "object", "properties": {"id": {"type": "string"}}},
                },
                "plain": {"type": "array", "items": {"type": "string"}},
                "limits": {"type": "object", "additionalProperties": {"type": "string"}},
                "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}}},
            },
        }
    },
}


def deployment(spec: Any, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def pod(*containers: Any, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": list(containers), **spec}}


def custom(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"labels": {"a": "b"}}, "spec": spec}


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        (deployment({"replicas": 3, "selector": {"matchLabels": {"a": "b"}}, "paused": None}), ""),
        (deployment({"strategy": {"rollingUpdate": {"maxSurge": "10%", "maxUnavailable": 1}}}), ""),
        (pod({"name": "a", "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}), ""),
        (deployment({"replicasx": 1}), ".spec.replicasx: field not declared in schema"),
        (deployment({"replicas": "3"}), ".spec.replicas: expected numeric (int or float), got string"),
        (deployment({"paused": "y"}), ".spec.paused: expected boolean, got &{y}"),
        (deployment({"selector": 3}), ".spec.selector: expected map, got &{3}"),
        (deployment(["a"]), ".spec: expected map, got &{[a]}"),
        (deployment({"selector": {"none": 1}}), ".spec.selector.none: field not declared in schema"),
        (
            deployment({}, labels={"a": {"b": 1}}),
            '.metadata.labels.a: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"b":1}}',
        ),
        (deployment({}, labels=1), ".metadata.labels: expected map, got &{1}"),
        (deployment({}, finalizers=["a", "a"]), '.metadata.finalizers: duplicate entries for key [="a"]'),
        (
            deployment({}, finalizers=[None]),
            ".metadata.finalizers: element 0: associative list without keys has an element that's an explicit null",
        ),
        (pod(containers={}), ".spec.containers: expected list, got &{map[]}"),
        (
            pod({"image": "x"}),
            '.spec.containers: element 0: associative list with keys has an element that omits key field "name" (and '
            "doesn't have default value)",
        ),
        (pod("x"), ".spec.containers: element 0: associative list with keys may not have non-map elements"),
        (
            pod({"name": "a", "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP", "hostIP": 1}]}),
            'errors:\n  .spec.containers[name="a"].ports: duplicate entries for key [containerPort=80,protocol="TCP"]\n'
            '  .spec.containers[name="a"].ports[containerPort=80,protocol="TCP"].hostIP: expected string, got '
            "&value.valueUnstructured{Value:1}",
        ),
        (pod(tolerations=[{"key": True}]), None),
    ],
)
def test_a_patch_must_fit_the_type(patch: dict[str, Any], expected: str | None) -> None:
    wanted = ".spec.tolerations[0].key: expected string, got &value.valueUnstructured{Value:true}"
    assert problems(patch) == (wanted if expected is None else expected)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"size": 1, "port": "a", "free": {"x": [1]}, "names": ["a"], "parts": [{"id": "a"}], "limits": {"a": "b"}},
            "",
        ),
        ({"size": "1"}, ".spec.size: expected numeric (int or float), got string"),
        ({"none": 1}, ".spec.none: field not declared in schema"),
        ({"limits": {"a": 1}}, ".spec.limits.a: expected string, got &value.valueUnstructured{Value:1}"),
        ({"parts": [{"id": "a", "b": 1}]}, '.spec.parts[id="a"].b: field not declared in schema'),
    ],
)
def test_a_patch_of_a_custom_object_must_fit_its_schema(spec: dict[str, Any], expected: str) -> None:
    assert problems(custom(**spec), SCHEMA) == expected


def test_nothing_is_said_of_a_kind_without_a_known_type() -> None:
    assert problems(custom(anything=1)) == ""


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        (deployment({"replicas": 1, "template": {"metadata": {"labels": {"a": "b"}}}}, finalizers=["a"]), []),
        (pod({"name": "a", "env": [{"name": "b", "value": "c"}]}, volumes=[{"name": "v", "emptyDir": {}}]), []),
        (deployment({"selector": {"matchLabels": {"a": "b"}}}), [".spec.selector"]),
        (pod({"name": "a", "args": ["b"]}), [".spec.containers[0].args"]),
        (pod(nodeSelector={"a": "b"}), [".spec.nodeSelector"]),
        (pod(tolerations=[{"key": "a"}]), [".spec.tolerations"]),
        (pod(imagePullSecrets=[{"name": "a"}]), [".spec.imagePullSecrets[0]"]),
        (deployment({}, ownerReferences=[{"uid": "a"}]), [".metadata.ownerReferences[0]"]),
    ],
)
def test_what_would_be_replaced_as_a_whole(patch: dict[str, Any], expected: list[str]) -> None:
    assert atomics(patch) == expected


def test_what_would_be_replaced_of_a_custom_object() -> None:
    patch = custom(names=["a"], parts=[{"id": "a"}], plain=["a"], limits={"a": "b"}, whole={"a": "b"})
    assert atomics(patch, SCHEMA) == [".spec.plain", ".spec.whole"]
