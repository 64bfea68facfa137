"""Rules in CEL of custom objects: what they see, what a broken one says, and what may stay."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.apiserver.admission.custom import rules as custom_resource_rules
from kitlib.apiserver.admission.custom.rules import broken_rules, cel_value
from kitlib.cluster import Cluster
from tests.apiserver.admission.custom.definitions import custom, definition

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def ruled(rule: str, schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**schema, "x-kubernetes-validations": [{"rule": rule, **more}]}


def root(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


def said(schema: dict[str, Any], data: Any, old: Any = None) -> list[str]:
    return [str(error) for error in broken_rules(schema, data, old)]


PAIR = root(a=WHOLE, b=WHOLE)
LESS = "self.a < self.b"
WORDS = [
    ({}, 'spec: Invalid value: "object": failed rule: self.a < self.b'),
    ({"message": "too large"}, 'spec: Invalid value: "object": too large'),
    ({"message": "m", "messageExpression": "'a is ' + string(self.a)"}, 'spec: Invalid value: "object": a is 3'),
    ({"message": "m", "messageExpression": "string(self.a / 0)"}, 'spec: Invalid value: "object": m'),
    ({"message": "m", "reason": "FieldValueForbidden"}, "spec: Forbidden: m"),
    ({"message": "m", "reason": "FieldValueRequired"}, "spec: Required value: m"),
    ({"message": "m", "reason": "FieldValueDuplicate"}, 'spec: Duplicate value: "object": m'),
    ({"message": "m", "fieldPath": ".a"}, 'spec.a: Invalid value: "object": m'),
]


@pytest.mark.parametrize(("more", "words"), WORDS)
def test_a_broken_rule_is_told_in_the_servers_words(more: dict[str, Any], words: str) -> None:
    schema = root(spec=ruled(LESS, PAIR, **more))
    assert said(schema, {"spec": {"a": 3, "b": 2}}) == [words]
    assert said(schema, {"spec": {"a": 1, "b": 2}}) == []
    assert said(schema, {}) == []


def test_a_rule_that_fails_is_broken() -> None:
    (words,) = said(root(spec=ruled(LESS, PAIR)), {"spec": {"a": 3}})
    assert words == 'spec: Invalid value: "object": no such key: b evaluating rule: self.a < self.b'
    assert said(ruled("self.metadata.name == 'x'", root()), {"metadata": {"name": "y"}}) == [
        "<nil>: Invalid value: \"object\": failed rule: self.metadata.name == 'x'"
    ]


def test_a_rule_on_the_past_is_asked_where_there_is_one() -> None:
    schema = root(a=ruled("self == oldSelf", TEXT, message="immutable"))
    assert said(schema, {"a": "x"}) == []
    assert said(schema, {"a": "x"}, {}) == []
    assert said(schema, {"a": "x"}, {"a": "x"}) == []
    assert said(schema, {"a": "y"}, {"a": "x"}) == ['a: Invalid value: "string": immutable']
    optional = root(a=ruled("!oldSelf.hasValue() || oldSelf.value() == self", TEXT, optionalOldSelf=True))
    assert said(optional, {"a": "y"}) == []
    assert len(said(optional, {"a": "y"}, {"a": "x"})) == 1


def test_items_are_known_by_their_keys_and_values_by_their_names() -> None:
    item = ruled("self.v >= oldSelf.v", root(k=TEXT, v=WHOLE))
    listed = {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    mapped = {"type": "object", "additionalProperties": ruled("self >= oldSelf", WHOLE)}
    schema = root(l=listed, m=mapped)
    old = {"l": [{"k": "a", "v": 1}, {"k": "b", "v": 5}], "m": {"x": 1, "y": 5}}
    new = {"l": [{"k": "b", "v": 4}, {"k": "a", "v": 2}, {"k": "c", "v": 0}], "m": {"y": 4, "x": 2, "z": 0}}
    assert [error.field for error in broken_rules(schema, new, old)] == ["l[0]", "m[y]"]


def test_what_did_not_change_may_stay() -> None:
    schema = root(spec=ruled(LESS, PAIR), other=TEXT)
    broken = {"spec": {"a": 3, "b": 2}}
    assert said(schema, {**broken, "other": "x"}, broken) == []
    assert len(said(schema, {"spec": {"a": 4, "b": 2}}, broken)) == 1


def test_values_are_seen_as_their_schema_declares_them() -> None:
    schema = root(**{"a-b": TEXT, "n": {"type": "number"}, "in": WHOLE})
    seen = cel_value({"a-b": "x", "n": 1, "in": None, "more": 2}, schema)
    assert seen == {"a__dash__b": "x", "n": 1.0}
    assert isinstance(seen["n"], float)


def test_many_rules_end_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom_resource_rules, "MAX_EVALUATIONS", 1_000)
    item = ruled("self != ''", TEXT)
    found = said(root(l={"type": "array", "items": item}), {"l": ["x"] * 100_000})
    assert len(found) == 1
    assert "running out of cost budget" in found[0]


def test_macros_of_all_rules_share_a_budget() -> None:
    rule = {"rule": "self.l.all(x, self.l.all(y, x == y))"}
    schema = {**root(l={"type": "array", "items": WHOLE}), "x-kubernetes-validations": [rule] * 50}
    found = said(schema, {"l": [1] * 5_000})
    assert "cost" in found[0]


def test_times_bytes_and_addresses_are_what_their_formats_say() -> None:
    fields = {
        "since": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "format": "date"},
        "wait": {"type": "string", "format": "duration"},
        "key": {"type": "string", "format": "byte"},
        "network": {"type": "string"},
    }
    rules = [
        "self.since < timestamp('2026-01-01T00:00:00Z')",
        "self.day.getFullYear() == 2025",
        "self.wait <= duration('1h')",
        "self.key.size() == 2",
        "cidr(self.network).containsIP('10.1.2.3')",
    ]
    validations = [{"rule": rule} for rule in rules]
    made = {"type": "object", "properties": fields, "x-kubernetes-validations": validations}
    good = {"since": "2025-05-05T01:02:03Z", "day": "2025-12-31", "wait": "1h", "key": "YWI=", "network": "10.0.0.0/8"}
    assert broken_rules(made, good) == []
    bad = {"since": "2026-05-05T01:02:03Z", "day": "2026-12-31", "wait": "1h1s", "key": "YQ==", "network": "11.0.0.0/8"}
    assert [error.body.partition("failed rule: ")[2] for error in broken_rules(made, bad)] == rules


@pytest.mark.thorough
def test_two_clusters_in_two_threads_never_refuse_each_others_objects() -> None:
    """Each object costs more than half of what one may cost, and both are checked at once."""
    rule = {"rule": "self.l.all(x, self.l.all(y, x + y >= 0))"}
    schema = {**root(l={"type": "array", "items": WHOLE, "maxItems": 400}), "x-kubernetes-validations": [rule]}
    version = {"schema": {"openAPIV3Schema": root(spec=schema)}}
    both, refused = threading.Barrier(2, timeout=60), []

    def apply() -> None:
        with Cluster.simulated(1) as cluster:
            cluster.apply(definition("lists", "Listed", "example.com", **version))
            both.wait()
            try:
                cluster.apply(custom("Listed", "example.com", spec={"l": [1] * 340}))
            except KitError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=apply) for _ in range(2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert refused == []
