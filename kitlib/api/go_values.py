"""Values as Go prints them. Source: fmt (%v, %#v); maps by sorted keys."""

from __future__ import annotations

import json
from typing import Any


def go_text(value: Any) -> str:
    """Return a value as `%v` prints it: `map[a:1 b:[x y]]`."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else str(value)


def go_syntax(value: Any) -> str:
    """Return a value as `%#v` prints it: `map[string]interface {}{"a":1}`."""
    if isinstance(value, dict):
        inside = ", ".join(f"{json.dumps(key)}:{go_syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{inside}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(go_syntax, value))}}}"
    if value is None:
        return "interface {}(nil)"
    return json.dumps(value, ensure_ascii=False)


_ESCAPES = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}


def go_quote(text: str) -> str:
    """Return a text as `%q` prints it; Go and Python agree on printable characters. Source: strconv.Quote, IsPrint."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_quoted, text))}"'


def _quoted(char: str) -> str:
    code = ord(char)
    if code in _ESCAPES:
        return _ESCAPES[code]
    if char.isprintable():
        return char
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def go_type(value: Any) -> str:
    """Return the type of a value as `%T` prints it: `string`."""
    kinds = {bool: "bool", int: "int64", float: "float64", str: "string", list: "[]interface {}"}
    return kinds.get(type(value), "map[string]interface {}" if isinstance(value, dict) else "<nil>")
