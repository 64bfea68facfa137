"""Rules in CEL of a CustomResourceDefinition's schema: what does not compile is refused, with place and words."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kitlib.apiserver.validation.custom_resource_rules import compiled_rules, escaped, has_rules, validate_rules

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def spec(rule: Any, **fields: Any) -> dict[str, Any]:
    one = rule if isinstance(rule, dict) else {"rule": rule}
    below = {"type": "object", "properties": fields, "x-kubernetes-validations": [one]}
    return {"type": "object", "properties": {"spec": below}}


RIGHT = [
    "self.a == 'x'",
    "!has(self.b) || self.b > 3",
    "self.b < 1.5",
    "self.a == oldSelf.a",
    "self.list.all(one, one.startsWith('x'))",
    "'x' in self.map && self.map['x'] == 1",
    "self.c__dash__d == self.__in__",
    "self.list.size() <= self.b",
    "duration(self.a) > duration('1h')",
    "math.greatest(self.b, 1) > 0",  # a part of the language that the kit does not have
    "isURL(self.a)",
    "self.since > timestamp('2020-01-01T00:00:00Z')",
    "self.map.all(k, v, v > 1)",
]
FIELDS = {
    "a": TEXT,
    "b": WHOLE,
    "c-d": TEXT,
    "in": TEXT,
    "since": {"type": "string", "format": "date-time"},
    "list": {"type": "array", "items": TEXT},
    "map": {"type": "object", "additionalProperties": WHOLE},
}


@pytest.mark.parametrize("rule", RIGHT)
def test_a_rule_that_names_what_there_is_is_taken(rule: str) -> None:
    assert validate_rules(spec(rule, **FIELDS), "s") == []


WRONG = [
    ("self.x > 1", "compilation failed: ERROR: <input>:1:5: undefined field 'x'\n | self.x > 1\n | ....^"),
    ("self.b == 'x'", "found no matching overload for '_==_' applied to '(int, string)'"),
    ("self.a", "cel expression must evaluate to a bool"),
    ("self.a ==", "compilation failed: ERROR: <input>:1:"),
    ("other.a == 'x'", "undeclared reference to 'other'"),
    ("self.a.nothing() == 1", "undeclared reference to 'nothing'"),
]


@pytest.mark.parametrize(("rule", "words"), WRONG)
def test_a_rule_that_does_not_compile_is_refused_at_its_place(rule: str, words: str) -> None:
    (error,) = validate_rules(spec(rule, **FIELDS), "s")
    assert error.field == "s.properties[spec].x-kubernetes-validations[0].rule"
    assert words in error.detail
    assert error.detail.count("compilation failed") == (0 if "bool" in words else 1)
    assert '"FieldPath":""' in error.body


def test_a_message_expression_gives_a_text_and_a_reason_is_one_of_four() -> None:
    rule = {"rule": "true", "messageExpression": "self.b", "reason": "Because"}
    reason, message = validate_rules(spec(rule, **FIELDS), "s")
    assert reason.field.endswith("[0].reason")
    assert (message.field[-18:], message.detail) == (
        ".messageExpression",
        "messageExpression must evaluate to a string",
    )


@pytest.mark.parametrize(("kind", "refused"), [("map", False), ("atomic", True), ("set", True)])
def test_an_item_of_a_list_has_a_past_only_where_keys_name_it(kind: str, refused: bool) -> None:
    item = {"type": "object", "properties": {"k": TEXT}, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
    keys = {"x-kubernetes-list-map-keys": ["k"]} if kind == "map" else {}
    items = {"type": "array", "items": item, "x-kubernetes-list-type": kind, **keys}
    found = validate_rules({"type": "object", "properties": {"l": items}}, "s")
    place = "oldSelf cannot be used on the uncorrelatable portion of the schema within s.properties[l]"
    assert [error.detail for error in found] == ([place] if refused else [])


def test_the_root_has_its_name_and_nothing_else_of_its_metadata() -> None:
    for rule, count in (("self.metadata.name == 'x'", 0), ("self.kind == 'K'", 0), ("has(self.metadata.labels)", 1)):
        schema = {"type": "object", "x-kubernetes-validations": [{"rule": rule}]}
        assert len(validate_rules(schema, "s")) == count


def test_names_are_escaped_as_kubernetes_does() -> None:
    names = ("namespace", "a-b", "a.b/c", "a__b", "plain")
    assert list(map(escaped, names)) == [
        "__namespace__",
        "a__dash__b",
        "a__dot__b__slash__c",
        "a__underscores__b",
        "plain",
    ]


@pytest.mark.speed
def test_ten_thousand_rules_are_compiled_in_time() -> None:
    fields = {f"f{i}": {**TEXT, "x-kubernetes-validations": [{"rule": "self != ''"}]} for i in range(5_000)}
    schema = {"type": "object", "properties": fields, "x-kubernetes-validations": [{"rule": "has(self.f1)"}] * 5_000}
    start = time.perf_counter()
    assert len(compiled_rules(schema, "s", []).fields) == 5_000
    assert time.perf_counter() - start < 5
    assert not has_rules({"type": "object", "properties": {"a": TEXT}})
