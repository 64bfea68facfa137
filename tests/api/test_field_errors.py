"""Field errors: the words of each type, values as Go prints them, and the checks that many fields share."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kitlib.api import field_errors as fields
from kitlib.api.core import Container, ContainerPort, Toleration
from kitlib.api.meta import LabelSelector
from kitlib.api.names import PERCENT_TEXT, SUBDOMAIN_TEXT
from kitlib.api.resource import Quantity
from kitlib.api.volume import EmptyDirVolumeSource


@pytest.mark.parametrize(
    ("error", "type_", "text"),
    [
        (fields.invalid("f", "a", "d"), "FieldValueInvalid", 'f: Invalid value: "a": d'),
        (fields.invalid("f", 1, ""), "FieldValueInvalid", "f: Invalid value: 1"),
        (fields.invalid("f", fields.OMITTED, "d"), "FieldValueInvalid", "f: Invalid value: d"),
        (fields.required("f"), "FieldValueRequired", "f: Required value"),
        (fields.required("f", "d"), "FieldValueRequired", "f: Required value: d"),
        (fields.forbidden("f", "d"), "FieldValueForbidden", "f: Forbidden: d"),
        (fields.duplicate("f", "a"), "FieldValueDuplicate", 'f: Duplicate value: "a"'),
        (fields.duplicate("f", 0, "d"), "FieldValueDuplicate", "f: Duplicate value: 0: d"),
        (fields.not_found("f", "a"), "FieldValueNotFound", 'f: Not found: "a"'),
        (fields.too_long_value("f", 63), "FieldValueTooLong", "f: Too long: may not be more than 63 bytes"),
        (fields.too_many("f", 5, 4), "FieldValueTooMany", "f: Too many: 5: must have at most 4 items"),
        (
            fields.not_supported("f", "x", ("a", "b")),
            "FieldValueNotSupported",
            'f: Unsupported value: "x": supported values: "a", "b"',
        ),
        (
            fields.FieldError("FieldValueTypeInvalid", "f", {}, "d"),
            "FieldValueTypeInvalid",
            "f: Invalid value: {}: d",
        ),
        (fields.FieldError("InternalError", "f", "a", "d"), "InternalError", "f: Internal error: d"),
    ],
)
def test_the_words_of_an_error(error: fields.FieldError, type_: str, text: str) -> None:
    """Source: field.Error.ErrorBody, ErrorType.String."""
    assert (error.type, str(error)) == (type_, text)
    assert error.body == text.removeprefix("f: ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('a"b\n', '"a\\"b\\n"'),
        (Quantity("500m"), '"500m"'),
        (True, "true"),
        (None, "null"),
        ([1, "a"], '[1,"a"]'),
        (["<", "&", "ü"], '["\\u003c","\\u0026","ü"]'),
        ([">"], '["\\u003e"]'),
        ({"b": 1, "a": Quantity("1")}, '{"a":"1","b":1}'),
        (datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), '"2024-01-02T03:04:05Z"'),
        (LabelSelector(match_labels={"a": "b"}), '{"matchLabels":{"a":"b"}}'),
        (fields.GoStruct(B=1, A=[Quantity("2")]), '{"B":1,"A":["2"]}'),
        (
            ContainerPort(container_port=80, host_ip="::1"),
            '{"Name":"","HostPort":0,"ContainerPort":80,"Protocol":"","HostIP":"::1"}',
        ),
        (
            Toleration(key="a", toleration_seconds=5),
            '{"Key":"a","Operator":"","Value":"","Effect":"","TolerationSeconds":5}',
        ),
        (EmptyDirVolumeSource(size_limit=Quantity("1Gi")), '{"Medium":"","SizeLimit":"1Gi"}'),
    ],
)
def test_a_value_is_shown_as_the_servers_internal_type(value: object, text: str) -> None:
    """Go's field names in Go's order, null for empty lists; metav1 types have JSON names."""
    assert fields.shown(value) == text


def test_empty_lists_and_maps_of_a_struct_are_null() -> None:
    shown = fields.shown(Container(name="c"))
    assert shown.startswith('{"Name":"c","Image":"","Command":null,"Args":null,"WorkingDir":"","Ports":null,')
    assert shown.endswith('"SecurityContext":null,"Stdin":false,"StdinOnce":false,"TTY":false}')


def test_the_difference_of_two_values_has_three_lines_around_each_change() -> None:
    """Source: util/diff.Diff."""
    old = dict.fromkeys("abcdefgh", 1)
    new = {**old, "a": 2}
    lines = fields.diff(old, new).splitlines()
    assert lines == ["@@ -1,5 +1,5 @@", " {", '- "a": 1,', '+ "a": 2,', '  "b": 1,', '  "c": 1,', '  "d": 1,']
    assert fields.diff(old, old) == ""


PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("acme.io/foo", []),
        (
            "acme.io/foo/bar?",
            [f"f: Invalid value: \"foo/bar?\": Invalid path (regex used for validation is '{PATH}')"],
        ),
        ("", ["f: Required value"]),
        ("acme.io", ['f: Invalid value: "acme.io": must be a domain-prefixed path (such as "acme.io/foo")']),
        ("acme.io/", ['f: Invalid value: "acme.io/": must be a domain-prefixed path (such as "acme.io/foo")']),
        ("/foo", ['f: Invalid value: "/foo": must be a domain-prefixed path (such as "acme.io/foo")']),
        ("A/foo", [f'f: Invalid value: "A": {SUBDOMAIN_TEXT}']),
    ],
)
def test_a_domain_prefixed_path(path: str, expected: list[str]) -> None:
    assert [str(error) for error in fields.validate_domain_prefixed_path(path, "f")] == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.b", []),
        ("a.b.", []),
        ("", ["f: Required value"]),
        ("a", ['f: Invalid value: "a": should be a domain with at least two segments separated by dots']),
        (f"{'a' * 64}.b", [f'f: Invalid value: "{"a" * 64}": must be no more than 63 characters']),
    ],
)
def test_a_fully_qualified_domain_name(name: str, expected: list[str]) -> None:
    """Source: validation.IsFullyQualifiedDomainName; only the first invalid label is reported."""
    assert [str(error) for error in fields.validate_fully_qualified_domain_name(name, "f")] == expected


def test_an_invalid_domain_name_joins_its_problems() -> None:
    (error,) = fields.validate_fully_qualified_domain_name("A" * 254, "f")
    assert error.detail == f"must be no more than 253 characters,{SUBDOMAIN_TEXT}"


@pytest.mark.parametrize(
    ("values", "wrong"), [(["*"], False), (["a", "b"], False), ([], False), (["*", "a"], True), (["*", "*"], True)]
)
def test_a_wildcard_is_alone(values: list[str], wrong: bool) -> None:
    found = fields.lone_wildcard("f", values, "verbs")
    details = ["if '*' is present, must not specify other verbs"] if wrong else []
    assert [error.detail for error in found] == details


@pytest.mark.parametrize(("value", "wrong"), [(None, False), (0, False), (1, False), (-1, True)])
def test_a_number_that_is_not_negative(value: int | None, wrong: bool) -> None:
    expected = [f"f: Invalid value: {value}: must be greater than or equal to 0"] if wrong else []
    assert [str(error) for error in fields.validate_nonnegative_field(value, "f")] == expected


def test_an_immutable_field_shows_its_new_value() -> None:
    assert fields.validate_immutable_field([1], [1], "f") == []
    assert [str(one) for one in fields.validate_immutable_field(2, None, "f")] == [
        "f: Invalid value: 2: field is immutable"
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("A", []),
        ("", ["f: Required value"]),
        ("a", ['f: Unsupported value: "a": supported values: "B", "A"']),
    ],
)
def test_an_enumeration_keeps_the_order_of_its_values(value: str, expected: list[str]) -> None:
    assert [str(error) for error in fields.validate_enum(value, "f", iter(("B", "A")))] == expected


@pytest.mark.parametrize(
    ("value", "valid", "small"),
    [
        (0, True, True),
        (200, True, True),
        (-1, False, True),
        ("0%", True, True),
        ("100%", True, True),
        ("101%", True, False),
        ("10", False, True),
        ("-1%", False, True),
    ],
)
def test_a_number_or_a_percentage(value: int | str, valid: bool, small: bool) -> None:
    """Source: ValidatePositiveIntOrPercent, IsNotMoreThan100Percent: a plain number has no maximum."""
    wrong = PERCENT_TEXT if isinstance(value, str) else "must be greater than or equal to 0"
    assert [error.detail for error in fields.validate_positive_int_or_percent(value, "f")] == ([] if valid else [wrong])
    found = [error.detail for error in fields.is_not_more_than_100_percent(value, "f")]
    assert found == ([] if small else ["must not be greater than 100%"])
