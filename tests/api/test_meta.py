"""The parts of every object: its key, and its conditions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kitlib.api.core import Pod
from kitlib.api.meta import Condition, KubeObject, ObjectMeta, is_condition_true, put_condition, with_condition
from kitlib.api.serialize import from_dict

NOW = datetime(2024, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=1)


@pytest.mark.parametrize(("namespace", "key"), [("n", "n/a"), ("", "a")])
def test_the_key_of_an_object(namespace: str, key: str) -> None:
    obj = KubeObject(metadata=ObjectMeta(name="a", namespace=namespace))
    assert (obj.key, obj.name, obj.namespace) == (key, "a", namespace)


def test_unknown_fields_belong_to_the_struct_that_has_them() -> None:
    pod = from_dict({"kind": "Pod", "spec": {"odd": 1}}, Pod)
    assert (pod.spec.unknown_fields, pod.unknown_fields) == ({"odd": 1}, {})
    assert Pod().unknown_fields == {}


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([], False),
        ([("Ready", "True")], True),
        ([("Ready", "False")], False),
        ([("Ready", "true")], False),
        ([("Other", "True")], False),
        ([("Other", "False"), ("Ready", "True")], True),
    ],
)
def test_a_condition_is_true(conditions: list[tuple[str, str]], expected: bool) -> None:
    found = [Condition(type=type_, status=status) for type_, status in conditions]
    assert is_condition_true(found, "Ready") is expected


def test_a_condition_replaces_that_of_its_type_where_it_is() -> None:
    a, b, new, other = (Condition(type=type_, reason=reason) for type_, reason in ("ax", "bx", "ay", "cy"))
    assert with_condition([a, b], new) == [new, b]
    assert with_condition([a, b], other) == [a, b, other]
    assert with_condition([], new) == [new]


@pytest.mark.parametrize(("status", "moment"), [("True", NOW), ("False", LATER)])
def test_the_transition_time_changes_with_the_status(status: str, moment: datetime) -> None:
    """Source: meta.SetStatusCondition."""
    standing = Condition(type="Ready", status="True", reason="Old", last_transition_time=NOW)
    (found,) = put_condition([standing], Condition(type="Ready", status=status, reason="New"), LATER)
    assert (found.status, found.reason, found.last_transition_time) == (status, "New", moment)


def test_a_condition_of_another_type_does_not_give_its_time() -> None:
    standing = Condition(type="Other", status="True", last_transition_time=NOW)
    found = put_condition([standing], Condition(type="Ready", status="True"), LATER)
    assert [one.last_transition_time for one in found] == [NOW, LATER]
