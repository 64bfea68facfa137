"""Schedules of CronJobs: the values of each field, the days of two restricted fields, and the library's messages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kitlib.api.cron import ScheduleError, parse_standard

START = datetime(2024, 1, 1, 0, 0, 30, tzinfo=UTC)
"""A Monday."""


def runs(schedule: str, after: datetime, count: int) -> list[str]:
    parsed, found = parse_standard(schedule), []
    for _ in range(count):
        moment = parsed.next(after)
        assert moment is not None
        after = moment
        found.append(f"{after:%m-%d %H:%M:%S}")
    return found


@pytest.mark.parametrize(
    ("schedule", "field", "expected"),
    [
        ("* * * * *", "minutes", range(60)),
        ("*/15 * * * *", "minutes", (0, 15, 30, 45)),
        ("5/20 * * * *", "minutes", (5, 25, 45)),
        ("10-20/5 * * * *", "minutes", (10, 15, 20)),
        ("1,1,59 * * * *", "minutes", (1, 59)),
        (",7, * * * *", "minutes", (7,)),
        ("*/60 * * * *", "minutes", (0,)),
        ("0 ? * * *", "hours", range(24)),
        ("0 0-23 * * *", "hours", range(24)),
        ("0 0 1,31 * *", "days", (1, 31)),
        ("0 0 * jan,DEC *", "months", (1, 12)),
        ("0 0 * 1-12/6 *", "months", (1, 7)),
        ("0 0 * * sun-tue", "weekdays", (0, 1, 2)),
        ("0 0 * * 6", "weekdays", (6,)),
        ("@yearly", "months", (1,)),
        ("@weekly", "weekdays", (0,)),
        ("@monthly", "days", (1,)),
        ("@hourly", "minutes", (0,)),
        ("@hourly", "hours", range(24)),
        ("@midnight", "hours", (0,)),
        ("TZ=UTC 3 * * * *", "minutes", (3,)),
        ("CRON_TZ=UTC   4 * * * *", "minutes", (4,)),
    ],
)
def test_the_values_of_a_field(schedule: str, field: str, expected: range | tuple[int, ...]) -> None:
    """Source: getRange."""
    assert sorted(getattr(parse_standard(schedule), field)) == list(expected)


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("", "empty spec string"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* 24 * * *", "end of range (24) above maximum (23): 24"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* * 32 * *", "end of range (32) above maximum (31): 32"),
        ("* * * 13 *", "end of range (13) above maximum (12): 13"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("* * * * */mon", 'failed to parse int from mon: strconv.Atoi: parsing "mon": invalid syntax'),
        (f"{2**63} * * * *", f'failed to parse int from {2**63}: strconv.Atoi: parsing "{2**63}": value out of range'),
        ("*/-1 * * * *", "negative number (-1) not allowed: -1"),
        ("@fortnightly", "unrecognized descriptor: @fortnightly"),
        ("@every", "unrecognized descriptor: @every"),
        ("@every x", 'failed to parse duration @every x: time: invalid duration "x"'),
        ("@every 5", 'failed to parse duration @every 5: time: missing unit in duration "5"'),
        ("@every 5d", 'failed to parse duration @every 5d: time: unknown unit "d" in duration "5d"'),
    ],
)
def test_the_message_of_a_text_that_is_not_a_schedule(schedule: str, message: str) -> None:
    with pytest.raises(ScheduleError) as raised:
        parse_standard(schedule)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("* * * * *", ["01-01 00:01:00", "01-01 00:02:00"]),
        ("0 * * * *", ["01-01 01:00:00", "01-01 02:00:00"]),
        ("0 0 * * *", ["01-02 00:00:00", "01-03 00:00:00"]),
        ("30 6 31 * *", ["01-31 06:30:00", "03-31 06:30:00"]),
        ("0 0 29 2 *", ["02-29 00:00:00", "02-29 00:00:00"]),
        ("0 0 * * 0", ["01-07 00:00:00", "01-14 00:00:00"]),
        ("59 23 31 12 *", ["12-31 23:59:00", "12-31 23:59:00"]),
    ],
)
def test_the_next_runs(schedule: str, expected: list[str]) -> None:
    assert runs(schedule, START, 2) == expected


@pytest.mark.parametrize(
    ("days", "weekdays", "expected"),
    [
        # Both restricted: a match of either is enough. `*/2` restricts too, as its step is above one.
        ("13", "5", ["01-05", "01-12", "01-13", "01-19"]),
        ("*/20", "3", ["01-03", "01-10", "01-17", "01-21"]),
        ("13", "*/3", ["01-03", "01-06", "01-07", "01-10"]),
        # One of them `*` (or `*/1`): both must match.
        ("13", "*", ["01-13", "02-13", "03-13", "04-13"]),
        ("*", "3", ["01-03", "01-10", "01-17", "01-24"]),
        ("*/1", "3", ["01-03", "01-10", "01-17", "01-24"]),
        ("?", "3", ["01-03", "01-10", "01-17", "01-24"]),
        ("2-3,*", "3", ["01-03", "01-10", "01-17", "01-24"]),
    ],
)
def test_two_restricted_days_are_alternatives(days: str, weekdays: str, expected: list[str]) -> None:
    """Source: dayMatches, getRange (starBit)."""
    assert [run[:5] for run in runs(f"0 0 {days} * {weekdays}", START, 4)] == expected


def test_a_date_that_never_comes_has_no_run() -> None:
    assert parse_standard("0 0 30 2 *").next(START) is None


def test_a_leap_day_in_four_years_is_found() -> None:
    found = parse_standard("0 0 29 2 *").next(datetime(2024, 3, 1, tzinfo=UTC))
    assert found == datetime(2028, 2, 29, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("90s", 90),
        ("1999ms", 1),
        ("2s1ns", 2),
        ("1ms", 1),
        ("0", 1),
        ("-1h", 1),
    ],
)
def test_a_constant_delay_has_whole_seconds_and_at_least_one(text: str, seconds: int) -> None:
    """Source: cron.Every, ConstantDelaySchedule.Next."""
    schedule = parse_standard(f"@every {text}")
    assert schedule.every == seconds
    after = datetime(2024, 1, 1, 0, 0, 0, 700_000, tzinfo=UTC)
    found = schedule.next(after)
    assert found is not None
    assert (found.timestamp() - after.replace(microsecond=0).timestamp(), found.microsecond) == (seconds, 0)
