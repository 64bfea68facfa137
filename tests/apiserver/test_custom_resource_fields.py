"""What a custom object's schema does not have is dropped, missing fields get their default."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.apiserver.custom_resource_fields import fill, prune
from kitlib.apiserver.status import StatusError

KEEP = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TEXT = {"type": "string"}


def schema(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


PRUNED = [
    (schema(a=TEXT), {"a": "x", "b": {"c": 1}}, {"a": "x"}, ["b"]),
    (schema(), {"kind": "K", "apiVersion": "v", "metadata": {"labels": {}}}, None, []),
    (
        schema(a={"type": "array", "items": schema(b=TEXT)}),
        {"a": [{"b": "x", "c": 1}]},
        {"a": [{"b": "x"}]},
        ["a[0].c"],
    ),
    (schema(a={"type": "object", "additionalProperties": schema(b=TEXT)}), {"a": {"k": {"b": "x"}}}, None, []),
    (schema(a={"type": "object", "additionalProperties": TEXT}), {"a": {"any": "x"}}, None, []),
    (schema(a=KEEP), {"a": {"b": {"c": 1}}}, None, []),
    (
        schema(a={**KEEP, "properties": {"b": schema(c=TEXT)}}),
        {"a": {"b": {"c": "x", "d": 1}, "e": 2}},
        {"a": {"b": {"c": "x"}, "e": 2}},
        ["a.b.d"],
    ),
    (
        schema(a={**schema(spec=schema()), "x-kubernetes-embedded-resource": True}),
        {"a": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "other": 1}},
        {"a": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}},
        ["a.other"],
    ),
    ({}, {"a": 1}, None, []),
]


@pytest.mark.parametrize(("schema", "data", "kept", "dropped"), PRUNED)
def test_fields_that_the_schema_does_not_have_are_dropped(
    schema: dict[str, Any], data: dict[str, Any], kept: dict[str, Any] | None, dropped: list[str]
) -> None:
    expected = data.copy() if kept is None else kept
    assert prune(data, schema) == dropped
    assert data == expected


FILLED = [
    (schema(a={**TEXT, "default": "x"}), {}, {"a": "x"}),
    (schema(a={**TEXT, "default": "x"}), {"a": "y"}, {"a": "y"}),
    (schema(a={**TEXT, "default": "x"}), {"a": None}, {"a": "x"}),
    (schema(a={**TEXT, "default": "x", "nullable": True}), {"a": None}, {"a": None}),
    (schema(a=TEXT), {"a": None}, {}),
    (schema(a={**schema(b={"type": "integer", "default": 1}), "default": {}}), {}, {"a": {"b": 1}}),
    (schema(a=schema(b={"type": "integer", "default": 1})), {}, {}),
    (schema(a={"type": "array", "items": schema(b={**TEXT, "default": ""})}), {"a": [{}]}, {"a": [{"b": ""}]}),
    (
        schema(a={"type": "object", "additionalProperties": schema(b={**TEXT, "default": "x"})}),
        {"a": {"k": {}}},
        {"a": {"k": {"b": "x"}}},
    ),
    (schema(a={"type": "boolean", "default": False}), {}, {"a": False}),
]


@pytest.mark.parametrize(("schema", "data", "expected"), FILLED)
def test_missing_fields_get_their_default(
    schema: dict[str, Any], data: dict[str, Any], expected: dict[str, Any]
) -> None:
    fill(data, schema)
    assert data == expected


def test_two_objects_share_no_default() -> None:
    shape = schema(a={"type": "array", "items": TEXT, "default": ["x"]})
    one: dict[str, Any] = {}
    other: dict[str, Any] = {}
    fill(one, shape)
    fill(other, shape)
    one["a"].append("y")
    assert other == {"a": ["x"]}


def test_defaults_of_many_items_do_not_fill_the_memory() -> None:
    shape = schema(a={"type": "array", "items": schema(b={**TEXT, "default": "x" * 100_000})})
    with pytest.raises(StatusError, match="too large"):
        fill({"a": [{} for _ in range(10_000)]}, shape)
    shown: dict[str, Any] = {"a": [{} for _ in range(10_000)]}
    fill(shown, shape, refuse=False)
    assert len([one for one in shown["a"] if one]) == 31  # of 3 MiB


CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/example.com/v1/namespaces/default/things"


@pytest.fixture
def things(call: Any) -> Any:
    """A kind whose spec has `a`, and `size`, which is 3 where it is not given."""
    shape = schema(spec=schema(a=TEXT, size={"type": "integer", "default": 3}))
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": shape}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    made = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    assert call("POST", CRDS, {**made, "metadata": {"name": "things.example.com"}})[0] == 201
    return call


def thing(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": spec}


@pytest.mark.parametrize("mode", ["Strict", "Warn", "Ignore"])
def test_unknown_fields_of_a_custom_object_are_refused_or_dropped(things: Any, mode: str) -> None:
    code, made = things("POST", f"{THINGS}?fieldValidation={mode}", thing(a="y", b={"c": 1}, e=2))
    if mode == "Strict":
        assert code == 400
        assert made["message"] == (
            'Thing in version "v1" cannot be handled as a Thing: strict decoding error: '
            'unknown field "spec.b", unknown field "spec.e"'
        )
        assert things("GET", f"{THINGS}/x")[0] == 404
        return
    assert (code, made["spec"]) == (201, {"a": "y", "size": 3})
    fields = made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]
    assert "f:b" not in fields


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_changed_custom_object_has_its_defaults(things: Any, method: str) -> None:
    things("POST", THINGS, thing(a="y", size=5))
    if method == "PUT":
        body, headers = thing(a="z"), {}
    else:
        body, headers = {"spec": {"a": "z", "size": None, "b": 1}}, {"content_type": "application/merge-patch+json"}
    code, made = things(method, f"{THINGS}/x", body, **headers)
    assert (code, made.get("spec")) == (200, {"a": "z", "size": 3})


def test_an_applied_custom_object_has_its_defaults(things: Any) -> None:
    headers = {"content_type": "application/apply-patch+yaml"}
    url = f"{THINGS}/x?fieldManager=me&fieldValidation="
    code, made = things("PATCH", f"{url}Ignore", thing(a="y", b=1), **headers)
    assert (code, made.get("spec")) == (201, {"a": "y", "size": 3})
    assert list(made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]) == ["f:a"]
    assert things("PATCH", f"{url}Strict", thing(b=1), **headers)[0] == 400


def test_a_default_that_is_new_is_read_of_objects_stored_before(things: Any) -> None:
    things("POST", THINGS, thing(a="y"))
    assert things("GET", THINGS)[1]["items"][0]["spec"] == {"a": "y", "size": 3}
    definition = things("GET", f"{CRDS}/things.example.com")[1]
    fields = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    fields["late"] = {**TEXT, "default": "now"}
    assert things("PUT", f"{CRDS}/things.example.com", definition)[0] == 200
    wanted = {"a": "y", "size": 3, "late": "now"}
    assert things("GET", f"{THINGS}/x")[1]["spec"] == wanted
    assert things("GET", THINGS)[1]["items"][0]["spec"] == wanted
