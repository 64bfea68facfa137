"""Values as Go prints them. Source: fmt (%v, %#v); maps by sorted keys."""

from __future__ import annotations

import json
from typing import Any


def go_text(value: Any) -> str:
    """As `%v` prints it: `map[a:1 b:[x y]]`."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else str(value)


def go_syntax(value: Any) -> str:
    """As `%#v` prints it: `map[string]interface {}{"a":1}`."""
    if isinstance(value, dict):
        inside = ", ".join(f"{json.dumps(key)}:{go_syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{inside}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(go_syntax, value))}}}"
    if value is None:
        return "interface {}(nil)"
    return json.dumps(value, ensure_ascii=False)


def go_type(value: Any) -> str:
    """As `%T` prints it: `string`."""
    kinds = {bool: "bool", int: "int64", float: "float64", str: "string", list: "[]interface {}"}
    return kinds.get(type(value), "map[string]interface {}" if isinstance(value, dict) else "<nil>")
