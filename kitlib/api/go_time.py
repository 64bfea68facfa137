"""Error messages of Go's `time.Parse` for text that does not fit a layout, checked part by part.

Source: Go src/time/format.go (Parse, nextStdChunk, skip, getnum, ParseError.Error, quote).
"""

from __future__ import annotations

import calendar
import re

RFC3339 = "2006-01-02T15:04:05Z07:00"
RFC3339_MICRO = "2006-01-02T15:04:05.000000Z07:00"
"""Source: metav1.RFC3339Micro."""
_PARTS = re.compile(r"2006|01|02|15|04|05|\.0+|Z07:00")
_FRACTION = re.compile(r"[.,][0-9]+")
_RANGES = {"01": ("month", 1, 12), "15": ("hour", 0, 23), "04": ("minute", 0, 59), "05": ("second", 0, 59)}


def quote(text: str) -> str:
    """Return a text in quotes; bytes other than printable ASCII become `\\x..`. Source: time.quote."""
    shown = "".join(
        f"\\{chr(byte)}" if chr(byte) in '"\\' else chr(byte) if 0x20 <= byte < 0x80 else f"\\x{byte:02x}"
        for byte in text.encode()
    )
    return f'"{shown}"'


def parse_problem(text: str, layout: str = RFC3339) -> str:
    """Return the message of the parse error; "" for a valid time.

    Args:
        text: the text to parse.
        layout: the layout, RFC3339 or RFC3339_MICRO.
    """
    rest, at, date = text, 0, {"2006": 0, "01": 0}
    for found in _PARTS.finditer(layout):
        for i, char in enumerate(layout[at : found.start()]):
            if rest[:1] != char:
                return _cannot(text, layout, rest, layout[at + i : found.start()])
            rest = rest[1:]
        part, at = found[0], found.end()
        number, after = _number(rest, part)
        if after is None:
            return _cannot(text, layout, rest, part)
        if part in _RANGES:
            name, low, high = _RANGES[part]
            if not low <= number <= high:
                return f"parsing time {quote(text)}: {name} out of range"
        problem = _offset_problem(rest) if part == "Z07:00" and rest[0] != "Z" else ""
        if problem:
            return f"parsing time {quote(text)}: {problem} out of range"
        date[part], rest = number, after
        if part == "05" and not layout.startswith(".", at):  # time.Parse accepts a fraction that is not in the layout
            fraction = _FRACTION.match(rest)
            rest = rest[fraction.end() :] if fraction else rest
    if rest:
        return f"parsing time {quote(text)}: extra text: {quote(rest)}"
    year, month = date["2006"], date["01"]
    days = calendar.monthrange(year or 2000, month)[1]  # year 0 is a leap year, too
    return "" if 1 <= date["02"] <= days else f"parsing time {quote(text)}: day out of range"


def _cannot(text: str, layout: str, rest: str, part: str) -> str:
    return f"parsing time {quote(text)} as {quote(layout)}: cannot parse {quote(rest)} as {quote(part)}"


def _number(rest: str, part: str) -> tuple[int, str | None]:
    """Return the number of one part and the text behind it; None as the text where the part is missing."""
    if part == "Z07:00":
        if rest[:1] == "Z":
            return 0, rest[1:]
        found = re.match(r"[+-][0-9]{2}:[0-9]{2}", rest)
        return 0, rest[6:] if found else None
    if part.startswith("."):
        found = re.match(rf"[.,][0-9]{{{len(part) - 1}}}", rest)
        return 0, rest[len(part) :] if found else None
    if part == "15":  # the hour may have one digit
        found = re.match(r"[0-9]{1,2}", rest)
    else:
        found = re.match(rf"[0-9]{{{len(part)}}}", rest)
    return (int(found[0]), rest[found.end() :]) if found else (0, None)


def _offset_problem(rest: str) -> str:
    if int(rest[1:3]) > 24:
        return "time zone offset hour"
    return "time zone offset minute" if int(rest[4:6]) > 60 else ""
