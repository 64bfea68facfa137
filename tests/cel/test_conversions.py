"""Values as values of other types, unsigned numbers, bytes."""

from __future__ import annotations

import pytest

from kitlib.cel.conversions import go_float
from tests.cel.answers import answer


@pytest.mark.parametrize(
    "text",
    [
        "b'abc' + b'd' == b'abcd' && size(b'\\u00e9') == 2 && b'\\xff' > b'a'",
        "string(b'\\x61\\u00e9') == 'aé' && bytes('é') == b'\\303\\251' && rb'\\n' == b'\\\\n'",
        "1u + 2u == 3u && 7u / 2u == 3u && 7u % 2u == 1u && 0xFu - 1u == 14u && 2u * 3u == uint(6)",
        "1u < 2 && 2.5 > 2u && uint('12') == 12u && int(3u) == 3 && type(1u) == uint",
        "bool('True') && !bool('f') && string(true) == 'true' && int('-7') == -7 && double('1e3') == 1000.0",
        "[1u, 2u].sum() == 3u",
    ],
)
def test_what_holds(text: str) -> None:
    assert answer(text) is True


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("int('x')", "type conversion error from 'string' to 'int'"),
        ("int(1e30)", "integer overflow"),
        ("uint(-1)", "unsigned integer overflow"),
        ("uint('-1')", "type conversion error from 'string' to 'uint'"),
        ("bool('yes')", "type conversion error from 'string' to 'bool'"),
        ("double('x')", "type conversion error from 'string' to 'double'"),
        ("string(b'\\xff')", "invalid UTF-8 in bytes, cannot convert to string"),
        ("1u - 2u", "unsigned integer overflow"),
        ("1u / 0u", "division by zero"),
        ("-(1u)", "found no matching overload for '-_' applied to '(uint)'"),
        ("1u + 1", "found no matching overload for '_+_' applied to '(uint, int)'"),
        ("18446744073709551616u", "unsigned integer overflow"),
    ],
)
def test_what_is_refused(text: str, words: str) -> None:
    assert words in str(answer(text))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (-2.5, "-2.5"),
        (100000.0, "100000"),
        (1e6, "1e+06"),
        (123456789.0, "1.23456789e+08"),
        (0.0001, "0.0001"),
        (2.5e-7, "2.5e-07"),
        (float("-inf"), "-Inf"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles_are_shown_as_go_does(value: float, text: str) -> None:
    assert go_float(value) == text
