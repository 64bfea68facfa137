"""Operators on values whose types are seen when an expression is evaluated."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cel.admission_expressions import MAX_COST, PolicyEnvironment
from kitlib.cel.library import EvaluationError

OBJECT = {"list": [1], "map": {"a": 1}, "int": 2, "float": 1.5, "text": "x"}


def evaluated(text: str) -> Any:
    names = {"object": OBJECT, "oldObject": None, "request": {}, "namespaceObject": None}
    return PolicyEnvironment().compile(text).evaluate(names, MAX_COST)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("-object.int", -2), ("-object.float", -1.5), ("object.map[?object.list].hasValue()", False)],
)
def test_values_of_unknown_types(text: str, expected: Any) -> None:
    assert evaluated(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("-object.text", "no such overload"),
        ("-object.map", "no such overload"),
        ("0 - object.float", "no such overload"),
        ("{object.list: 1}", "unsupported key type: list"),
        ("{object.map: 1}", "unsupported key type: map"),
        ("object.map[object.list]", "no such key"),
    ],
)
def test_values_that_do_not_go_together(text: str, words: str) -> None:
    with pytest.raises(EvaluationError, match=words):
        evaluated(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("object.float / 0.0", float("inf")),
        ("-object.float / 0.0", float("-inf")),
        ("object.float / -0.0", float("-inf")),
        ("'AÄZ'.lowerAscii()", "aÄz"),
        ("'aßz'.upperAscii()", "AßZ"),
    ],
)
def test_doubles_divide_by_zero_and_only_ascii_letters_change_case(text: str, expected: Any) -> None:
    """Source: IEEE 754; cel-go ext/strings.go lowerASCII, upperASCII."""
    assert evaluated(text) == expected


def test_zero_by_zero_is_not_a_number() -> None:
    assert evaluated("(object.float - 1.5) / 0.0 == (object.float - 1.5) / 0.0") is False
