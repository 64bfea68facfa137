"""Types of lists and maps: what an expression may do with them, as cel-go's checker has it."""

from __future__ import annotations

import pytest

from kitlib.cel.admission_expressions import PolicyEnvironment
from kitlib.cel.parser import CompileError


def compiled(text: str) -> str:
    return PolicyEnvironment().compile(text).kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[1, 2]", "list(int)"),
        ("[1, dyn('a')]", "list"),
        ("[]", "list()"),
        ("[[], [1]]", "list(list(int))"),
        ("[1] + [dyn('a')]", "list"),
        ("{'a': 1}", "map(string, int)"),
        ("{'a': 1, dyn(2): dyn('b')}", "map"),
        ("{'a': {}, 'b': {'c': [1]}}", "map(string, map(string, list(int)))"),
        ("{'a': object}", "map(string, dyn)"),
        ("{'a': 1}.a", "int"),
        ("{'a': {'b': true}}['a'].b", "bool"),
        ("[1, 2].filter(x, x > 1)", "list(int)"),
        ("{'a': 1}.filter(k, k == 'a')", "list(string)"),
        ("{'a': 1}.map(k, [k])", "list(list(string))"),
        ("object.spec.map(x, x)", "list"),
        ("[1] + []", "list(int)"),
        ("[object] + [1]", "list"),
        ("true ? {} : {'a': 1}", "map(string, int)"),
        ("request.userInfo.groups[0]", "string"),
        ("request.userInfo.extra['a'][0]", "string"),
        ("namespaceObject.metadata.labels['a']", "string"),
        ("namespaceObject.status.conditions[0].type", "string"),
        ("true ? namespaceObject : null", "kubernetes.Namespace"),
        ("namespaceObject != null", "bool"),
        ("optional.of(1) == null", "bool"),
        ("object.?a.optMap(x, x + 1)", "optional_type"),
    ],
)
def test_the_type_of_an_expression(text: str, kind: str) -> None:
    assert compiled(text) == kind


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{'a': 1}.a == 'x'", "no matching overload for '_==_' applied to '(int, string)'"),
        ("1 in {'a': 1}", "no matching overload for '@in' applied to '(int, map(string, int))'"),
        ("{'a': 1}[1]", "no matching overload for '_[_]' applied to '(map(string, int), int)'"),
        ("{'a': 1}.all(k, k > 1)", "no matching overload for '_>_' applied to '(string, int)'"),
        ("{'a': 1} == {1: 'a'}", "applied to '(map(string, int), map(int, string))'"),
        ("[1, 'a']", "<input>:1:5: expected type 'int' but found 'string'"),
        ("[[1], ['a']]", "expected type 'list(int)' but found 'list(string)'"),
        ("{'a': 1, 2: 1}", "<input>:1:10: expected type 'string' but found 'int'"),
        ("{'a': 1, 'b': true}", "<input>:1:15: expected type 'int' but found 'bool'"),
        ("[1] == null", "no matching overload for '_==_' applied to '(list(int), null_type)'"),
        ("request.userInfo.groups.all(g, g == 1)", "applied to '(string, int)'"),
        ("namespaceObject.metadata.uid", "undefined field 'uid'"),
        ("namespaceObject.spec.phase", "undefined field 'phase'"),
        ("optional.of()", "no matching overload for 'optional.of' applied to '()'"),
        ("[1].optMap(x, x)", "no matching overload for 'hasValue' applied to 'list(int).()'"),
        ("object.optMap(x.y, x)", "optMap() variable name must be a simple identifier"),
        ("object.optFlatMap(x, 1)", "no matching overload for '_?_:_' applied to '(bool, int, optional_type(dyn))'"),
    ],
)
def test_what_does_not_go_together_is_refused(text: str, words: str) -> None:
    with pytest.raises(CompileError) as error:
        compiled(text)
    assert words in str(error.value)
