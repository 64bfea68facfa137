"""Strings in CEL: the named formats of `format.named`, `string.format` with its verbs, and quoting.

Source: k8s.io/apiserver/pkg/cel/library/format.go; cel-go ext formatting.go (string.format), strings.go (quote).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from kitlib.api import names
from kitlib.cel.conversions import go_float
from kitlib.cel.library import (
    BOOL,
    BYTES,
    DOUBLE,
    INT,
    LIST,
    MAP,
    NULL,
    OPTIONAL,
    STRING,
    TYPE,
    UINT,
    EvaluationError,
    Maybe,
    Overload,
    charge,
    charge_text,
    type_of,
)
from kitlib.cel.network import location
from kitlib.cel.string_formats import has_format
from kitlib.cel.times import DURATION, TIMESTAMP

FORMAT = "kubernetes.NamedFormat"
Check = Callable[[str], tuple[str, ...]]
MAX_PRECISION = 100
"""The maximum number of digits after the decimal point; cel-go bounds them only by their cost."""
_VERB = re.compile(r"%(?:(%)|(?:\.(\d*))?(.)?)", re.DOTALL)


@dataclass(frozen=True)
class NamedFormat:
    """A named format and its check, which returns the problems of a text."""

    type_name: ClassVar[str] = FORMAT
    name: str
    check: Check


def _prefix(check: Check) -> Check:
    """Return the check for a name's prefix: a dash at its end is accepted. Source: maskTrailingDash."""
    return lambda text: check(text[:-1] + "a" if len(text) > 1 and text.endswith("-") else text)


def _schema_format(name: str, words: str) -> NamedFormat:
    """Return the format of the same name in OpenAPI schemas."""
    return NamedFormat(name, lambda text: () if has_format(text, name) else (words,))


def _uri(text: str) -> tuple[str, ...]:
    try:
        location(text)
    except EvaluationError as error:
        return (str(error).partition(": ")[2],)
    return ()


FORMATS = {
    named_format.name: named_format
    for named_format in (
        NamedFormat("dns1123Label", names.is_dns1123_label),
        NamedFormat("dns1123Subdomain", names.is_dns1123_subdomain),
        NamedFormat("dns1035Label", names.is_dns1035_label),
        NamedFormat("qualifiedName", names.is_qualified_name),
        NamedFormat("dns1123LabelPrefix", _prefix(names.is_dns1123_label)),
        NamedFormat("dns1123SubdomainPrefix", _prefix(names.is_dns1123_subdomain)),
        NamedFormat("dns1035LabelPrefix", _prefix(names.is_dns1035_label)),
        NamedFormat("labelValue", names.is_valid_label_value),
        NamedFormat("uri", _uri),
        _schema_format("uuid", "does not match the UUID format"),
        _schema_format("byte", "invalid base64"),
        _schema_format("date", "invalid date"),
        _schema_format("datetime", "invalid datetime"),
    )
}


def _validated(named_format: NamedFormat, text: str) -> Maybe:
    charge_text(len(text))
    wrong = list(named_format.check(text))
    return Maybe(bool(wrong), wrong or None)


def _named(name: str) -> Maybe:
    return Maybe(name in FORMATS, FORMATS.get(name))


def quoted(text: str) -> str:
    """Quote a string and escape the characters that are not printable. Source: ext strings.go quote."""
    escapes = {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v"}
    charge_text(len(text))
    return '"' + "".join(escapes.get(c, f"\\{c}" if c in '\\"' else c) for c in text) + '"'


def formatted(text: str, values: list[Any]) -> str:
    """Replace the verbs of a format string by the values.

    Raises:
        EvaluationError: a verb is unknown, has no value, or has a value of an unsupported type.
    """
    made, at, used = [], 0, 0
    for found in _VERB.finditer(text):
        made.append(text[at : found.start()])
        at = found.end()
        if found[1]:
            made.append("%")
            continue
        verb, precision = found[3], found[2]
        if verb is None:
            raise EvaluationError("unexpected end of string")
        if verb not in _VERBS:
            raise EvaluationError(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')
        if used >= len(values):
            raise EvaluationError(f"index {used} out of range")
        digits = 6 if precision is None else int(precision[:4] or "0")
        if digits > MAX_PRECISION:
            raise EvaluationError(f"a precision of {digits} digits: at most {MAX_PRECISION} are written")
        made.append(_VERBS[verb](values[used], digits))
        charge_text(len(made[-1]))
        used += 1
    made.append(text[at:])
    charge_text(len(text))
    return "".join(made)


def shown(value: Any, inside: bool = False) -> str:
    """Format a value as `%s` does; strings inside lists and maps are quoted."""
    kind = type_of(value)
    if kind == STRING:
        return quoted(value) if inside else str(value)
    if kind == BYTES:
        return bytes(value).decode(errors="replace")
    if kind == LIST:
        charge(len(value) + 1)
        return f"[{', '.join(shown(one, True) for one in value)}]"
    if kind == MAP:
        charge(len(value) + 1)
        pairs = sorted((shown(key, True), shown(one, True)) for key, one in value.items())
        return f"{{{', '.join(f'{key}: {one}' for key, one in pairs)}}}"
    if kind == BOOL:
        return "true" if value else "false"
    if kind == DOUBLE:
        return go_float(value, plain=True)
    if kind in (INT, UINT, TIMESTAMP, DURATION, TYPE):
        return str(value)
    if kind == NULL:
        return "null"
    raise EvaluationError(_refused("string", "strings, bools, integers, doubles, lists, maps and times", kind))


def _refused(what: str, takes: str, kind: str) -> str:
    return f"error during formatting: {what} clause can only be used on {takes}, was given {kind}"


def _whole_number(value: Any, _: int) -> str:
    if type_of(value) not in (INT, UINT):
        raise EvaluationError(_refused("decimal", "integers", type_of(value)))
    return str(int(value))


def _float(style: str, what: str) -> Callable[[Any, int], str]:
    def written(value: Any, digits: int) -> str:
        if type_of(value) not in (DOUBLE, INT, UINT):
            raise EvaluationError(_refused(what, "doubles", type_of(value)))
        return format(float(value), f".{digits}{style}")

    return written


def _base(style: str, what: str) -> Callable[[Any, int], str]:
    def written(value: Any, _: int) -> str:
        kind = type_of(value)
        if kind in (INT, UINT):
            return format(int(value), style)
        if kind == BOOL and style == "b":
            return "1" if value else "0"
        if kind in (STRING, BYTES) and style in "xX":
            text = (value.encode() if kind == STRING else bytes(value)).hex()
            return text.upper() if style == "X" else text
        takes = {"b": "integers and bools", "o": "integers"}.get(style, "integers, byte buffers, and strings")
        raise EvaluationError(_refused(what, takes, kind))

    return written


_VERBS: dict[str, Callable[[Any, int], str]] = {
    "s": lambda value, _: shown(value),
    "d": _whole_number,
    "f": _float("f", "fixed-point"),
    "e": _float("e", "scientific"),
    "x": _base("x", "hex"),
    "X": _base("X", "hex"),
    "o": _base("o", "octal"),
    "b": _base("b", "binary"),
}

FUNCTIONS: dict[str, list[Overload]] = {
    **{
        f"format.{name}": [Overload((), FORMAT, lambda one=named_format: one)] for name, named_format in FORMATS.items()
    },
    "format.named": [Overload((STRING,), OPTIONAL, _named)],
    "strings.quote": [Overload((STRING,), STRING, quoted)],
}
METHODS: dict[str, list[Overload]] = {
    "validate": [Overload((FORMAT, STRING), OPTIONAL, _validated)],
    "format": [Overload((STRING, LIST), STRING, formatted)],
}
