"""Custom objects are refused in the words of a real server, and a hostile pattern costs nothing."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kitlib.apiserver.admission.custom.values import MAX_TOLD, validate_values


def schema_of(**spec: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", **spec}}}


def errors(schema: dict[str, Any], spec: Any, old: Any = None) -> list[str]:
    before = None if old is None else {"metadata": {"name": "x"}, "spec": old}
    found = validate_values(schema_of(**schema), {"metadata": {"name": "x"}, "spec": spec}, before)
    return [str(error) for error in found]


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
    (
        field(type="string", format="date-time"),
        {"a": "2020-02-30T00:00:00Z"},
        ['Invalid value: "2020-02-30T00:00:00Z": spec.a in body must be of type date-time: "2020-02-30T00:00:00Z"'],
    ),
    (field(type="string", format="of my own"), {"a": "z"}, []),
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


@pytest.mark.speed
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
    found = errors(schema, {"a": ["x"] * 20_000})
    assert len(found) == MAX_TOLD and found[0].startswith("spec.a[0]: Invalid value")


ITEMS = {"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "integer", "maximum": 3}}}
BY_NAME = {"type": "array", "items": ITEMS, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}


@pytest.mark.parametrize(
    ("new", "old", "told"),
    [
        ({"a": "ab", "b": 1}, {"a": "ab"}, []),  # what was wrong before may stay
        ({"a": "abc"}, {"a": "ab"}, ["spec.a"]),
        ({"list": [{"name": "x", "n": 9}, {"name": "y"}]}, {"list": [{"name": "x", "n": 9}]}, []),
        ({"list": [{"name": "x", "n": 9}]}, {"list": [{"name": "x", "n": 8}]}, ["spec.list[0].n"]),
        ({"list": [{"name": "z", "n": 9}]}, {"list": [{"name": "x", "n": 9}]}, ["spec.list[0].n"]),
        ({"plain": [9, 1]}, {"plain": [9]}, ["spec.plain[0]"]),  # items of other lists are not known again
        ({"plain": [9], "b": 2}, {"plain": [9]}, []),
        ({"inner": {"x": 1}}, {"inner": {}}, ["spec.inner.need"]),
        ({"inner": {"x": 1}, "b": 1}, {"inner": {"x": 1}}, []),
    ],
)
def test_what_did_not_change_may_stay_as_it_was(new: Any, old: Any, told: list[str]) -> None:
    fields = {
        "a": {"type": "string", "pattern": "^a+$"},
        "b": {"type": "integer"},
        "list": BY_NAME,
        "plain": {"type": "array", "items": {"type": "integer", "maximum": 3}},
        "inner": {"type": "object", "required": ["need"], "properties": {"x": {"type": "integer"}}},
    }
    assert [one.partition(":")[0] for one in errors({"properties": fields}, new, old)] == told
