"""The words of Go's JSON scanner."""

from __future__ import annotations

import json
import random
import time

import pytest

from kitlib.api.go_json import quoted, syntax_error

END = "unexpected end of JSON input"
# Texts and messages as Go's encoding/json gives them: its own tests (scanner_test.go, decode_test.go) and its states.
CASES = [
    (b"", END),
    (b"   \n", END),
    (b"hello", "invalid character 'h' looking for beginning of value"),
    (b"apiVersion: v1", "invalid character 'a' looking for beginning of value"),
    (b"{", END),
    (b"[", END),
    (b'{"a"', END),
    (b'{"a":', END),
    (b'{"a":1', END),
    (b'{"a":1,', END),
    (b'"abc', END),
    (b"[1, 2, 3", END),
    (b"[1,]", "invalid character ']' looking for beginning of value"),
    (b"[,1]", "invalid character ',' looking for beginning of value"),
    (b"[2, 3", END),
    (b'{"X": "foo", "Y"}', "invalid character '}' after object key"),
    (b"[1, 2, 3+]", "invalid character '+' after array element"),
    (b'{"X":12x}', "invalid character 'x' after object key:value pair"),
    (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
    (b"{,}", "invalid character ',' looking for beginning of object key string"),
    (b"{'a':1}", "invalid character '\\'' looking for beginning of object key string"),
    (b'{"a" "b"}', "invalid character '\"' after object key"),
    (b'{"a":1]', "invalid character ']' after object key:value pair"),
    (b"[1}", "invalid character '}' after array element"),
    (b"{}}", "invalid character '}' after top-level value"),
    (b"{}\n{}", "invalid character '{' after top-level value"),
    (b"nul", "invalid character ' ' in literal null (expecting 'l')"),
    (b"nil", "invalid character 'i' in literal null (expecting 'u')"),
    (b"True", "invalid character 'T' looking for beginning of value"),
    (b"tree", "invalid character 'e' in literal true (expecting 'u')"),
    (b"falsy", "invalid character 'y' in literal false (expecting 'e')"),
    (b"-", "invalid character ' ' in numeric literal"),
    (b"[-a]", "invalid character 'a' in numeric literal"),
    (b"[01]", "invalid character '1' after array element"),
    (b"01", "invalid character '1' after top-level value"),
    (b"[1.]", "invalid character ']' after decimal point in numeric literal"),
    (b"1.", "invalid character ' ' after decimal point in numeric literal"),
    (b"1.5.2", "invalid character '.' after top-level value"),
    (b"[1e]", "invalid character ']' in exponent of numeric literal"),
    (b"[1e+x]", "invalid character 'x' in exponent of numeric literal"),
    (b"[1e5e5]", "invalid character 'e' after array element"),
    (b"[1e5.5]", "invalid character '.' after array element"),
    (b".5", "invalid character '.' looking for beginning of value"),
    (b"+5", "invalid character '+' looking for beginning of value"),
    (b"NaN", "invalid character 'N' looking for beginning of value"),
    (b'"\\x"', "invalid character 'x' in string escape code"),
    (b'"\\', "invalid character ' ' in string escape code"),
    (b'"\\u12', "invalid character ' ' in \\u hexadecimal character escape"),
    (b'"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"),
    (b'"a\nb"', "invalid character '\\n' in string literal"),
    (b'"a\x00b"', "invalid character '\\x00' in string literal"),
    (b"\x1f\x8b\x08", "invalid character '\\x1f' looking for beginning of value"),
    ("é".encode(), "invalid character 'Ã' looking for beginning of value"),
    (b"\xef\xbb\xbf{}", "invalid character 'ï' looking for beginning of value"),
    (b"\xff", "invalid character 'ÿ' looking for beginning of value"),
    (b"\x80", "invalid character '\\u0080' looking for beginning of value"),
    (b"[" * 10_001, "invalid character '[' exceeded max depth"),
]


@pytest.mark.parametrize(("text", "message"), CASES, ids=[repr(text[:20]) for text, _ in CASES])
def test_a_malformed_text_is_refused_in_gos_words(text: bytes, message: str) -> None:
    assert syntax_error(text) == message


@pytest.mark.parametrize(
    "text", [b"{}", b" [ ] ", b'{"a":[1,-0.5e+3,"\\u00e9\\n",true,false,null,{}]}', b"12", b'"\xff"', b'"\\ud800"']
)
def test_what_go_reads_is_no_error(text: bytes) -> None:
    assert syntax_error(text) == ""


def test_special_characters_are_quoted_as_go_does() -> None:
    assert [quoted(byte) for byte in b"\\\"'\t\x7f\xa0\xad"] == [
        *("'\\\\'", "'\"'", "'\\''", "'\\t'", "'\\x7f'", "'\\u00a0'", "'\\u00ad'")
    ]


def test_mutated_texts_are_judged_as_a_json_reader_judges_them() -> None:
    chance = random.Random(7)
    seed = b'{"a":[1,-0.5e+3,"x\\u00e9\\n",true,false,null,{}],"b":{"c":"d"}}'
    refused = 0
    for _ in range(4000):
        text = bytearray(seed)
        for _ in range(chance.randrange(4)):
            at = chance.randrange(len(text))
            text[at : at + chance.randrange(3)] = bytes(chance.choice(b'{}[]",:\\u0e+-.tfn \t\x01') for _ in range(2))
        message = syntax_error(bytes(text[: chance.randrange(len(text)) if chance.random() < 0.2 else None]))
        assert message == "" or message == END or message.startswith("invalid character '")
        try:
            json.loads(bytes(text))
            valid = True
        except ValueError:
            valid = False
        message = syntax_error(bytes(text))
        assert (message == "") is valid, (bytes(text), message)
        refused += not valid
    assert refused > 2000


@pytest.mark.speed
def test_a_large_hostile_text_is_read_in_linear_time() -> None:
    texts = (b"[" + b"[]," * 300_000, b'"' + b"\\" * 1_000_001, b"[" + b"1" * 1_000_000, b'{"a":"' + b"x" * 1_000_000)
    began = time.monotonic()
    assert all(map(syntax_error, texts))
    assert time.monotonic() - began < 5
