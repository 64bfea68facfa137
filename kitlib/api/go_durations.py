"""Durations as Go writes them, `1m30s`, in the kubelet's configuration and messages.

Source: Go time.ParseDuration, time.Duration.String.
"""

from __future__ import annotations

import re

NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART = re.compile(r"([0-9]*)(\.[0-9]*)?([^0-9.]*)")


def nanoseconds(text: str) -> int:
    """Return the nanoseconds of a duration.

    Args:
        text: the numbers with units, `300ms`, `-1.5h`, `2h45m`; `0` needs no unit.

    Raises:
        ValueError: the text is not a duration; the message is Go's.
    """
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise ValueError(f'time: invalid duration "{text}"')
    total = 0
    while rest:
        found = _PART.match(rest)
        assert found is not None
        whole, fraction, unit = found[1], (found[2] or "")[1:], found[3]
        if not whole and not fraction:
            raise ValueError(f'time: invalid duration "{text}"')
        if not unit:
            raise ValueError(f'time: missing unit in duration "{text}"')
        if unit not in NANOSECONDS:
            raise ValueError(f'time: unknown unit "{unit}" in duration "{text}"')
        total += int(whole or 0) * NANOSECONDS[unit]
        if fraction:
            total += int(fraction) * NANOSECONDS[unit] // 10 ** len(fraction)
        rest = rest[found.end() :]
    if total >= 2**63:
        raise ValueError(f'time: invalid duration "{text}"')
    return -total if text[0] == "-" else total


def duration(text: str | int | float) -> float:
    """Return the seconds of a duration; a number is in seconds already.

    Raises:
        ValueError: the text is not a duration; the message is Go's.
    """
    if isinstance(text, int | float) and not isinstance(text, bool):
        return float(text)
    return nanoseconds(str(text)) / 1e9


def go_string(seconds: float) -> str:
    """Return a duration as Go prints it: `1m30s`, `100ms`, `0s`. Source: Go time.Duration.String."""
    ns = round(abs(seconds) * 1e9)
    sign = "-" if seconds < 0 else ""
    if ns < 1_000_000_000:
        for unit in ("ms", "µs"):
            if ns >= NANOSECONDS[unit]:
                return f"{sign}{_decimal(ns, NANOSECONDS[unit])}{unit}"
        return f"{sign}{ns}ns" if ns else "0s"
    minutes, rest = divmod(ns, NANOSECONDS["m"])
    hours, minutes = divmod(minutes, 60)
    tail = f"{_decimal(rest, NANOSECONDS['s'])}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{tail}"
    return f"{sign}{minutes}m{tail}" if minutes else f"{sign}{tail}"


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    digits = str(rest).rjust(len(str(unit)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)
