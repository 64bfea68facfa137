"""Structural schemas: types of every part, int-or-string, embedded resources, value validations that only narrow."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.apiserver.validation.custom_resource_structural import (
    EITHER,
    EMBEDDED,
    KEEP,
    KEYS,
    LIST,
    MAP,
    RULES,
    below,
    every,
    listed,
    of_type,
    parts,
    validate_structural,
)
from tests.apiserver.validation.told import told

TEXT: dict[str, Any] = {"type": "string"}
INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]


def found(**schema: Any) -> list[str]:
    """Return the errors of an object's schema, without `s.`."""
    return [text.removeprefix("s.") for text in told(validate_structural({"type": "object", **schema}, "s"))]


def of_field(**schema: Any) -> list[str]:
    """Return the errors of the field `a`, without its path."""
    return [text.removeprefix("properties[a].") for text in found(properties={"a": schema})]


@pytest.mark.parametrize(
    ("schema", "errors"),
    [
        ({"type": "object"}, []),
        ({}, ["s.type Required must not be empty at the root"]),
        ({"type": ""}, ["s.type Required must not be empty at the root"]),
        ({KEEP: True}, []),
        ({EITHER: True}, []),
        ({"type": "string"}, ["s.type Invalid must be object at the root"]),
        ({"type": "array", "items": TEXT}, ["s.type Invalid must be object at the root"]),
        ({"type": "array"},
         ["s.items Required must be specified", "s.type Invalid must be object at the root"]),
        ({"type": "object", "additionalProperties": TEXT},
         ["s.additionalProperties Forbidden must not be used at the root"]),
        ({"type": "object", "additionalProperties": True},
         ["s.additionalProperties Forbidden must not be used at the root"]),
        ({"type": "object", "additionalProperties": {}},
         ["s.additionalProperties.type Required must not be empty for specified object fields",
          "s.additionalProperties Forbidden must not be used at the root"]),
    ],
)  # fmt: skip
def test_the_root(schema: dict[str, Any], errors: list[str]) -> None:
    """Source: validateStructuralInvariants."""
    assert told(validate_structural(schema, "s")) == errors


NO_FIELD = "must not be empty for specified object fields"
NO_ITEM = "must not be empty for specified array items"


@pytest.mark.parametrize(
    ("schema", "errors"),
    [
        (TEXT, []),
        ({}, [f"type Required {NO_FIELD}"]),
        ({KEEP: True}, []),
        ({KEEP: False}, [f"type Required {NO_FIELD}"]),
        ({EITHER: True}, []),
        ({"type": "array"}, ["items Required must be specified"]),
        ({"type": "array", "items": TEXT}, []),
        ({"type": "array", "items": {}}, [f"items.type Required {NO_ITEM}"]),
        ({"type": "array", "items": {"type": "array", "items": {}}}, [f"items.items.type Required {NO_ITEM}"]),
        ({"type": "object", "properties": {"b": {}}}, [f"properties[b].type Required {NO_FIELD}"]),
        ({"type": "object", "additionalProperties": {}}, [f"additionalProperties.type Required {NO_FIELD}"]),
        ({"type": "object", "additionalProperties": True}, []),
        ({EITHER: True, KEEP: True}, [f"{KEEP} Invalid must be false if {EITHER} is true"]),
        ({"type": "object", EITHER: True, EMBEDDED: True, "properties": {"b": TEXT}},
         [f"{EMBEDDED} Invalid must be false if {EITHER} is true"]),
    ],
)  # fmt: skip
def test_every_part_has_a_type(schema: dict[str, Any], errors: list[str]) -> None:
    assert of_field(**schema) == errors


@pytest.mark.parametrize(
    ("schema", "errors"),
    [
        ({"type": "object", "properties": {"b": TEXT}}, []),
        ({"type": "object", KEEP: True}, []),
        ({"type": "object"},
         [f"properties Required must not be empty if {EMBEDDED} is true without {KEEP}"]),
        ({"type": "string", KEEP: True}, [f"type Invalid must be object if {EMBEDDED} is true"]),
        ({KEEP: True}, [f"type Required must be object if {EMBEDDED} is true"]),
        ({"type": "object", KEEP: True, "additionalProperties": TEXT},
         [f"additionalProperties Forbidden must not be used if {EMBEDDED} is set"]),
    ],
)  # fmt: skip
def test_an_embedded_resource(schema: dict[str, Any], errors: list[str]) -> None:
    assert of_field(**schema, **{EMBEDDED: True}) == errors
    if not errors:
        assert of_field(**schema, **{EMBEDDED: False}) == []


@pytest.mark.parametrize(
    ("name", "wanted", "other"),
    [("kind", "string", "object"), ("apiVersion", "string", "integer"), ("metadata", "object", "string")],
)
def test_types_of_the_fields_of_every_object(name: str, wanted: str, other: str) -> None:
    right, wrong = {name: {"type": wanted}}, {name: {"type": other}}
    assert found(properties=right) == []
    assert f"properties[{name}].type Invalid must be {wanted}" in found(properties=wrong)
    embedded = {"type": "object", EMBEDDED: True}
    assert of_field(**embedded, properties=right) == []
    assert of_field(**embedded, properties=wrong) == [f"properties[{name}].type Invalid must be {wanted}"]
    assert of_field(type="object", properties=wrong) == []


ONLY_NAMES = "must not specify anything other than name and generateName, but metadata is implicitly specified"


@pytest.mark.parametrize(
    ("metadata", "valid"),
    [
        ({}, True),
        ({"properties": {"name": TEXT}}, True),
        ({"properties": {"generateName": TEXT}}, True),
        ({"properties": {"name": {**TEXT, "maxLength": 5}, "generateName": TEXT}}, True),
        ({"properties": {"name": TEXT, "labels": {"type": "object"}}}, False),
        ({"properties": {"name": TEXT, "generateName": TEXT, "uid": TEXT}}, False),
        ({"properties": {"labels": {"type": "object"}}}, False),
        ({"description": "d"}, False),
        ({"nullable": True}, False),
        ({"required": ["name"]}, False),
        ({KEEP: True}, False),
        ({"default": {}}, True),
    ],
)
def test_a_schema_says_little_about_metadata(metadata: dict[str, Any], valid: bool) -> None:
    """Source: validateStructuralMetadataInvariants."""
    made = {"metadata": {"type": "object", **metadata}}
    assert found(properties=made) == ([] if valid else [f"properties[metadata] Forbidden {ONLY_NAMES}"])
    assert of_field(type="object", properties=made) == []


EMPTY = "must be empty to be structural"
UNDEFINED = "must be undefined to be structural"
FALSE = "must be false to be structural"
FORBIDDEN = {
    "type": ("string", EMPTY),
    "default": ("x", UNDEFINED),
    "title": ("t", EMPTY),
    "description": ("d", EMPTY),
    "nullable": (True, FALSE),
    KEEP: (True, FALSE),
    EMBEDDED: (True, FALSE),
    EITHER: (True, FALSE),
    KEYS: (["k"], EMPTY),
    LIST: ("set", UNDEFINED),
    MAP: ("atomic", UNDEFINED),
    RULES: ([{"rule": "true"}], EMPTY),
    "additionalProperties": ({"maxLength": 1}, UNDEFINED),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_value_validation_has_no_keyword_of_structure(name: str) -> None:
    """Source: validateNestedValueValidation."""
    value, detail = FORBIDDEN[name]
    for kind in ("anyOf", "allOf", "oneOf"):
        assert of_field(**TEXT, **{kind: [{"maxLength": 1}, {name: value}]}) == [f"{kind}[1].{name} Forbidden {detail}"]
    assert of_field(**TEXT, **{"not": {name: value}}) == [f"not.{name} Forbidden {detail}"]


@pytest.mark.parametrize(
    "values",
    [
        {"maxLength": 1, "pattern": "a", "enum": ["x"], "format": "date"},
        {"nullable": False, KEEP: False, "title": "", KEYS: [], RULES: []},
    ],
)
def test_a_value_validation_may_narrow(values: dict[str, Any]) -> None:
    assert of_field(**TEXT, anyOf=[values], allOf=[values], oneOf=[values], **{"not": values}) == []


def test_value_validations_are_checked_at_every_depth() -> None:
    title = {"title": "t"}
    inner = {"items": title, "properties": {"b": {"not": title}}, "allOf": [{"oneOf": [title]}]}
    schema = {"type": "object", "properties": {"b": TEXT}, "items": TEXT, "anyOf": [inner]}
    assert found(**schema) == [
        f"anyOf[0].allOf[0].oneOf[0].title Forbidden {EMPTY}",
        f"anyOf[0].items.title Forbidden {EMPTY}",
        f"anyOf[0].properties[b].not.title Forbidden {EMPTY}",
    ]


def test_a_value_validation_says_nothing_about_metadata() -> None:
    schema = {"properties": {"metadata": {"type": "object"}}, "allOf": [{"properties": {"metadata": {}}}]}
    assert found(**schema) == ["allOf[0].properties[metadata] Forbidden must not be specified in a nested context"]


@pytest.mark.parametrize(
    ("schema", "places"),
    [
        ({"anyOf": INT_OR_STRING}, []),
        ({"allOf": [{"anyOf": INT_OR_STRING}]}, []),
        ({"allOf": [{"anyOf": INT_OR_STRING}, {"maxLength": 1}]}, []),
        ({"anyOf": INT_OR_STRING[::-1]}, ["anyOf[0]", "anyOf[1]"]),
        ({"anyOf": INT_OR_STRING[:1]}, ["anyOf[0]"]),
        ({"anyOf": [*INT_OR_STRING, {"maxLength": 1}]}, ["anyOf[0]", "anyOf[1]"]),
        ({"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1}]}, ["anyOf[0]", "anyOf[1]"]),
        ({"allOf": [{"anyOf": INT_OR_STRING[::-1]}]}, ["allOf[0].anyOf[0]", "allOf[0].anyOf[1]"]),
        ({"oneOf": INT_OR_STRING}, ["oneOf[0]", "oneOf[1]"]),
    ],
)
def test_the_two_patterns_of_int_or_string(schema: dict[str, Any], places: list[str]) -> None:
    """Source: isIntOrStringAnyOfPattern, isIntOrStringAllOfPattern."""
    assert of_field(**schema, **{EITHER: True}) == [f"{place}.type Forbidden {EMPTY}" for place in places]


def test_a_pattern_is_a_regular_expression() -> None:
    assert of_field(**TEXT, pattern="^a+$") == []
    assert of_field(**TEXT, pattern="") == []
    why = "must be a valid regular expression, but isn't: error parsing regexp: missing closing ): `(`"
    assert of_field(**TEXT, pattern="(") == [f"pattern Invalid {why}"]
    assert of_field(**TEXT, **{"not": {"pattern": "("}}) == [f"not.pattern Invalid {why}"]


MAXIMUM = {"maxLength": 1}


@pytest.mark.parametrize(
    ("values", "errors"),
    [
        ({"anyOf": [{"properties": {"a": MAXIMUM}}]}, []),
        ({"anyOf": [MAXIMUM, {"properties": {"x": MAXIMUM}}]},
         ["properties[x] Required because it is defined in s.anyOf[1].properties[x]"]),
        ({"allOf": [{"properties": {"x": MAXIMUM}}], "oneOf": [{"properties": {"y": MAXIMUM}}]},
         ["properties[x] Required because it is defined in s.allOf[0].properties[x]",
          "properties[y] Required because it is defined in s.oneOf[0].properties[y]"]),
        ({"not": {"properties": {"x": MAXIMUM}}},
         ["properties[x] Required because it is defined in s.not.properties[x]"]),
        ({"not": {"items": MAXIMUM}}, ["items Required because it is defined in s.not.items"]),
        ({"not": {"properties": {"b": {"items": {"properties": {"c": MAXIMUM}}}}}}, []),
        ({"not": {"properties": {"b": {"items": {"properties": {"x": MAXIMUM}}}}}},
         ["properties[b].items.properties[x] Required because it is defined in "
          "s.not.properties[b].items.properties[x]"]),
        ({"not": {"properties": {"a": {"items": MAXIMUM}}}},
         ["properties[a].items Required because it is defined in s.not.properties[a].items"]),
        ({"not": {"anyOf": [{"properties": {"x": MAXIMUM}}]}},
         ["properties[x] Required because it is defined in s.not.anyOf[0].properties[x]"]),
        ({"not": {"properties": {"m": {"properties": {"x": MAXIMUM}}}}},
         ["properties[m].properties[x] Required because it is defined in s.not.properties[m].properties[x]"]),
    ],
)  # fmt: skip
def test_validated_fields_are_declared(values: dict[str, Any], errors: list[str]) -> None:
    """Source: validateStructuralCompleteness; `additionalProperties` declare no field."""
    row = {"type": "object", "properties": {"c": TEXT}}
    declared = {
        "a": TEXT,
        "b": {"type": "array", "items": row},
        "m": {"type": "object", "additionalProperties": TEXT},
    }
    assert found(properties=declared, **values) == errors


def test_errors_are_sorted_by_their_text() -> None:
    """A field's path ends with a colon, which comes after the dot of a longer path. Source: ValidateStructural."""
    schema = {
        "properties": {"b": {}, "a": {"type": "array"}, "metadata": {"type": "string", "title": "t"}},
        "not": {"title": "t"},
        "additionalProperties": True,
    }
    errors = [str(error) for error in validate_structural({"type": "array", **schema}, "s")]
    assert [text.partition(": ")[0] for text in errors] == [
        "s.additionalProperties",
        "s.items",
        "s.not.title",
        "s.properties[a].items",
        "s.properties[b].type",
        "s.properties[metadata].type",
        "s.properties[metadata]",
        "s.type",
    ]


def test_parts_that_are_no_schemas_are_left_to_decoding() -> None:
    one, two = {"type": "string"}, {"type": "integer"}
    assert list(parts({"properties": {"b": one, "x": 1, "a": two}}, "properties")) == [("b", one), ("a", two)]
    assert list(parts({"properties": [one]}, "properties")) == []
    assert list(parts({}, "properties")) == []
    assert list(listed({"anyOf": [one, "x", two]}, "anyOf")) == [(0, one), (2, two)]
    assert list(listed({"anyOf": one}, "anyOf")) == []
    assert below({"items": one}, "items") is one
    assert below({"items": [one]}, "items") is None
    assert below({}, "items") is None


def test_every_schema_in_a_schema() -> None:
    """Source: validation.SchemaHas."""
    places = ("items", "not", "additionalProperties", "anyOf", "allOf", "oneOf", "b", "a", "deep")
    named = {place: {"title": place} for place in places}
    named["items"]["properties"] = {"deep": named["deep"]}  # type: ignore[assignment]
    schema = {
        "title": "root",
        "properties": {"b": named["b"], "a": named["a"]},
        **{place: named[place] for place in ("items", "not", "additionalProperties")},
        **{place: [named[place]] for place in ("anyOf", "allOf", "oneOf")},
        "default": {"title": "no schema"},
    }
    titles = [part["title"] for part in every(schema)]
    assert titles[0] == "root"
    assert sorted(titles) == sorted(["root", *places])
    assert titles.index("items") < titles.index("deep")
    assert titles.index("a") < titles.index("b")


@pytest.mark.parametrize(
    ("kind", "errors"), [("object", []), ("string", ["t Invalid d"]), ("", ["t Required d"]), (None, ["t Required d"])]
)
def test_a_wanted_type(kind: str | None, errors: list[str]) -> None:
    assert told(of_type(kind, "object", "t", "d")) == errors
