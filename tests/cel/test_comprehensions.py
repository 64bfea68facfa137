"""Macros with two variables: places and elements of lists, keys and values of maps."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cel.admission_expressions import MAX_COST, PolicyEnvironment
from kitlib.cel.library import EvaluationError
from kitlib.cel.parser import CompileError

OBJECT = {"labels": {"a": "x", "b": "y"}, "list": [3, 1], "text": "x"}


def evaluated(text: str) -> Any:
    names = {"object": OBJECT, "oldObject": None, "request": {}, "namespaceObject": None}
    return PolicyEnvironment().compile(text).evaluate(names, MAX_COST)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[5, 6].all(i, x, x - i == 5)", True),
        ("[5, 6].exists(i, x, i == 1 && x == 6)", True),
        ("[5, 6].existsOne(i, x, x > i)", False),
        ("object.labels.all(k, v, k < v)", True),
        ("object.labels.existsOne(k, v, v == 'x')", True),
        ("object.list.exists(i, x, i == x)", True),
        ("[5, 6].transformList(i, x, i * x)", [0, 6]),
        ("object.labels.transformList(k, v, k != 'a', k + v)", ["by"]),
        ("object.labels.transformMap(k, v, v + '!')", {"a": "x!", "b": "y!"}),
        ("object.labels.transformMap(k, v, k == 'b', v)", {"b": "y"}),
        ("['p', 'q'].transformMap(i, x, x)", {0: "p", 1: "q"}),
        ("object.labels.transformMapEntry(k, v, {'z/' + k: v})", {"z/a": "x", "z/b": "y"}),
        ("object.labels.transformMapEntry(k, v, v == 'y', {v: k})", {"y": "b"}),
        ("object.labels.all(k, v, k == 'a' ? object.none : v == 'none')", False),
        ("object.labels.exists_one(k, v, v == 'x')", True),
        ("object.labels.transformMapEntry(k, v, object.labels.transformMap(o, w, o == k, v))", {"a": "x", "b": "y"}),
    ],
)
def test_macros_with_two_variables(text: str, expected: Any) -> None:
    assert evaluated(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("object.list.transformMapEntry(i, x, {'same': x})", "insert failed: key same already exists"),
        ("object.text.all(i, x, true)", "no such overload"),
        ("object.list.transformMapEntry(i, x, object.text)", "no such overload"),
        ("object.list.transformList(i, x, object.none)", "no such key: none"),
    ],
)
def test_what_cannot_be_computed(text: str, words: str) -> None:
    with pytest.raises(EvaluationError, match=words):
        evaluated(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1].all(x, 1, true)", "argument must be a simple name"),
        ("[1].all(i, x, x == 'a')", "no matching overload for '_==_' applied to '(int, string)'"),
        ("{'a': 1}.all(k, v, k == v)", "no matching overload for '_==_' applied to '(string, int)'"),
        ("[1].transformMapEntry(i, x, x)", "overload for 'cel.@mapInsert' applied to '(map(dyn, dyn), int)'"),
        ("[1].transformList(i, x, 1, x)", "no matching overload for '_?_:_'"),
    ],
)
def test_what_does_not_go_together(text: str, words: str) -> None:
    with pytest.raises(CompileError) as error:
        PolicyEnvironment().compile(text)
    assert words in str(error.value)
