"""Lists as sets in CEL, and the search for matches of a pattern in a string.

Source: cel-go ext sets.go; k8s.io/apiserver/pkg/cel/library/regex.go.
"""

from __future__ import annotations

from typing import Any

from kitlib.cel.library import BOOL, INT, LIST, STRING, EvaluationError, Overload, charge, charge_text, equal
from kitlib.cel.re2 import PatternError, found_in, go_problem

TEXTS = f"{LIST}({STRING})"


def _has(values: list[Any], value: Any) -> bool:
    charge(len(values) + 1)
    return any(equal(one, value) for one in values)


def _contains(values: list[Any], others: list[Any]) -> bool:
    return all(_has(values, one) for one in others)


def _equivalent(one: list[Any], other: list[Any]) -> bool:
    return _contains(one, other) and _contains(other, one)


def _intersects(one: list[Any], other: list[Any]) -> bool:
    return any(_has(one, value) for value in other)


def _found(text: str, pattern: str, most: int = -1) -> list[str]:
    """Return at most `most` matches; all if negative. Source: regexp.FindAllString."""
    try:
        matches = found_in(pattern, text, most)
    except PatternError:
        raise EvaluationError(go_problem(pattern)) from None
    charge_text(len(text))
    return matches


def _first(text: str, pattern: str) -> str:
    return next(iter(_found(text, pattern, 1)), "")


FUNCTIONS: dict[str, list[Overload]] = {
    "sets.contains": [Overload((LIST, LIST), BOOL, _contains)],
    "sets.equivalent": [Overload((LIST, LIST), BOOL, _equivalent)],
    "sets.intersects": [Overload((LIST, LIST), BOOL, _intersects)],
}
METHODS: dict[str, list[Overload]] = {
    "find": [Overload((STRING, STRING), STRING, _first)],
    "findAll": [
        Overload((STRING, STRING), TEXTS, _found),
        Overload((STRING, STRING, INT), TEXTS, _found),
    ],
}
