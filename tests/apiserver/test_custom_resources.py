"""Custom objects are refused in the words of a real server, and a hostile pattern costs nothing."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kitlib.api.errors import Invalid
from kitlib.apiserver.custom_resources import MAX_TOLD, validate_custom
from kitlib.apiserver.resources import APIResource


def served(**spec: Any) -> APIResource:
    schema = {"type": "object", "properties": {"spec": {"type": "object", **spec}}}
    names = ("example.com", "v1", "things", "thing", "Thing")
    return APIResource(*names, (), (), namespaced=True, verbs=(), columns=(), schema=schema)


def errors(schema: dict[str, Any], spec: Any) -> list[str]:
    try:
        validate_custom(served(**schema), {"metadata": {"name": "x"}, "spec": spec})
    except Invalid as refused:
        return [str(error) for error in refused.errors]
    return []


def field(**rules: Any) -> dict[str, Any]:
    return {"properties": {"a": rules}}


CASES = [
    (field(type="string", pattern="^a+$"), {"a": "ab"}, ["Invalid value: \"ab\": spec.a in body should match '^a+$'"]),
    (field(type="string", pattern=r"^\pL+$"), {"a": "é"}, []),  # RE2's syntax, which Python's own does not have
    (
        field(type="string", minLength=3),
        {"a": "ab"},
        ['Invalid value: "ab": spec.a in body should be at least 3 chars long'],
    ),
    (field(type="string", maxLength=1), {"a": "ab"}, ["Too long: may not be more than 1 bytes"]),
    (
        field(type="integer", minimum=3),
        {"a": 2},
        ["Invalid value: 2: spec.a in body should be greater than or equal to 3"],
    ),
    (
        field(type="integer", maximum=3, exclusiveMaximum=True),
        {"a": 3},
        ["Invalid value: 3: spec.a in body should be less than 3"],
    ),
    (field(type="integer", multipleOf=2), {"a": 3}, ["Invalid value: 3: spec.a in body should be a multiple of 2"]),
    (field(type="array", maxItems=1), {"a": [1, 2]}, ["Too many: 2: must have at most 1 items"]),
    (field(type="string", enum=["x", "y"]), {"a": "z"}, ['Unsupported value: "z": supported values: "x", "y"']),
    (field(type="integer"), {"a": "z"}, ['Invalid value: "string": spec.a in body must be of type integer: "string"']),
]


@pytest.mark.parametrize(("schema", "spec", "expected"), CASES)
def test_a_violation_is_told_in_the_servers_words(schema: dict[str, Any], spec: Any, expected: list[str]) -> None:
    assert errors(schema, spec) == [f"spec.a: {one}" for one in expected]


def test_every_missing_field_is_named_once() -> None:
    found = errors({"required": ["a", "b", "c"]}, {"b": 1})
    assert found == ["spec.a: Required value", "spec.c: Required value"]


def test_a_rule_about_the_whole_names_no_field() -> None:
    found = errors({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {})
    assert found == ['<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf)']


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|aa)+$", "(.*a){20}"])
def test_a_pattern_that_backtracks_elsewhere_takes_linear_time(pattern: str) -> None:
    errors(field(type="string", pattern=pattern), {"a": "a"})  # what is needed is imported
    began = time.process_time()
    for _ in range(10):
        errors(field(type="string", pattern=pattern), {"a": "a" * 5000 + "!"})
    assert time.process_time() - began < 5


def test_a_million_violations_are_not_all_told() -> None:
    rules = [{"pattern": f"^{number}"} for number in range(50)]
    schema = field(type="array", items={"type": "string", "allOf": rules})
    began = time.process_time()
    found = errors(schema, {"a": ["x"] * 20_000})
    assert len(found) == MAX_TOLD and found[0].startswith("spec.a[0]: Invalid value")
    assert time.process_time() - began < 5
