"""Which schemas and changes of a CustomResourceDefinition are refused."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.apiextensions import CustomResourceDefinition
from kitlib.api.meta import Condition
from kitlib.api.serialize import from_dict
from kitlib.apiserver.validation.custom_resource_definition import (
    validate_custom_resource_definition,
    validate_custom_resource_definition_update,
)


def definition(schema: dict[str, Any] | None = None, **spec: Any) -> CustomResourceDefinition:
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", **(schema or {})}},
    }
    made = {"group": "x.example", "scope": "Namespaced", "names": names, "versions": [version], **spec}
    found = from_dict(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.x.example"},
            "spec": made,
        }
    )
    assert isinstance(found, CustomResourceDefinition)
    return found


A = {"a": {"type": "string"}}


LIST: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
MAPPED: dict[str, Any] = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["a"],
    "items": {"type": "object", "required": ["a"], "properties": A},
}
ROOT = "spec.validation.openAPIV3Schema"
PART = f"{ROOT}.properties[p]"
KEY = "this property is in x-kubernetes-list-map-keys, so it"
BELOW: dict[str, tuple[dict[str, Any], list[str]]] = {
    "fields and any other": ({"type": "object", "properties": A, "additionalProperties": True}, []),
    "no fields and others": (
        {"type": "object", "properties": {}, "additionalProperties": {"type": "string"}},
        [],
    ),
    "fields and no other": (
        {"type": "object", "properties": A, "additionalProperties": False},
        ["additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
    ),
    "fields and others": (
        {"type": "object", "properties": A, "additionalProperties": {"type": "string"}},
        ["additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
    ),
    "unique items": (
        {**LIST, "uniqueItems": True},
        ["uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"],
    ),
    "items that need not be unique": ({**LIST, "uniqueItems": False}, []),
    "a reference": ({"$ref": "#/x"}, ["$ref: Forbidden: $ref is not supported"]),
    "patterns of names": (
        {"type": "object", "patternProperties": {"a": {"type": "string"}}},
        ["patternProperties: Forbidden: patternProperties is not supported"],
    ),
    "definitions": (
        {"type": "object", "definitions": {"a": {"type": "string"}}},
        ["definitions: Forbidden: definitions is not supported"],
    ),
    "no type": ({}, ["type: Required value: must not be empty for specified object fields"]),
    "no type of items": (
        {"type": "array", "items": {}},
        ["items.type: Required value: must not be empty for specified array items"],
    ),
    "no items": ({"type": "array"}, ["items: Required value: must be specified"]),
    "several items": (
        {"type": "array", "items": [{"type": "string"}]},
        ["items: Forbidden: items must be a schema object and not an array"],
    ),
    "the type null": (
        {"type": "null"},
        [
            'type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", '
            '"string"',
            "type: Forbidden: type cannot be set to null, use nullable as an alternative",
        ],
    ),
    "number or text": ({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}, []),
    "number or text, and more": (
        {
            "x-kubernetes-int-or-string": True,
            "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"pattern": "a"}],
        },
        [],
    ),
    "number or text that keeps what it does not know": (
        {"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True},
        [
            "x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string "
            "is true"
        ],
    ),
    "keeping that is false": (
        {"type": "object", "x-kubernetes-preserve-unknown-fields": False},
        ["x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"],
    ),
    "a type inside anyOf": (
        {"type": "integer", "anyOf": [{"type": "integer"}]},
        ["anyOf[0].type: Forbidden: must be empty to be structural"],
    ),
    "a description inside not": (
        {"type": "integer", "not": {"description": "d", "minimum": 1}},
        ["not.description: Forbidden: must be empty to be structural"],
    ),
    "a field only inside allOf": (
        {"type": "object", "properties": A, "allOf": [{"properties": {"b": {"minimum": 1}}}]},
        [f"properties[b]: Required value: because it is defined in {PART}.allOf[0].properties[b]"],
    ),
    "an object inside that is none": (
        {"type": "string", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        ['type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true'],
    ),
    "an object inside without fields": (
        {"type": "object", "x-kubernetes-embedded-resource": True},
        [
            "properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields"
        ],
    ),
    "a list by keys": (MAPPED, []),
    "a list by keys without keys": (
        {**MAPPED, "x-kubernetes-list-map-keys": []},
        ["x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map"],
    ),
    "keys of a set": (
        {**LIST, "x-kubernetes-list-type": "set", "x-kubernetes-list-map-keys": ["a"]},
        ['x-kubernetes-list-type: Invalid value: "set": must be map if x-kubernetes-list-map-keys is non-empty'],
    ),
    "a key that is no field": (
        {**MAPPED, "x-kubernetes-list-map-keys": ["b"]},
        [
            'x-kubernetes-list-map-keys: Invalid value: ["b"]: entries must all be names of item properties',
        ],
    ),
    "a key twice": (
        {**MAPPED, "x-kubernetes-list-map-keys": ["a", "a"]},
        ['x-kubernetes-list-map-keys: Invalid value: ["a","a"]: must not contain duplicate entries'],
    ),
    "a key that may be left out": (
        {**MAPPED, "items": {"type": "object", "properties": A}},
        [f"items.properties[a].default: Required value: {KEY} must have a default or be a required property"],
    ),
    "a key that may be null": (
        {
            **MAPPED,
            "items": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "nullable": True}}},
        },
        [f"items.properties[a].nullable: Forbidden: {KEY} cannot be nullable"],
    ),
    "a list type of an object": (
        {"type": "object", "x-kubernetes-list-type": "atomic"},
        ['type: Invalid value: "object": must be array if x-kubernetes-list-type is specified'],
    ),
    "an unknown list type": (
        {**LIST, "x-kubernetes-list-type": "bag"},
        ['x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"'],
    ),
    "an unknown map type": (
        {"type": "object", "x-kubernetes-map-type": "set"},
        ['x-kubernetes-map-type: Unsupported value: "set": supported values: "atomic", "granular"'],
    ),
    "a set of objects": (
        {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}},
        [
            'items.x-kubernetes-map-type: Invalid value: "null": must be atomic as item of a list with '
            "x-kubernetes-list-type=set"
        ],
    ),
    "a rule that says nothing": (
        {"type": "object", "x-kubernetes-validations": [{"rule": " "}]},
        ["x-kubernetes-validations[0].rule: Required value: rule is not specified"],
    ),
}


@pytest.mark.parametrize(("schema", "expected"), BELOW.values(), ids=BELOW.keys())
def test_schemas(schema: dict[str, Any], expected: list[str]) -> None:
    found = validate_custom_resource_definition(definition({"properties": {"p": schema}}))
    assert [str(one) for one in found] == [f"{PART}.{text}" for text in expected]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (
            {"additionalProperties": {"type": "string"}},
            ".additionalProperties: Forbidden: must not be used at the root",
        ),
        ({"type": "array", "items": {"type": "string"}}, '.type: Invalid value: "array": must be object at the root'),
        ({"nullable": True}, ".nullable: Forbidden: nullable cannot be true at the root"),
        (
            {"properties": {"kind": {"type": "integer"}}},
            '.properties[kind].type: Invalid value: "integer": must be string',
        ),
        (
            {"properties": {"metadata": {"type": "object", "default": {"name": "a"}}}},
            ".properties[metadata].default: Forbidden: must not be set in top-level metadata",
        ),
        (
            {"properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}},
            ".properties[metadata]: Forbidden: must not specify anything other than name and generateName, but "
            "metadata is implicitly specified",
        ),
    ],
)
def test_roots(schema: dict[str, Any], expected: str) -> None:
    found = validate_custom_resource_definition(definition(schema))
    assert [str(one) for one in found] == [f"{ROOT}{expected}"]


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("^[a-z]+$", None),
        ("+", "missing argument to repetition operator: `+`"),
        ("(a", "missing closing ): `(a`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("a**", "invalid nested repetition operator: `**`"),
    ],
)
def test_a_pattern_must_be_one_of_re2(pattern: str, problem: str | None) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}
    words = f"must be a valid regular expression, but isn't: error parsing regexp: {problem}"
    expected = [f'{ROOT}.properties[a].pattern: Invalid value: "{pattern}": {words}'] if problem else []
    assert [str(one) for one in validate_custom_resource_definition(definition(schema))] == expected


@pytest.mark.parametrize("established", [False, True])
def test_scope_and_kind_stay_once_it_is_established(established: bool) -> None:
    old = definition()
    old.status.conditions = [Condition(type="Established", status=str(established))]
    names = {"plural": "things", "singular": "thing", "kind": "Other", "listKind": "OtherList"}
    found = [
        str(one) for one in validate_custom_resource_definition_update(definition(scope="Cluster", names=names), old)
    ]
    assert sum("field is immutable" in one for one in found) == (2 if established else 0), found
