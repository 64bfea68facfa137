"""Optional values: how they are made, and what is computed of what they hold."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cel.admission_expressions import MAX_COST, PolicyEnvironment
from kitlib.cel.library import EvaluationError


def evaluated(text: str) -> Any:
    names = {"object": {"a": 3, "zero": 0, "text": ""}, "oldObject": None, "request": {}, "namespaceObject": None}
    return PolicyEnvironment().compile(text).evaluate(names, MAX_COST)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((f"optional.ofNonZeroValue({zero}).hasValue()", False) for zero in ("0", "0.0", "''", "[]", "{}", "null")),
        ("optional.ofNonZeroValue(false).hasValue()", False),
        ("optional.ofNonZeroValue([0]).value()", [0]),
        ("optional.ofNonZeroValue(object.zero).orValue(7)", 7),
        ("optional.none().hasValue()", False),
        ("object.?a.optMap(x, x + 1).value()", 4),
        ("object.?b.optMap(x, x + 1).orValue(0)", 0),
        ("object.?a.optFlatMap(x, x > 2 ? optional.of(x) : optional.none()).value()", 3),
        ("object.?a.optFlatMap(x, optional.none()).hasValue()", False),
        ("object.?text.optFlatMap(x, optional.ofNonZeroValue(x)).or(optional.of('none')).value()", "none"),
    ],
)
def test_optional_values(text: str, expected: Any) -> None:
    assert evaluated(text) == expected


@pytest.mark.parametrize("text", ["object.a.optMap(x, x)", "object.?a.optFlatMap(x, x)"])
def test_what_is_not_optional_has_no_overload(text: str) -> None:
    with pytest.raises(EvaluationError, match="no such overload"):
        evaluated(text)
