"""Error messages of Go's JSON scanner for text that is not JSON.

Well-formed tokens are skipped as a whole; the first malformed one is read again byte by byte, as the scanner does.

Source: Go src/encoding/json/scanner.go (stateBeginValue … stateEndTop, scanner.eof, quoteChar), which sigs.k8s.io/json
and the API server's first look at a body (json.SimpleMetaFactory.Interpret) share.
"""

from __future__ import annotations

import re

MAX_NESTING = 10_000
"""Source: scanner.go maxNestingDepth."""
_SPACE = re.compile(rb"[ \t\r\n]*+")
# Nothing here is possessive: up to Python 3.11.4 a possessive group ends inside a part that did not match, and a
# possessive class inside a repeated group has given wrong answers for megabytes. The runs of plain characters and the
# escapes exclude each other, so a failed match takes linear time. Source: python/cpython issue 106052.
_PLAIN, _ESCAPE = rb'[^"\\\x00-\x1f]*', rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'
_STRING_PART = re.compile(b'"%b(?:%b%b)*' % (_PLAIN, _ESCAPE, _PLAIN))
_STRING = re.compile(_STRING_PART.pattern + b'"')
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?")
_WORDS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_DIGITS = b"0123456789"
_HEX = b"0123456789abcdefABCDEF"
_ESCAPES = {7: r"\a", 8: r"\b", 9: r"\t", 10: r"\n", 11: r"\v", 12: r"\f", 13: r"\r", 34: '"', 39: r"\'", 92: r"\\"}
_END = ord(" ")
"""The byte that the scanner receives at the end of the text, to detect unfinished values."""


class _SyntaxError(Exception):
    pass


def syntax_error(data: bytes) -> str:
    """Return the scanner's message; "" for a text that is JSON."""
    try:
        _scan(data)
    except _SyntaxError as error:
        return str(error)
    return ""


def quoted(byte: int) -> str:
    """Return a byte as the messages show it: the character of that number, escaped as in Go. Source: quoteChar."""
    shown = _ESCAPES.get(byte)
    if shown is None:
        if byte < 0x20 or byte == 0x7F:
            shown = f"\\x{byte:02x}"
        elif 0x80 <= byte <= 0xA0 or byte == 0xAD:  # not printable
            shown = f"\\u{byte:04x}"
        else:
            shown = chr(byte)
    return f"'{shown}'"


def _wrong(data: bytes, at: int, where: str) -> _SyntaxError:
    return _SyntaxError(f"invalid character {quoted(data[at] if at < len(data) else _END)} {where}")


def _scan(data: bytes) -> None:
    at, size, closers = 0, len(data), bytearray()
    first = False  # true behind an opening bracket, where the container may end without an item
    while True:
        at = _skip(data, at)
        if closers and first and data[at : at + 1] == closers[-1:]:
            at = _close(closers, at)
        else:
            if closers and closers[-1] == ord("}"):
                at = _key(data, at)
            if at >= size:
                raise _SyntaxError("unexpected end of JSON input")
            if data[at] in b"{[":
                closers.append(ord("}") if data[at] == ord("{") else ord("]"))
                if len(closers) > MAX_NESTING:
                    raise _wrong(data, at, "exceeded max depth")
                at, first = at + 1, True
                continue
            at = _literal(data, at)
        first = False
        while True:  # after a value
            at = _skip(data, at)
            if not closers:
                if at < size:
                    raise _wrong(data, at, "after top-level value")
                return
            if at >= size:
                raise _SyntaxError("unexpected end of JSON input")
            if data[at] == closers[-1]:
                at = _close(closers, at)
            elif data[at] == ord(","):
                at += 1
                break
            else:
                inside = "object key:value pair" if closers[-1] == ord("}") else "array element"
                raise _wrong(data, at, f"after {inside}")


def _close(closers: bytearray, at: int) -> int:
    closers.pop()
    return at + 1


def _skip(data: bytes, at: int) -> int:
    found = _SPACE.match(data, at)
    return found.end() if found else at


def _key(data: bytes, at: int) -> int:
    """Skip a key and its colon; return the offset of the value."""
    if at >= len(data):
        raise _SyntaxError("unexpected end of JSON input")
    if data[at] != ord('"'):
        raise _wrong(data, at, "looking for beginning of object key string")
    at = _skip(data, _string(data, at))
    if at >= len(data):
        raise _SyntaxError("unexpected end of JSON input")
    if data[at] != ord(":"):
        raise _wrong(data, at, "after object key")
    return _skip(data, at + 1)


def _literal(data: bytes, at: int) -> int:
    """Return the end of the string, number or word at this offset."""
    if data[at] == ord('"'):
        return _string(data, at)
    if data[at] == ord("-") or data[at] in _DIGITS:
        return _number(data, at)
    word = _WORDS.get(data[at])
    if word is None:
        raise _wrong(data, at, "looking for beginning of value")
    for number in range(1, len(word)):
        if data[at + number : at + number + 1] != word[number : number + 1]:
            raise _wrong(data, at + number, f"in literal {word.decode()} (expecting {quoted(word[number])})")
    return at + len(word)


def _number(data: bytes, at: int) -> int:
    found = _NUMBER.match(data, at)
    if found is None:
        raise _wrong(data, at + 1, "in numeric literal")
    end, after = found.end(), data[found.end() : found.end() + 1]
    if after == b"." and found[1] is None and found[2] is None:
        raise _wrong(data, end + 1, "after decimal point in numeric literal")
    if after in (b"e", b"E") and found[2] is None:
        sign = data[end + 1 : end + 2] in (b"+", b"-")
        raise _wrong(data, end + 2 if sign else end + 1, "in exponent of numeric literal")
    return end


def _string(data: bytes, at: int) -> int:
    found = _STRING.match(data, at)
    if found is not None:
        return found.end()
    part = _STRING_PART.match(data, at)
    end = part.end() if part else at + 1
    if end >= len(data):
        raise _SyntaxError("unexpected end of JSON input")
    if data[end] != ord("\\"):
        raise _wrong(data, end, "in string literal")
    if data[end + 1 : end + 2] != b"u":
        raise _wrong(data, end + 1, "in string escape code")
    digit = end + 2
    while digit < len(data) and data[digit] in _HEX:
        digit += 1
    raise _wrong(data, digit, "in \\u hexadecimal character escape")
