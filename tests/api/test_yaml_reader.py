"""The YAML reader: values of YAML 1.1 as JSON, aliases and merges, duplicate keys, and the positions of errors."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.boundary import MAX_DEPTH, MAX_DIGITS, MAX_KEY, MAX_NODES
from kitlib.api.errors import ManifestError
from kitlib.api.yaml_reader import yaml_documents


def read(text: str | bytes, repeated: list[str] | None = None) -> list[Any]:
    return list(yaml_documents(text, repeated=repeated))


def problem(text: str, file: str = "") -> str:
    with pytest.raises(ManifestError) as raised:
        list(yaml_documents(text, file))
    return str(raised.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-0x1F", -31),
        ("017", 15),
        ("1_000", 1000),
        ("1:30", 90),
        ("0.5", 0.5),
        ("1e3", "1e3"),
        ("1.0e+3", 1000.0),
        ("yes", True),
        ("Off", False),
        ("y", "y"),
        ("~", None),
        ("null", None),
        ("'1'", "1"),
        ('"no"', "no"),
        ("! 5", "5"),
        ("2024-01-02", "2024-01-02"),
        ("!!str 1", "1"),
        ("!!int '7'", 7),
        ("!!float 1", 1.0),
        ("!!bool 'on'", True),
        ("!!null x", None),
        ("<<", "<<"),
        ("[a, [b], {}]", ["a", ["b"], {}]),
        ("{a: {b: c}}", {"a": {"b": "c"}}),
        ("- - a\n- b", [["a"], "b"]),
    ],
)
def test_plain_values(text: str, value: Any) -> None:
    (found,) = read(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("key", "name"),
    [("1", "1"), ("true", "true"), ("no", "false"), ("1.5", "1.5"), ("0x10", "16"), ("'<<'", "<<"), ("a", "a")],
)
def test_keys_become_texts(key: str, name: str) -> None:
    """Source: convertToJSONableObject."""
    assert read(f"{key}: x") == [{name: "x"}]


def test_documents() -> None:
    assert read("a: 1\n---\n---\nb: 2\n") == [{"a": 1}, None, {"b": 2}]
    assert read("") == []
    assert read(b"a: \xc3\xbc") == [{"a": "ü"}]


def test_aliases_are_copies_of_their_anchors() -> None:
    assert read("a: &x {b: 1}\nc: *x\nd: &y 5\ne: [*y, *y]") == [{"a": {"b": 1}, "c": {"b": 1}, "d": 5, "e": [5, 5]}]
    assert read("- &x 1\n- &x 2\n- *x") == [[1, 2, 2]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<<: {a: 1, b: 2}\nb: 3", {"a": 1, "b": 3}),
        ("b: 3\n<<: {a: 1, b: 2}", {"a": 1, "b": 3}),
        ("<<: [{a: 1}, {a: 2, b: 2}]", {"a": 1, "b": 2}),
        ("<<: {a: 1}\n<<: {a: 2, c: 3}", {"a": 1, "c": 3}),
        ("a: <<", {"a": "<<"}),
    ],
)
def test_merge_keys(text: str, value: dict[str, Any]) -> None:
    """The mapping's own keys win, then the first merge."""
    assert read(text) == [value]


@pytest.mark.parametrize(
    ("text", "value", "lines"),
    [
        ("a: 1\nb: 2\na: 3", {"a": 3, "b": 2}, ['line 3: key "a" already set in map']),
        ("a: 1\na:\n  b: 2", {"a": {"b": 2}}, ['line 3: key "a" already set in map']),
        (
            "a: 1\na:\n  x: 1\n  x: 2",
            {"a": {"x": 2}},
            ['line 4: key "x" already set in map', 'line 3: key "a" already set in map'],
        ),
        ("{a: 1, 'a': 2}", {"a": 2}, ['line 1: key "a" already set in map']),
        ("a: 1", {"a": 1}, []),
    ],
)
def test_duplicate_keys_are_listed_in_go_yamls_words(text: str, value: Any, lines: list[str]) -> None:
    repeated: list[str] = []
    assert read(text, repeated) == [value]
    assert repeated == lines


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2", "document 1: key 'a' already set in map, line 2, column 1"),
        ("x:\n  - a: 1\n    a: 2", "document 1, x[0]: key 'a' already set in map, line 3, column 5"),
        ("a: *x", "document 1, a: anchor 'x' is not defined before, line 1, column 4"),
        ("a: &x {b: *x}", "document 1, a.b: anchor 'x' contains itself, line 1, column 11"),
        ("? [a]\n: b", "document 1: a key must be a text, a number or a truth value, line 1, column 3"),
        ("~: b", "document 1: a key must be a text, a number or a truth value, line 1, column 1"),
        ("<<: 5", "document 1: a merge key needs a mapping or a list of mappings, line 1, column 5"),
        ("<<: [{}, 5]", "a merge key needs a mapping or a list of mappings"),
        ("a: !!binary x", "document 1, a: tag 'tag:yaml.org,2002:binary' is not one of JSON's types"),
        ("a: !x {}", "document 1, a: tag '!x' is not one of JSON's types"),
        ("a: !!int x", "document 1, a: 'x': not a value of type int"),
        ("a: !!seq x", "document 1, a: 'x': a seq is expected"),
        ("a: .inf", "document 1, a: '.inf': not a JSON value"),
        ("a: -.Inf", "not a JSON value"),
        ("a: .nan", "not a JSON value"),
        ("a: 1\n---\nb: [1, .nan]", "document 2, b[1]: '.nan': not a JSON value, line 3, column 8"),
    ],
)
def test_the_position_of_an_error(text: str, message: str) -> None:
    found = problem(text)
    assert message in found.replace('"', "'")


def test_text_that_is_not_yaml_has_an_excerpt() -> None:
    with pytest.raises(ManifestError) as raised:
        list(yaml_documents("a: 1\nb: 2\nc: 3\nd: [1\n", "f.yaml"))
    assert str(raised.value).startswith("f.yaml, document 1: not YAML: ")
    lines = raised.value.excerpt.splitlines()
    assert lines[-1].endswith("^")
    assert "   4 | d: [1" in lines
    assert len(lines) == 4


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(ManifestError):
        read(b"a: \xff\xfe\xfa")


def test_limits_of_depth() -> None:
    assert read("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert f"more than {MAX_DEPTH} levels" in problem("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))


def test_an_alias_counts_its_levels() -> None:
    half = MAX_DEPTH // 2
    deep = "[" * half + "a" + "]" * half
    assert read(f"- &x {deep}\n- *x")
    most = MAX_DEPTH - half - 1
    assert read(f"- &x {deep}\n- {'[' * most}*x{']' * most}")
    assert f"more than {MAX_DEPTH} levels" in problem(f"- &x {deep}\n- {'[' * most}[*x]{']' * most}")


def test_aliases_count_with_what_they_expand_to() -> None:
    lines, previous = ["- &a0 [x, x]"], 0
    for i in range(1, 40):
        lines.append(f"- &a{i} [{', '.join([f'*a{previous}'] * 10)}]")
        previous = i
    assert f"more than {MAX_NODES} values" in problem("\n".join(lines))


@pytest.mark.parametrize(("length", "valid"), [(MAX_DIGITS, True), (MAX_DIGITS + 1, False)])
def test_limits_of_digits(length: int, valid: bool) -> None:
    text = "1" * length
    if valid:
        assert read(text) == [int(text)]
    else:
        assert f"a number of {length} digits" in problem(text)
        assert f"a number of {length} digits" in problem(f"!!int {text}")
        assert read(f"'{text}'") == [text]


def test_limits_of_keys() -> None:
    assert read(f"? {'k' * MAX_KEY}\n: 1") == [{"k" * MAX_KEY: 1}]
    assert f"a key of {MAX_KEY + 1} characters" in problem(f"? {'k' * (MAX_KEY + 1)}\n: 1")
