"""Schedules of CronJobs: `*/5 * * * *`, names of months and days, `@daily`, `@every 1h30m`.

Source: github.com/robfig/cron/v3 parser.go (ParseStandard), spec.go (SpecSchedule.Next).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from kitlib.api.errors import KitError
from kitlib.api.go_durations import nanoseconds

_MONTHS = {
    name: i
    for i, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], start=1
    )
}
_DAYS = {name: i for i, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])}
_BOUNDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)
_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_YEARS = 5


class ScheduleError(KitError, ValueError):
    """A text that is not a schedule, in the words of the library that Kubernetes uses."""


@dataclass(frozen=True)
class Schedule:
    """A parsed schedule of a CronJob.

    Attributes:
        minutes, hours, days, months, weekdays: the values at which it runs; weekdays from 0, Sunday.
        any_day, any_weekday: whether the field is `*`. If neither is, a run needs only one of day and weekday to match.
        every: the seconds between two runs, for `@every`; 0 = the schedule follows the fields.
    """

    minutes: frozenset[int] = frozenset()
    hours: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    any_day: bool = False
    any_weekday: bool = False
    every: int = 0

    def next(self, after: datetime) -> datetime | None:
        """Return the first run after a moment; None where none follows within five years. Source: SpecSchedule.Next."""
        if self.every:
            return (after + timedelta(seconds=self.every)).replace(microsecond=0)
        at = after.replace(second=0, microsecond=0) + timedelta(minutes=1)
        last = at.year + _YEARS
        while at.year <= last:
            if at.month not in self.months:
                at = (at.replace(day=1, hour=0, minute=0) + timedelta(days=32)).replace(day=1)
            elif not self._on(at):
                at = at.replace(hour=0, minute=0) + timedelta(days=1)
            elif at.hour not in self.hours:
                at = at.replace(minute=0) + timedelta(hours=1)
            elif at.minute not in self.minutes:
                at += timedelta(minutes=1)
            else:
                return at
        return None

    def _on(self, at: datetime) -> bool:
        # If both fields are restricted, one match is enough: "0 0 13 * 5" runs on every 13th and on every Friday. With
        # `*` in one of them both must match. Source: dayMatches.
        day, weekday = at.day in self.days, (at.weekday() + 1) % 7 in self.weekdays
        return day and weekday if self.any_day or self.any_weekday else day or weekday


def parse_standard(text: str) -> Schedule:
    """Parse five fields or a descriptor such as `@daily`. Source: cron.ParseStandard.

    Raises:
        ScheduleError: the text is not a schedule.
    """
    if not text:
        raise ScheduleError("empty spec string")
    if text.startswith(("TZ=", "CRON_TZ=")):
        zone, space, rest = text.partition(" ")
        if not space:
            raise ScheduleError(f"provided bad location {zone.partition('=')[2]}: unknown time zone")
        text = rest.strip()
    if text.startswith("@"):
        if text in _DESCRIPTORS:
            text = _DESCRIPTORS[text]
        elif text.startswith("@every "):
            return Schedule(every=_duration(text))
        else:
            raise ScheduleError(f"unrecognized descriptor: {text}")
    fields = text.split()
    if len(fields) != 5:
        raise ScheduleError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    minutes, hours, days, months, weekdays = (_field(one, *bound) for one, bound in zip(fields, _BOUNDS, strict=True))
    return Schedule(minutes, hours, days, months, weekdays, _is_any(fields[2]), _is_any(fields[4]))


def _is_any(text: str) -> bool:
    """Return whether a valid field is `*`: with a step above one, `*/2`, it restricts. Source: getRange (starBit)."""
    parts = [part.partition("/") for part in text.split(",")]
    return any(ends.split("-")[0] in ("*", "?") and int(step or 1) <= 1 for ends, _, step in parts)


def _field(text: str, low: int, high: int, names: dict[str, int]) -> frozenset[int]:
    """Source: getField."""
    found: set[int] = set()
    for part in text.split(","):
        if part:
            found |= _range(part, low, high, names)
    return frozenset(found)


def _range(text: str, low: int, high: int, names: dict[str, int]) -> set[int]:
    """Return the values of `number | number "-" number [ "/" number ]`. Source: getRange."""
    pieces = text.split("/")
    ends = pieces[0].split("-")
    single = len(ends) == 1
    if ends[0] in ("*", "?"):
        start, end = low, high
    else:
        start = _number(ends[0], names)
        if len(ends) > 2:
            raise ScheduleError(f"too many hyphens: {text}")
        end = start if single else _number(ends[1], names)
    step = 1
    if len(pieces) == 2:
        step = _number(pieces[1], {})
        if single and ends[0] not in ("*", "?"):
            end = high
    elif len(pieces) > 2:
        raise ScheduleError(f"too many slashes: {text}")
    if start < low:
        raise ScheduleError(f"beginning of range ({start}) below minimum ({low}): {text}")
    if end > high:
        raise ScheduleError(f"end of range ({end}) above maximum ({high}): {text}")
    if start > end:
        raise ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {text}")
    return set(range(start, end + 1, step))


def _number(text: str, names: dict[str, int]) -> int:
    """Source: parseIntOrName, mustParseInt."""
    if text.lower() in names:
        return names[text.lower()]
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ScheduleError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    if int(text) > 2**63 - 1 or int(text) < -(2**63):
        raise ScheduleError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": value out of range')
    if int(text) < 0:
        raise ScheduleError(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)


def _duration(text: str) -> int:
    """Return the seconds of `@every 1h30m`, at least one. Source: parseDescriptor, cron.Every."""
    try:
        return max(1, nanoseconds(text.removeprefix("@every ")) // 10**9)
    except ValueError as error:
        raise ScheduleError(f"failed to parse duration {text}: {error}") from None
