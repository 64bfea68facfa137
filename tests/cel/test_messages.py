"""Values of named types in the expressions of mutating policies: what they are, and what is refused with which words.

Source of the cases: apiserver pkg/cel/mutation typeresolver_test.go, mutating/patch json_patch_test.go.
"""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cel.admission_expressions import MAX_COST, PolicyEnvironment
from kitlib.cel.expression import Expression
from kitlib.cel.library import EvaluationError
from kitlib.cel.messages import mismatches, plain
from kitlib.cel.parser import CompileError

NAMES = {"object": {"spec": {"replicas": 3, "big": 2**60}}, "oldObject": None, "request": {}, "namespaceObject": None}


def compiled(text: str, *kinds: str) -> Expression:
    return PolicyEnvironment().compile(text, *kinds, patches=True)


def evaluated(text: str) -> Any:
    return compiled(text).evaluate(NAMES, MAX_COST)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Object{}", {}),
        ("Object{spec: Object.spec{replicas: 3}}", {"spec": {"replicas": 3}}),
        ("Object{spec: Object.spec{replicas: object.spec.replicas + 1,}}", {"spec": {"replicas": 4}}),
        ('Object{metadata: Object.metadata{labels: {"a": "b"}}}', {"metadata": {"labels": {"a": "b"}}}),
        ('Object.a{containers: [Object.a.item{args: ["-g"]}]}', {"containers": [{"args": ["-g"]}]}),
        ("Object{namespace: true}", {"namespace": True}),
        ("Object{?a: optional.none(), ?b: optional.of(1)}", {"b": 1}),
        ('{?"a": optional.none(), "b": 1, ?"c": optional.of(2)}', {"b": 1, "c": 2}),
        ("[1, ?optional.none(), ?optional.of(2),]", [1, 2]),
        ("[?object.?spec.replicas]", [3]),
        ("Object{a: object.spec.big}", {"a": str(2**60)}),  # JSON has no whole number of this size
        ("Object{a: [1, 2, 3]}.a.sum()", 6),
        ('Object{a: "x"}.a', "x"),
        ("Object{}.a", None),
        ("has(Object{a: 1}.a)", True),
        ("has(Object{}.a)", False),
        ("Object{}.?a.orValue(7)", 7),
        ("Object{a: Object.a{b: 3}} == Object{a: Object.a{b: 1 + 2}}", True),
        ('Object{a: "x"} == Object{a: "y"}', False),
        ('JSONPatch{op: "add"}.op', "add"),
        ("JSONPatch{}.path", ""),
        ('has(JSONPatch{op: ""}.op)', False),
        ("has(JSONPatch{value: null}.value)", True),
        ("has(JSONPatch{}.value)", False),
        ("JSONPatch{} == JSONPatch{}", True),
        ("[dyn(Object{}), dyn(Object.a{})].exists_one(x, x == dyn(Object{}))", True),
        ('JSONPatch{op: "add", value: 1} == JSONPatch{op: "add", value: "1"}', False),
        ('"/metadata/labels/" + jsonpatch.escapeKey("k8s.io/x~y")', "/metadata/labels/k8s.io~1x~0y"),
        ("type(Object.spec{}) == type(Object.spec{a: 1})", True),
        ("Object{} != null && null != JSONPatch{}", True),
        ("Object{?spec: optional.ofNonZeroValue(Object.spec{?a: Object{}.?a})}", {}),
    ],
)
def test_values_of_named_types(text: str, expected: Any) -> None:
    assert plain(evaluated(text)) == expected


@pytest.mark.parametrize(
    ("text", "kinds", "words"),
    [
        ("Invalid{}", (), "<input>:1:8: undeclared reference to 'Invalid' (in container '')"),
        ("a.b{}", (), "undeclared reference to 'a.b'"),
        ("Object", (), "undeclared reference to 'Object'"),
        (
            'JSONPatch{op: 1, path: "/a"}',
            (),
            "1:13: expected type of field 'op' is 'string' but provided type is 'int'",
        ),
        ("JSONPatch{path: [1]}", (), "expected type of field 'path' is 'string' but provided type is 'list(int)'"),
        ("JSONPatch{form: 'a'}", (), "expected type of field 'form' is '' but provided type is 'string'"),
        ("Object{?a: 1}", (), "expected type 'optional_type(int)' but found 'int'"),
        ("Object{a 1}", (), "Syntax error: mismatched input '1'"),
        ("Object{a: 1", (), "Syntax error: mismatched input '<EOF>'"),
        ("Object{in: 1}", (), "Syntax error"),
        ("Object{} == Object.spec{}", (), "no matching overload for '_==_' applied to '(Object, Object.spec)'"),
        ("jsonpatch.escapeKey(1)", (), "no matching overload for 'jsonpatch.escapeKey' applied to '(int)'"),
        ('"a teapot"', ("Object",), "must evaluate to Object but got string"),
        ("Object.spec.metadata{}", ("Object",), "must evaluate to Object but got Object.spec.metadata"),
        ("object", ("Object",), "must evaluate to Object but got dyn"),
        ("[1]", ("list(JSONPatch)",), "must evaluate to list(JSONPatch) but got list(int)"),
        ("[]", ("list(JSONPatch)",), "must evaluate to list(JSONPatch) but got list(dyn)"),
        ("[JSONPatch{}, 1]", (), "1:15: expected type 'JSONPatch' but found 'int'"),
        ("[JSONPatch{}, null]", (), "expected type 'JSONPatch' but found 'null_type'"),
        (
            "[[Object{}]] + [[1]]",
            (),
            "no matching overload for '_+_' applied to '(list(list(Object)), list(list(int)))'",
        ),
        ("1 in ['a']", (), "no matching overload for '@in' applied to '(int, list(string))'"),
        ("[1].all(x, x == 'a')", (), "no matching overload for '_==_' applied to '(int, string)'"),
    ],
)
def test_what_is_no_value_of_a_named_type_is_refused(text: str, kinds: tuple[str, ...], words: str) -> None:
    with pytest.raises(CompileError) as error:
        compiled(text, *kinds)
    assert words in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "[JSONPatch{}]",
        "true ? [JSONPatch{}] : []",
        "[] + [JSONPatch{}]",
        "[1, 2].map(i, JSONPatch{value: i})",
        "object.list.map(i, JSONPatch{})",
        "[JSONPatch{}, JSONPatch{op: 'add'}].filter(p, has(p.op))",
        "cel.bind(p, JSONPatch{}, [p])",
        "[[JSONPatch{}]][0]",
        "{'a': [JSONPatch{}]}.a",
        "{'a': [JSONPatch{}]}['a']",
        "true ? [JSONPatch{}] : [null]",
    ],
)
def test_lists_keep_the_type_of_their_elements(text: str) -> None:
    assert compiled(text, "list(JSONPatch)").kind == "list(JSONPatch)"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("JSONPatch{op: object.spec.replicas}", "unexpected type int64 for JSONPatchType 'op' field"),
        ("JSONPatch{form: object.spec}", "unexpected JSONPatchType field: form"),
        ("Object{?a: object.spec}", "cannot initialize optional entry 'a' from non-optional value"),
        ("jsonpatch.escapeKey(object.spec.replicas)", "no such overload"),
    ],
)
def test_values_of_another_type_are_seen_when_it_is_evaluated(text: str, words: str) -> None:
    with pytest.raises(EvaluationError) as error:
        evaluated(text)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Object{spec: Object.spec{l: [Object.spec.l{}], m: {'k': Object.spec.m{}}}}", []),
        ("Object{spec: Object.specx{}}", [("Object.specx", "Object.spec")]),
        ("Object{spec: Object.spec{l: [Object.spec.k{}]}}", [("Object.spec.k", "Object.spec.l")]),
        ("Object{spec: Object.spec{m: {'k': Object.spec.n{}}}}", [("Object.spec.n", "Object.spec.m")]),
        ("Object.spec{a: Object.a{}}", [("Object.a", "Object.spec.a")]),
    ],
)
def test_the_name_of_a_type_is_the_path_to_it(text: str, expected: list[tuple[str, str]]) -> None:
    words = 'unexpected type name "{}", expected "{}", which matches field name path from root Object type'
    assert mismatches(evaluated(text)) == [words.format(*names) for names in expected]


def test_a_key_that_is_no_text_is_no_json() -> None:
    with pytest.raises(EvaluationError, match='map key "1" is of type int64, not string'):
        plain(evaluated("Object{a: {1: 2}}"))


def test_other_expressions_make_no_values_of_named_types() -> None:
    for text in ("Object{}", "jsonpatch.escapeKey('a')"):
        with pytest.raises(CompileError, match="undeclared reference"):
            PolicyEnvironment().compile(text)
