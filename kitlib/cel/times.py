"""Timestamps and durations in CEL: functions, accessors, arithmetic and comparison.

Source: cel-spec langdef.md (timestamps and durations); cel-go common/types timestamp.go, duration.go, overflow.go; Go
time.Parse, time.ParseDuration.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any, ClassVar

from kitlib.api.go_durations import nanoseconds
from kitlib.cel.library import INT, STRING, EvaluationError, Overload

TIMESTAMP, DURATION = "timestamp", "duration"
_SECOND = 10**9
_FIRST, _LAST = -62135596800 * _SECOND, 253402300800 * _SECOND
"""The minimum 0001-01-01T00:00:00Z and the exclusive maximum, one nanosecond after 9999-12-31T23:59:59.999999999Z."""
_RFC3339 = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)([.,]\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, order=True)
class Timestamp:
    """A point in time.

    Attributes:
        ns: nanoseconds since 1970-01-01T00:00:00Z.
        offset: the zone's offset from UTC in minutes; it changes only the string form.
    """

    type_name: ClassVar[str] = TIMESTAMP
    ns: int
    offset: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        if not _FIRST <= self.ns < _LAST:
            raise EvaluationError("timestamp overflow")

    def in_zone(self, zone: tzinfo) -> datetime:
        """Return the date and time in a zone, with a resolution of one second."""
        return (_EPOCH + timedelta(seconds=self.ns // _SECOND)).astimezone(zone)

    def __str__(self) -> str:
        shown = (_EPOCH + timedelta(seconds=self.ns // _SECOND, minutes=self.offset)).strftime("%Y-%m-%dT%H:%M:%S")
        part = f".{self.ns % _SECOND:09}".rstrip("0").rstrip(".")
        hours, minutes = divmod(abs(self.offset), 60)
        zone = f"{'-' if self.offset < 0 else '+'}{hours:02}:{minutes:02}" if self.offset else "Z"
        return f"{shown.rjust(19, '0')}{part}{zone}"


@dataclass(frozen=True, order=True)
class Duration:
    """A duration in nanoseconds."""

    type_name: ClassVar[str] = DURATION
    ns: int

    def __post_init__(self) -> None:
        if not -(2**63) <= self.ns < 2**63:
            raise EvaluationError("duration overflow")

    def __str__(self) -> str:
        """Return the duration in seconds, e.g. `1.5s`. Source: Duration.ConvertToType."""
        whole, part = divmod(abs(self.ns), _SECOND)
        digits = f".{part:09}".rstrip("0").rstrip(".")
        return f"{'-' if self.ns < 0 else ''}{whole}{digits}s"


def timestamp(text: str) -> Timestamp:
    """Parse an RFC 3339 timestamp.

    Raises:
        EvaluationError: the text is not a timestamp.
    """
    found = _RFC3339.fullmatch(text)
    try:
        if found is None:
            raise ValueError(text)
        moment = datetime(*(int(found[i]) for i in range(1, 7)), tzinfo=UTC)  # type: ignore[arg-type, misc]
        hours, minutes = (0, 0) if found[8] == "Z" else (int(found[8][1:3]), int(found[8][4:]))
        if hours > 24 or minutes > 59:
            raise ValueError(text)
    except ValueError:
        raise EvaluationError("type conversion error from 'string' to 'google.protobuf.Timestamp'") from None
    offset = (hours * 60 + minutes) * (-1 if found[8][0] == "-" else 1)
    part = int(found[7][1:10].ljust(9, "0")) if found[7] else 0
    seconds = int((moment - _EPOCH).total_seconds()) - offset * 60
    return Timestamp(seconds * _SECOND + part, offset)


def duration(text: str) -> Duration:
    """Parse a duration in Go's format, e.g. `1h30m`.

    Raises:
        EvaluationError: the text is not a duration or exceeds 64 bits of nanoseconds.
    """
    try:
        return Duration(nanoseconds(text))
    except ValueError as error:
        if isinstance(error, EvaluationError):
            raise
        raise EvaluationError("type conversion error from 'string' to 'google.protobuf.Duration'") from None


def _zone(name: str) -> tzinfo:
    """Return the zone of a name or of an offset such as `-02:30`. Source: timestamp.go timeZone."""
    hours, colon, minutes = name.partition(":")
    if not colon:
        from zoneinfo import ZoneInfo

        try:
            return ZoneInfo(name) if name else UTC
        except (KeyError, ValueError, OSError):
            raise EvaluationError(f"unknown time zone {name}") from None
    try:
        # The sign is read from the text, because int("-00") has none.
        ahead = int(hours) * 60 + (-int(minutes) if name[0] == "-" else int(minutes))
        return timezone(timedelta(minutes=ahead))
    except ValueError:
        raise EvaluationError(f'strconv.Atoi: parsing "{hours}": invalid syntax') from None


def _part(take: Callable[[datetime], int]) -> list[Overload]:
    """Return the overloads of an accessor: in UTC, and in the zone of the second argument."""
    return [
        Overload((TIMESTAMP,), INT, lambda moment: take(moment.in_zone(UTC))),
        Overload((TIMESTAMP, STRING), INT, lambda moment, zone: take(moment.in_zone(_zone(zone)))),
    ]


def _towards_zero(ns: int, unit: int) -> int:
    return abs(ns) // unit * (-1 if ns < 0 else 1)


def _whole(unit: int) -> list[Overload]:
    """Return the overload that converts a duration to whole units, truncated towards zero."""
    return [Overload((DURATION,), INT, lambda passed: _towards_zero(passed.ns, unit))]


def _milliseconds(moment: Timestamp, zone: str = "") -> int:
    _zone(zone)
    return moment.ns % _SECOND // 10**6


def _identity(value: Any) -> Any:
    return value


FUNCTIONS: dict[str, list[Overload]] = {
    "timestamp": [
        Overload((STRING,), TIMESTAMP, timestamp),
        Overload((INT,), TIMESTAMP, lambda seconds: Timestamp(seconds * _SECOND)),
        Overload((TIMESTAMP,), TIMESTAMP, _identity),
    ],
    "duration": [Overload((STRING,), DURATION, duration), Overload((DURATION,), DURATION, _identity)],
    "int": [
        Overload((TIMESTAMP,), INT, lambda moment: moment.ns // _SECOND),
        Overload((DURATION,), INT, lambda passed: passed.ns),
    ],
    "string": [Overload((kind,), STRING, str) for kind in (TIMESTAMP, DURATION)],
}
METHODS: dict[str, list[Overload]] = {
    "getFullYear": _part(lambda moment: moment.year),
    "getMonth": _part(lambda moment: moment.month - 1),
    "getDate": _part(lambda moment: moment.day),
    "getDayOfMonth": _part(lambda moment: moment.day - 1),
    "getDayOfWeek": _part(lambda moment: moment.isoweekday() % 7),
    "getDayOfYear": _part(lambda moment: moment.timetuple().tm_yday - 1),
    "getHours": [*_part(lambda moment: moment.hour), *_whole(3600 * _SECOND)],
    "getMinutes": [*_part(lambda moment: moment.minute), *_whole(60 * _SECOND)],
    "getSeconds": [*_part(lambda moment: moment.second), *_whole(_SECOND)],
    "getMilliseconds": [
        Overload((TIMESTAMP,), INT, _milliseconds),
        Overload((TIMESTAMP, STRING), INT, _milliseconds),
        *_whole(10**6),
    ],
}
OPERATORS: dict[str, list[Overload]] = {
    "+": [
        Overload((TIMESTAMP, DURATION), TIMESTAMP, lambda moment, passed: Timestamp(moment.ns + passed.ns)),
        Overload((DURATION, TIMESTAMP), TIMESTAMP, lambda passed, moment: Timestamp(moment.ns + passed.ns)),
        Overload((DURATION, DURATION), DURATION, lambda one, other: Duration(one.ns + other.ns)),
    ],
    "-": [
        Overload((TIMESTAMP, TIMESTAMP), DURATION, lambda one, other: Duration(one.ns - other.ns)),
        Overload((TIMESTAMP, DURATION), TIMESTAMP, lambda moment, passed: Timestamp(moment.ns - passed.ns)),
        Overload((DURATION, DURATION), DURATION, lambda one, other: Duration(one.ns - other.ns)),
    ],
}
