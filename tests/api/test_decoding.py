"""The API server's messages for manifests that it cannot decode, in the words of Go's JSON decoder."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api import decoding
from kitlib.api.batch import Job
from kitlib.api.coordination import Lease
from kitlib.api.core import ConfigMap, Pod, Secret, Service
from kitlib.api.decoding import Members
from kitlib.api.meta import KubeStruct
from kitlib.api.numbers import Int32, Int64
from kitlib.api.resource import Quantity


def container(**fields: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", **fields}]}}


WRONG = "json: cannot unmarshal {} into Go struct field {} of type {}"


@pytest.mark.parametrize(
    ("data", "type_", "text", "path"),
    [
        ({"metadata": {"name": 5}}, Pod, WRONG.format("number", "ObjectMeta.metadata.name", "string"), "metadata.name"),
        ({"metadata": []}, Pod, WRONG.format("array", "Pod.metadata", "v1.ObjectMeta"), "metadata"),
        ({"spec": "x"}, Pod, WRONG.format("string", "Pod.spec", "v1.PodSpec"), "spec"),
        (
            {"spec": {"hostNetwork": "true"}},
            Pod,
            WRONG.format("string", "PodSpec.spec.hostNetwork", "bool"),
            "spec.hostNetwork",
        ),
        (
            {"spec": {"priority": 2**31}},
            Pod,
            WRONG.format(f"number {2**31}", "PodSpec.spec.priority", "int32"),
            "spec.priority",
        ),
        (
            {"spec": {"priority": 1.5}},
            Pod,
            WRONG.format("number 1.5", "PodSpec.spec.priority", "int32"),
            "spec.priority",
        ),
        (
            {"spec": {"activeDeadlineSeconds": True}},
            Pod,
            WRONG.format("bool", "PodSpec.spec.activeDeadlineSeconds", "int64"),
            "spec.activeDeadlineSeconds",
        ),
        (
            container(args="a"),
            Pod,
            WRONG.format("string", "Container.spec.containers.args", "[]string"),
            "spec.containers[0].args",
        ),
        (
            container(args=["a", {}]),
            Pod,
            WRONG.format("object", "Container.spec.containers.args", "string"),
            "spec.containers[0].args[1]",
        ),
        (
            {"spec": {"restartPolicy": 1}},
            Pod,
            WRONG.format("number", "PodSpec.spec.restartPolicy", "v1.RestartPolicy"),
            "spec.restartPolicy",
        ),
        ({"data": {"a": 1}}, ConfigMap, WRONG.format("number", "ConfigMap.data", "string"), "data[a]"),
        ({"data": "x"}, ConfigMap, WRONG.format("string", "ConfigMap.data", "map[string]string"), "data"),
        (
            container(resources={"limits": 3}),
            Pod,
            WRONG.format("number", "ResourceRequirements.spec.containers.resources.limits", "v1.ResourceList"),
            "spec.containers[0].resources.limits",
        ),
        (
            container(resources={"limits": {"cpu": "1x"}}),
            Pod,
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            "spec.containers[0].resources.limits[cpu]",
        ),
        (
            {"spec": {"ports": [{"targetPort": 1.5}]}},
            Service,
            WRONG.format("number 1.5", "ServicePort.spec.ports.targetPort", "int32"),
            "spec.ports[0].targetPort",
        ),
        (
            {"spec": {"ports": [{"targetPort": False}]}},
            Service,
            WRONG.format("bool", "ServicePort.spec.ports.targetPort", "int32"),
            "spec.ports[0].targetPort",
        ),
        ({"data": {"a": 1}}, Secret, WRONG.format("number", "Secret.data", "[]uint8"), "data[a]"),
        ({"data": {"a": "YQ="}}, Secret, "illegal base64 data at input byte 3", "data[a]"),
        ({"data": {"a": "Y!=="}}, Secret, "illegal base64 data at input byte 1", "data[a]"),
        ({"data": {"a": "YWJjZ"}}, Secret, "illegal base64 data at input byte 4", "data[a]"),
        ({"data": {"a": [1, 256]}}, Secret, WRONG.format("number 256", "Secret.data", "uint8"), "data[a][1]"),
        (
            {"metadata": {"creationTimestamp": 5}},
            Pod,
            WRONG.format("number", "ObjectMeta.metadata.creationTimestamp", "string"),
            "metadata.creationTimestamp",
        ),
        (
            {"spec": {"podFailurePolicy": {"rules": [{"action": 1}]}}},
            Job,
            WRONG.format(
                "number", "PodFailurePolicyRule.spec.podFailurePolicy.rules.action", "v1.PodFailurePolicyAction"
            ),
            "spec.podFailurePolicy.rules[0].action",
        ),
    ],
)
def test_a_value_of_a_wrong_type(data: Any, type_: type[KubeStruct], text: str, path: str) -> None:
    """Source: UnmarshalTypeError.Error: the struct that has the field, and the path without indices."""
    found = decoding.type_problem(data, type_)
    assert found is not None
    assert (found.text, decoding.field_path(found.path)) == (text, path)


@pytest.mark.parametrize(
    ("data", "type_"),
    [
        ({"metadata": {"name": None}, "spec": None}, Pod),
        ({"spec": {"priority": 2**31 - 1}}, Pod),
        ({"spec": {"priority": -(2**31)}}, Pod),
        ({"spec": {"activeDeadlineSeconds": 2**63 - 1}}, Pod),
        (container(resources={"limits": {"cpu": 1, "memory": 0.5}}), Pod),
        ({"spec": {"ports": [{"targetPort": "a"}, {"targetPort": 5}]}}, Service),
        ({"data": {"a": "YQ==", "b": "YW\nJj", "c": [0, 255], "d": ""}}, Secret),
        ({"spec": {"other": 5}}, Pod),
        ({"spec": {"renewTime": "2024-01-01T00:00:00.000000Z"}}, Lease),
    ],
)
def test_values_that_fit(data: Any, type_: type[KubeStruct]) -> None:
    assert decoding.type_problem(data, type_) is None


def test_an_error_of_a_types_own_decoder_ends_decoding() -> None:
    """Go's decoder keeps the first wrong type and goes on, until an UnmarshalJSON method fails."""
    wrong: dict[str, Any] = {
        "metadata": {"name": 5},
        "spec": {"hostNetwork": 1, "overhead": {"cpu": "x"}, "hostPID": 1},
    }
    found = decoding.type_problem(wrong, Pod)
    assert found is not None and decoding.field_path(found.path) == "spec.overhead[cpu]"
    del wrong["spec"]["overhead"]
    first = decoding.type_problem(wrong, Pod)
    assert first is not None and decoding.field_path(first.path) == "metadata.name"


def test_the_whole_message() -> None:
    """Source: transformDecodeError."""
    assert decoding.cannot_be_handled("apps/v1", "Deployment", "x") == (
        'Deployment in version "v1" cannot be handled as a Deployment: x'
    )
    assert decoding.cannot_be_handled("v1", "Pod", "x").startswith('Pod in version "v1" ')


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("a",), "a"),
        (("a", 0, "b"), "a[0].b"),
        (("a", "[k.x]", "b"), "a[k.x].b"),
        ((0, 1), "[0][1]"),
    ],
)
def test_a_path_as_text(path: tuple[str | int, ...], text: str) -> None:
    assert decoding.field_path(path) == text


def test_unknown_fields_in_the_order_of_the_text() -> None:
    data = {"x": {"y": 1}, "spec": {"b": 1, "containers": [{"a": 1}, {"name": "c", "env": [{"z": 1}]}]}, "a": 1}
    paths = ["x", "spec.b", "spec.containers[0].a", "spec.containers[1].env[0].z", "a"]
    assert decoding.unknown_fields(data, Pod) == paths
    found = decoding.strict_problem(data, Pod)
    assert found is not None
    assert found.text == "strict decoding error: " + ", ".join(f'unknown field "{path}"' for path in paths)
    assert found.path == ("x",)
    assert decoding.strict_problem({"spec": {"nodeSelector": {"any": "x"}}}, Pod) is None


def test_duplicate_fields_are_found_beside_unknown_ones() -> None:
    """Source: saveStrictError: each message once; the value of a duplicate is read too."""
    meta = Members([("name", "a"), ("name", "b"), ("labels", Members([("k", "v"), ("k", "w")])), ("odd", 1)])
    data = Members([("metadata", meta), ("spec", {"nope": 1}), ("spec", {"nope": 2})])
    assert decoding.strict_errors(data, Pod) == [
        'duplicate field "metadata.name"',
        'duplicate field "metadata.labels.k"',
        'unknown field "metadata.odd"',
        'unknown field "spec.nope"',
        'duplicate field "spec"',
    ]
    assert data["spec"] == {"nope": 2}


def test_at_most_100_strict_errors_are_reported() -> None:
    data = {f"f{i}": 1 for i in range(101)}
    assert len(decoding.strict_errors(data, Pod)) == 100
    found = decoding.strict_problem(data, Pod)
    assert found is not None and found.text.count("unknown field") == 100


@pytest.mark.parametrize(
    ("hint", "named", "text"),
    [
        (str, "", "string"),
        (str | None, "", "string"),
        (str, "v1.Protocol", "v1.Protocol"),
        (list[str], "v1.Capability", "[]v1.Capability"),
        (list[list[str]], "", "[][]string"),
        (dict[str, str], "", "map[string]string"),
        (dict[str, Quantity], "", "v1.ResourceList"),
        (Int32, "", "int32"),
        (Int64 | None, "", "int64"),
        (int, "", "int64"),
        (float, "", "float64"),
        (bool, "", "bool"),
        (bytes, "", "[]uint8"),
        (Quantity, "", "resource.Quantity"),
        (Pod, "", "v1.Pod"),
        (list[Pod], "", "[]v1.Pod"),
        (Any, "", "interface {}"),
    ],
)
def test_the_go_name_of_a_type(hint: Any, named: str, text: str) -> None:
    assert decoding.go_type(hint, named) == text
