"""Each keyword of a schema accepts and rejects the values that JSON Schema says."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.apiserver.admission.custom.violations import violations


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, [1, 1.0], [True, 1.5, "1", None]),
        ({"type": ["number", "null"]}, [1, 0.5, None], [False, []]),
        ({"type": "object"}, [{}], [[], "x"]),
        ({"enum": [1, "a", {"b": [True]}]}, [1.0, "a", {"b": [True]}], [True, {"b": [1]}, {}]),
        ({"required": ["a"]}, [{"a": None}, "not an object"], [{}]),
        ({"minimum": 2, "exclusiveMaximum": 3}, [2, 2.9, "1", True], [1, 3]),
        ({"exclusiveMinimum": 2, "maximum": 3}, [2.5, 3], [2, 4]),
        ({"multipleOf": 0.5}, [1.5, 2, "x"], [0.7]),
        ({"multipleOf": 2}, [4, 4.0], [3]),
        ({"minLength": 2, "maxLength": 3}, ["ab", "äöü", 1], ["a", "abcd"]),
        ({"minItems": 1, "maxItems": 1}, [[1], {}], [[], [1, 2]]),
        ({"minProperties": 1, "maxProperties": 1}, [{"a": 1}, []], [{}, {"a": 1, "b": 2}]),
        ({"pattern": "^a+$"}, ["aa", 1], ["b"]),
        ({"pattern": "("}, [1], ["a pattern that RE2 does not know fits nothing"]),
        ({"format": "ipv4"}, ["10.0.0.1", 5], ["10.0.0"]),
        ({"anyOf": [{"type": "string"}, {"minimum": 3}]}, ["x", 3], [2]),
        ({"oneOf": [{"type": "integer"}, {"minimum": 3}]}, [2, 3.5], [3, 2.5]),
        ({"not": {"required": ["a"]}}, [{}], [{"a": 1}]),
        ({"x-kubernetes-preserve-unknown-fields": True, "description": "d"}, [{}, 1], []),
    ],
)
def test_a_keyword_holds_for_some_values_and_not_for_others(
    schema: dict[str, Any], good: list[Any], bad: list[Any]
) -> None:
    assert [value for value in good if list(violations(schema, value))] == []
    assert [value for value in bad if not list(violations(schema, value))] == []


@pytest.mark.parametrize(
    ("schema", "value", "found"),
    [
        ({"properties": {"a": {"type": "string"}}}, {"a": 1, "b": 2}, [("type", 1, ("a",))]),
        (
            {"properties": {"a": {}}, "additionalProperties": {"maximum": 1}},
            {"a": 5, "b": 2},
            [("maximum", 2, ("b",))],
        ),
        (
            {"items": {"allOf": [{"minLength": 2}, {"enum": ["xx"]}]}},
            ["xx", "y"],
            [("minLength", "y", (1,)), ("enum", "y", (1,))],
        ),
        ({"additionalProperties": True, "items": None}, {"a": 1}, []),
    ],
)
def test_a_violation_names_its_keyword_and_its_place(schema: dict[str, Any], value: Any, found: list[Any]) -> None:
    assert [(one.rule, one.found, one.path) for one in violations(schema, value)] == found
