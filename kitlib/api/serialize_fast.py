"""A fast path for large YAML files, used if the rapidyaml package is installed and the text is unambiguous.

`kubectl get -o yaml` prints plain block style, with quotes around each string that looks like another type. Such a
text becomes JSON in one step. A text with anything that YAML parsers read differently (`yes`, `0755`, `1_000`,
anchors, tags) is left to PyYAML, whose result is authoritative.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

LARGE = 100_000
"""The size in bytes from which the fast path pays off."""
LONG_LINE = 1 << 20
_VALUE = rb"(?:^|[:\-])[ \t]+"
_DOUBTFUL = re.compile(
    rb"(?m)"
    + _VALUE
    + rb"(?:[&*!%@`]"  # anchors, aliases, tags
    + rb"|(?:[yYnN]|[yY][eE][sS]|[nN][oO]|[oO][nN]|[oO][fF][fF]|~|N(?:ull|ULL)|T(?:rue|RUE)|F(?:alse|ALSE))[ \t\r]*$"
    + rb"|[-+]?\.?(?i:inf|infinity|nan)[ \t\r]*$"
    # texts that look like numbers, but are neither plain numbers nor IPv4 addresses
    + rb"|(?!(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|(?:[0-9]{1,3}\.){3}[0-9]{1,3})[ \t\r]*$)"
    + rb"(?:[-+.]?[0-9][0-9_.:eE+\-]*|[-+]?0[xob][0-9a-fA-F_]*)[ \t\r]*$)"
    + rb"|^[ \t]*(?:<<[ \t]*:|\?[ \t])|^%|^\.\.\.|^---[ \t]+\S|\t"
    + rb"|^ {200}|(?:- ){20}"  # too deep for recursive code
)
_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*"')
_SEPARATOR = re.compile(rb"(?m)^---[ \t\r]*$")


def documents(text: str | bytes) -> list[Any] | None:
    """Return the documents of a text as plain data; None if it is small or ambiguous, or without rapidyaml."""
    if len(text) < LARGE:
        return None
    try:
        data = text.encode() if isinstance(text, str) else text
    except UnicodeEncodeError:
        return None
    # Most lines of such a file occur many times, so the set of lines is far smaller than the text to search.
    lines = set(data.splitlines())
    if max(map(len, lines), default=0) > LONG_LINE:
        return None
    if _DOUBTFUL.search(b"\n".join(lines)) or any(map(_opens, lines)):
        return None
    try:
        import ryml
    except ImportError:
        return None
    parts = _SEPARATOR.split(data)
    if not parts[0].strip():
        del parts[0]
    try:
        return [_decoded(ryml, part) if part.strip() else None for part in parts]
    except Exception:  # the parser's own types; PyYAML then reports the error with its position
        return None


def _opens(line: bytes) -> bool:
    """Return whether a line may open a flow collection of several lines or deep nesting; the parser recurses there."""
    if b"[" not in line and b"{" not in line:
        return False
    value = line.lstrip(b" -")
    _, colon, rest = value.partition(b": ")
    if not (value[:1] in b"[{" or (colon and rest.lstrip()[:1] in (b"[", b"{"))):
        return False
    bare = _TEXTS.sub(b"", line)
    opened, closed = bare.count(b"[") + bare.count(b"{"), bare.count(b"]") + bare.count(b"}")
    return opened != closed or opened > 2000 or b"'" in bare or b"#" in bare or b'"' in bare


def _decoded(ryml: Any, part: bytes) -> Any:
    return msgspec.json.decode(ryml.emit_json(ryml.parse_in_arena(part)))
