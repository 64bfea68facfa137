"""Schemas of CustomResourceDefinitions: keywords of OpenAPI, defaults in metadata, the merging of lists and maps."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.apiserver.validation.custom_resource_schema import validate_schema
from kitlib.apiserver.validation.custom_resource_structural import EMBEDDED, KEEP, KEYS, LIST, MAP, RULES
from tests.apiserver.validation.told import told

TEXT: dict[str, Any] = {"type": "string"}
ROW: dict[str, Any] = {"type": "object", "properties": {"k": TEXT, "l": TEXT}, "required": ["k", "l"]}


def root(**schema: Any) -> list[str]:
    """Return the errors of an object's schema, without `s.`."""
    return [text.removeprefix("s.") for text in told(validate_schema({"type": "object", **schema}, "s"))]


def of_field(**schema: Any) -> list[str]:
    """Return the errors of the field `a`, without its path."""
    return [text.removeprefix("properties[a].") for text in root(properties={"a": schema})]


def test_only_the_root_is_never_null() -> None:
    """Source: validateCustomResourceDefinitionValidation."""
    assert root(nullable=True) == ["nullable Forbidden nullable cannot be true at the root"]
    assert root(nullable=False) == []
    assert of_field(**TEXT, nullable=True) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", "x"),
        ("additionalItems", True),
        ("patternProperties", {"a": TEXT}),
        ("definitions", {"a": TEXT}),
        ("dependencies", {"a": ["b"]}),
        ("$ref", "x"),
    ],
)
def test_a_keyword_that_is_not_supported(name: str, value: Any) -> None:
    """A schema with one has no structural form, so that nothing else is said about its structure.

    Source: specStandardValidatorV3.validate, NewStructural.
    """
    assert of_field(**TEXT, **{name: value}) == [f"{name} Forbidden {name} is not supported"]
    assert of_field(**{name: value}) == [f"{name} Forbidden {name} is not supported"]


def test_keywords_are_checked_in_order() -> None:
    schema = {
        "$ref": "x",
        "dependencies": {"a": ["b"]},
        "definitions": {"a": TEXT},
        "patternProperties": {"a": TEXT},
        "additionalItems": True,
        "id": "x",
        "type": "x",
        "uniqueItems": True,
    }
    assert [text.split()[0] for text in of_field(**schema)] == [
        "type",
        "id",
        "additionalItems",
        "patternProperties",
        "definitions",
        "dependencies",
        "$ref",
        "uniqueItems",
    ]


TYPES = 'type NotSupported supported values: "array", "boolean", "integer", "number", "object", "string"'


@pytest.mark.parametrize("kind", ["boolean", "integer", "number", "object", "string"])
def test_types(kind: str) -> None:
    assert of_field(type=kind) == []


def test_an_unknown_type() -> None:
    assert of_field(type="x") == [TYPES]
    null = "type Forbidden type cannot be set to null, use nullable as an alternative"
    assert of_field(type="null") == [TYPES, null]


def test_items_are_one_schema() -> None:
    assert of_field(type="array", items=TEXT) == []
    assert of_field(type="array", items=[TEXT]) == ["items Forbidden items must be a schema object and not an array"]


def test_items_are_not_compared_with_each_other() -> None:
    why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
    assert of_field(type="array", items=TEXT, uniqueItems=True) == [f"uniqueItems Forbidden {why}"]
    assert of_field(type="array", items=TEXT, uniqueItems=False) == []


@pytest.mark.parametrize(
    ("more", "properties", "valid"),
    [
        (TEXT, {"b": TEXT}, False),
        (False, {"b": TEXT}, False),
        (True, {"b": TEXT}, True),
        (TEXT, {}, True),
        (False, {}, True),
    ],
)
def test_fields_and_additional_fields_exclude_each_other(more: Any, properties: Any, valid: bool) -> None:
    """Source: ValidateCustomResourceDefinitionOpenAPISchema."""
    why = "additionalProperties and properties are mutual exclusive"
    found = of_field(type="object", properties=properties, additionalProperties=more)
    assert found == ([] if valid else [f"additionalProperties Forbidden {why}"])


def test_unknown_fields_are_kept_or_pruned_by_default() -> None:
    assert of_field(**TEXT, **{KEEP: True}) == []
    assert of_field(**TEXT, **{KEEP: False}) == [f"{KEEP} Invalid must be true or undefined"]


DEFAULT = {**TEXT, "default": "x"}


@pytest.mark.parametrize("name", ["metadata", "kind", "apiVersion"])
def test_the_fields_of_every_object_have_no_default(name: str) -> None:
    kind = {"type": "object", "default": {}} if name == "metadata" else DEFAULT
    why = f"default Forbidden must not be set in top-level {name}"
    assert root(properties={name: kind}) == [f"properties[{name}].{why}"]
    assert of_field(type="object", properties={name: kind}) == []
    assert of_field(type="object", properties={name: kind}, **{EMBEDDED: True}) == []


def test_defaults_below_the_metadata_of_an_object() -> None:
    metadata = {"type": "object", "properties": {"name": DEFAULT}}
    why = "default Forbidden must not be set in top-level metadata"
    assert root(properties={"metadata": metadata}) == [f"properties[metadata].properties[name].{why}"]
    assert root(properties={"spec": metadata}) == []


def test_defaults_of_labels_are_ambiguous() -> None:
    """Source: withForbiddenDefaults of additionalProperties inside metadata."""
    labels = {"type": "object", "additionalProperties": DEFAULT}
    metadata = {"type": "object", "properties": {"labels": labels}}
    why = "default Forbidden must not be set inside additionalProperties applying to object metadata"
    place = "properties[metadata].properties[labels].additionalProperties"
    assert of_field(type="object", properties={"metadata": metadata}, **{EMBEDDED: True}) == [f"{place}.{why}"]
    assert of_field(type="object", properties={"metadata": metadata}) == []
    assert f"{place}.{why}" in root(properties={"metadata": metadata})


def test_metadata_embeds_no_resource() -> None:
    inner = {"type": "object", EMBEDDED: True, "properties": {"b": TEXT}}
    metadata = {"type": "object", "properties": {"x": inner}}
    why = f"{EMBEDDED} Forbidden must not be used inside of resource meta"
    outer = {"type": "object", EMBEDDED: True, "properties": {"metadata": metadata}}
    assert of_field(**outer) == [f"properties[metadata].properties[x].{why}"]
    assert of_field(type="object", properties={"metadata": metadata}) == []
    assert f"properties[metadata].properties[x].{why}" in root(properties={"metadata": metadata})


@pytest.mark.parametrize("name", ["not", "allOf", "oneOf", "anyOf", "items", "additionalProperties", "properties"])
def test_every_part_is_checked(name: str) -> None:
    part = {**TEXT, "uniqueItems": True, "id": "x"}
    place, value = {
        "properties": ("properties[b]", {"b": part}),
        **{name: (f"{name}[0]", [part]) for name in ("allOf", "oneOf", "anyOf")},
    }.get(name, (name, part))
    kind = "array" if name == "items" else "object"
    found = of_field(type=kind, **{name: value})
    assert [text.split()[0] for text in found] == [f"{place}.id", f"{place}.uniqueItems"]


@pytest.mark.parametrize(
    ("schema", "errors"),
    [
        ({"type": "object", MAP: "atomic"}, []),
        ({"type": "object", MAP: "granular"}, []),
        ({"type": "object", MAP: "x"}, [f'{MAP} NotSupported supported values: "atomic", "granular"']),
        ({"type": "string", MAP: "atomic"}, [f"type Invalid must be object if {MAP} is specified"]),
        ({KEEP: True, MAP: "atomic"}, [f"type Required must be object if {MAP} is specified"]),
        ({"type": "string", MAP: "x"},
         [f"type Invalid must be object if {MAP} is specified",
          f'{MAP} NotSupported supported values: "atomic", "granular"']),
        ({"type": "array", "items": TEXT, LIST: "atomic"}, []),
        ({"type": "array", "items": TEXT, LIST: "set"}, []),
        ({"type": "array", "items": TEXT, LIST: "x"},
         [f'{LIST} NotSupported supported values: "atomic", "set", "map"']),
        ({"type": "string", LIST: "atomic"}, [f"type Invalid must be array if {LIST} is specified"]),
        ({KEEP: True, LIST: "set"}, [f"type Required must be array if {LIST} is specified"]),
    ],
)  # fmt: skip
def test_lists_and_maps_merge_by_their_kind(schema: dict[str, Any], errors: list[str]) -> None:
    assert of_field(**schema) == errors


ATOMIC = f"must be atomic as item of a list with {LIST}=set"


@pytest.mark.parametrize(
    ("items", "errors"),
    [
        (TEXT, []),
        ({"type": "array", "items": TEXT}, []),
        ({"type": "array", "items": TEXT, LIST: "atomic"}, []),
        ({"type": "array", "items": TEXT, LIST: "set"}, [f"items.{LIST} Invalid {ATOMIC}"]),
        ({"type": "object", MAP: "atomic"}, []),
        ({"type": "object", MAP: "granular"}, [f"items.{MAP} Invalid {ATOMIC}"]),
        ({"type": "object"}, [f"items.{MAP} Invalid {ATOMIC}"]),
        ({**TEXT, "nullable": True}, [f"items.nullable Forbidden cannot be nullable when {LIST} is set"]),
    ],
)
def test_the_items_of_a_set_are_compared_as_a_whole(items: dict[str, Any], errors: list[str]) -> None:
    assert of_field(type="array", items=items, **{LIST: "set"}) == errors
    assert of_field(type="array", items=items, **{LIST: "atomic"}) == []


def rows(keys: list[str] | None = None, items: dict[str, Any] | None = None, **schema: Any) -> list[str]:
    listed = {} if keys is None else {KEYS: keys}
    return of_field(type="array", items=ROW if items is None else items, **{LIST: "map", **listed, **schema})


NAMES = f"{KEYS} Invalid entries must all be names of item properties"
IN_KEYS = f"this property is in {KEYS}, so it"


@pytest.mark.parametrize(
    ("keys", "items", "errors"),
    [
        (["k"], ROW, []),
        (["k", "l"], ROW, []),
        ([], ROW, [f"{KEYS} Required must not be empty if {LIST} is map"]),
        (None, ROW, [f"{KEYS} Required must not be empty if {LIST} is map"]),
        (["x"], ROW, [NAMES]),
        (["x", "k", "y"], ROW, [NAMES, NAMES]),
        (["k", "l", "k"], ROW, [f"{KEYS} Invalid must not contain duplicate entries"]),
        (["k"], TEXT, [f"items.type Invalid must be object if parent array's {LIST} is map"]),
        (["k"], {**ROW, "nullable": True}, [f"items.nullable Forbidden cannot be nullable when {LIST} is map"]),
        (["k"], {**ROW, "required": ["l"]},
         [f"items.properties[k].default Required {IN_KEYS} must have a default or be a required property"]),
        (["k"], {**ROW, "required": []},
         [f"items.properties[k].default Required {IN_KEYS} must have a default or be a required property"]),
        (["k"], {"type": "object", "properties": {"k": DEFAULT}}, []),
        (["k"], {"type": "object", "properties": {"k": {**DEFAULT, "default": ""}}}, []),
        (["k"], {**ROW, "properties": {"k": {**TEXT, "nullable": True}}},
         [f"items.properties[k].nullable Forbidden {IN_KEYS} cannot be nullable"]),
        *((["k"], {**ROW, "properties": {"k": {"type": kind, **more}}},
           [f"items.properties[k].type Invalid must be a scalar type if parent array's {LIST} is map"])
          for kind, more in (("object", {}), ("array", {"items": TEXT}))),
        *((["k"], {**ROW, "properties": {"k": {"type": kind}}}, []) for kind in ("boolean", "integer", "number")),
    ],
)  # fmt: skip
def test_the_keys_of_a_list(keys: list[str] | None, items: dict[str, Any], errors: list[str]) -> None:
    """Source: ValidateCustomResourceDefinitionOpenAPISchema, validateMapListKeysMapSet."""
    assert rows(keys, items) == errors


def test_a_list_with_keys_needs_items() -> None:
    found = of_field(type="array", **{LIST: "map", KEYS: ["k"]})
    assert f"items Required must have a schema if {LIST} is map" in found


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (None, "Required"),
        ("set", "Invalid"),
        ("atomic", "Invalid"),
    ],
)
def test_only_a_list_of_kind_map_has_keys(kind: str | None, error: str) -> None:
    merged = {} if kind is None else {LIST: kind}
    found = of_field(type="array", items={**ROW, MAP: "atomic"}, **{KEYS: ["k"], **merged})
    assert found == [f"{LIST} {error} must be map if {KEYS} is non-empty"]
    assert of_field(type="array", items={**ROW, MAP: "atomic"}, **{KEYS: [], **merged}) == []


def test_the_value_of_a_wrong_kind_is_shown() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": ROW, LIST: "map", KEYS: ["k", "x"]}}}
    assert [str(error) for error in validate_schema(schema, "s")] == [
        f's.properties[a].{KEYS}: Invalid value: ["k","x"]: entries must all be names of item properties'
    ]


NO_RULE = "Required rule is not specified"
NO_MESSAGE = "Required message must be specified if rule contains line breaks"


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ({"rule": "true"}, ""),
        ({"rule": ""}, f"rule {NO_RULE}"),
        ({}, f"rule {NO_RULE}"),
        ({"rule": " \n", "message": "a"}, f"rule {NO_RULE}"),
        ({"rule": "", "message": " "}, f"rule {NO_RULE}"),
        ({"rule": "true", "message": "a"}, ""),
        ({"rule": "true", "message": "a\n"}, ""),
        ({"rule": "true ||\ntrue"}, f"message {NO_MESSAGE}"),
        ({"rule": "true ||\rtrue"}, f"message {NO_MESSAGE}"),
        ({"rule": "\ntrue\n"}, ""),
        ({"rule": "true ||\ntrue", "message": "a"}, ""),
    ],
)
def test_rules_have_text(rule: dict[str, Any], error: str) -> None:
    """Source: ValidateCustomResourceDefinitionOpenAPISchema."""
    found = of_field(**TEXT, **{RULES: [{"rule": "true"}, rule]})
    assert found == ([f"{RULES}[1].{error}"] if error else [])


@pytest.mark.parametrize("message", [" ", "\n", "a\nb", "a\rb"])
def test_messages_are_one_line_with_text(message: str) -> None:
    schema = {**TEXT, RULES: [{"rule": "true ||\ntrue", "message": message}]}
    [error] = validate_schema({"type": "object", "properties": {"a": schema}}, "s")
    assert error.type == "FieldValueInvalid"
    assert error.field == f"s.properties[a].{RULES}[0].message"
    assert error.value == message


def test_rules_are_compiled_only_in_a_valid_schema() -> None:
    wrong = {**TEXT, RULES: [{"rule": "unknown"}]}
    assert [text.split()[:2] for text in of_field(**wrong)] == [[f"{RULES}[0].rule", "Invalid"]]
    assert of_field(**wrong, uniqueItems=True)[0].startswith("uniqueItems Forbidden")
    assert len(of_field(**wrong, uniqueItems=True)) == 1
    assert root(properties={"a": wrong, "b": {}}) == [
        "properties[b].type Required must not be empty for specified object fields"
    ]


def test_errors_of_keywords_and_of_the_structure_are_both_told() -> None:
    found = root(properties={"a": {**TEXT, "uniqueItems": True}, "b": {}})
    assert sorted(text.split()[0] for text in found) == ["properties[a].uniqueItems", "properties[b].type"]
