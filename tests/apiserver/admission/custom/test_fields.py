"""What a custom object's schema does not have is dropped, missing fields get their default."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.apiserver.admission.custom.fields import fill, prune

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


@pytest.mark.thorough
def test_defaults_of_many_items_do_not_fill_the_memory() -> None:
    shape = schema(a={"type": "array", "items": schema(b={**TEXT, "default": "x" * 100_000})})
    shown: dict[str, Any] = {"a": [{} for _ in range(10_000)]}
    assert not fill(shown, shape)
    assert len([one for one in shown["a"] if one]) == 31  # of 3 MiB
