"""Cron schedules: five fields, names, ranges, steps, `@hourly` and its siblings, `@every 90m`, time zones.

Day of month and day of week are both restrictions where one is `*`, and alternatives where both are given.

Source: robfig/cron/v3 (parser.go, spec.go), which the CronJob controller uses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from kitlib.api.errors import KitError

_MONTHS = dict(
    zip(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], range(1, 13), strict=True)
)
_DAYS = dict(zip(["sun", "mon", "tue", "wed", "thu", "fri", "sat"], range(7), strict=True))
_FIELDS = (("minute", 0, 59, {}), ("hour", 0, 23, {}), ("day of month", 1, 31, {}))
_LATER_FIELDS = (("month", 1, 12, _MONTHS), ("day of week", 0, 6, _DAYS))
_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(h|m|s)")
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_HORIZON_YEARS = 5


class ScheduleError(KitError, ValueError):
    """A schedule that cannot be parsed."""


@dataclass(frozen=True)
class Schedule:
    """When a CronJob's Jobs start.

    Attributes:
        minutes, hours, days, months, weekdays: the allowed values.
        any_day, any_weekday: the field is `*`.
        every: seconds between two starts, of `@every`; 0 = the fields count.
        zone: in which the fields are meant.
    """

    minutes: frozenset[int] = frozenset()
    hours: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    any_day: bool = True
    any_weekday: bool = True
    every: float = 0.0
    zone: tzinfo = UTC

    @classmethod
    def parse(cls, text: str, zone: tzinfo = UTC) -> Schedule:
        """Read a schedule.

        Raises:
            ScheduleError: the text is no schedule.
        """
        text = text.strip()
        if text.startswith("@every "):
            return cls(every=max(1.0, _duration(text.removeprefix("@every ").strip())), zone=zone)
        if text.startswith("@"):
            if text not in _DESCRIPTORS:
                raise ScheduleError(f"unrecognized descriptor: {text}")
            text = _DESCRIPTORS[text]
        parts = text.split()
        if len(parts) != 5:
            raise ScheduleError(f"expected exactly 5 fields, found {len(parts)}: {parts}")
        values = [_field(part, *bounds) for part, bounds in zip(parts, (*_FIELDS, *_LATER_FIELDS), strict=True)]
        day, weekday = parts[2], parts[4]
        return cls(*values, any_day=_is_any(day), any_weekday=_is_any(weekday), zone=zone)

    def next(self, after: datetime) -> datetime | None:
        """The first start after a moment; None where there is none within five years."""
        if self.every:
            whole = after.replace(microsecond=0)
            return whole + timedelta(seconds=int(self.every))
        moment = after.astimezone(self.zone).replace(second=0, microsecond=0) + timedelta(minutes=1)
        last = moment.year + _HORIZON_YEARS
        while moment.year <= last:
            if moment.month not in self.months:
                moment = (moment.replace(day=1, hour=0, minute=0) + timedelta(days=32)).replace(day=1)
            elif not self._is_day(moment):
                moment = moment.replace(hour=0, minute=0) + timedelta(days=1)
            elif moment.hour not in self.hours:
                moment = moment.replace(minute=0) + timedelta(hours=1)
            elif moment.minute not in self.minutes:
                moment += timedelta(minutes=1)
            elif self._exists(moment):
                return moment.astimezone(UTC)
            else:
                moment += timedelta(minutes=1)
        return None

    def _is_day(self, moment: datetime) -> bool:
        """Source: dayMatches."""
        day = moment.day in self.days
        weekday = (moment.weekday() + 1) % 7 in self.weekdays
        return day and weekday if self.any_day or self.any_weekday else day or weekday

    def _exists(self, moment: datetime) -> bool:
        """Whether the clock shows this time: not in the hour that is left out in spring."""
        back = moment.astimezone(UTC).astimezone(self.zone)
        return (back.hour, back.minute) == (moment.hour, moment.minute)


def _is_any(text: str) -> bool:
    return text.split("/")[0] in ("*", "?")


def _field(text: str, name: str, low: int, high: int, names: dict[str, int]) -> frozenset[int]:
    """The values of one field. Source: getField, getRange."""
    found: set[int] = set()
    for part in text.split(","):
        span, _, step_text = part.partition("/")
        first, dash, last = span.partition("-")
        step = 1
        if "/" in part:
            if not step_text.isdigit() or int(step_text) == 0:
                raise ScheduleError(f"step of range should be a positive number: {part}")
            step = int(step_text)
        if first in ("*", "?") and not dash:
            start, end = low, high
        else:
            start = _number(first, names, part)
            end = _number(last, names, part) if dash else (high if "/" in part else start)
        if start < low:
            raise ScheduleError(f"beginning of range ({start}) below minimum ({low}): {part}")
        if end > high:
            raise ScheduleError(f"end of range ({end}) above maximum ({high}): {part}")
        if start > end:
            raise ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {part}")
        found.update(range(start, end + 1, step))
    return frozenset(found)


def _number(text: str, names: dict[str, int], part: str) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not text.isdigit():
        raise ScheduleError(f"failed to parse int from {text}: {part}")
    return int(text)


def _duration(text: str) -> float:
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ScheduleError(f"failed to parse duration @every {text}")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
