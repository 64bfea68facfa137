"""Timestamps and durations: what they are read from, what is added, compared, taken out and shown."""

from __future__ import annotations

import pytest

from kitlib.cel.times import duration
from tests.cel.answers import answer


@pytest.mark.parametrize(
    "text",
    [
        "duration('1h') > duration('59m59s') && duration('-1s') < duration('0')",
        "duration('90m').getHours() == 1 && duration('90m').getMinutes() == 90",
        "duration('-1500ms').getSeconds() == -1 && duration('1.5s').getMilliseconds() == 1500",
        "string(duration('90m1.5s')) == '5401.5s' && string(duration('-1ms')) == '-0.001s'",
        "int(duration('1us')) == 1000 && duration(duration('1s')) == duration('1000ms')",
        "timestamp('2020-01-01T00:00:00Z') < timestamp('2021-01-01T00:00:00Z')",
        "timestamp('2021-01-01T00:00:00Z') - timestamp('2020-01-01T00:00:00Z') == duration('8784h')",
        "duration('1h') + timestamp('2020-01-01T00:00:00Z') == timestamp('2020-01-01T02:00:00+01:00')",
        "timestamp('2020-01-01T00:00:01Z') - duration('1s') == timestamp(1577836800)",
        "timestamp('2020-02-29T23:30:00-02:00').getDate() == 1",
        "timestamp('2020-02-29T23:30:00-02:00').getDate('-02:00') == 29",
        "timestamp('2020-02-29T23:30:45.120Z').getMilliseconds() == 120 && timestamp(0).getFullYear() == 1970",
        "timestamp('2020-02-29T23:30:45Z').getMonth() == 1 && timestamp('2020-02-29T23:30:45Z').getDayOfMonth() == 28",
        "timestamp('2020-02-29T23:30:00Z').getDayOfYear() == 59 && timestamp(0).getDayOfWeek() == 4",
        "timestamp('2020-02-29T23:30:00Z').getHours('America/New_York') == 18",
        "string(timestamp('2020-02-29T23:30:00.120-02:00')) == '2020-02-29T23:30:00.12-02:00'",
        "int(timestamp('1970-01-01T00:01:00.9Z')) == 60",
        "when + duration('1s') == duration('3s')",
    ],
)
def test_what_holds(text: str) -> None:
    assert answer(text, when=duration("2s")) is True


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("duration('1 day')", "<input>:1:10: invalid duration argument"),
        ("timestamp('2020-02-30T00:00:00Z')", "<input>:1:11: invalid timestamp argument"),
        ("duration(when)", "type conversion error from 'string' to 'google.protobuf.Duration'"),
        ("timestamp(when)", "type conversion error from 'string' to 'google.protobuf.Timestamp'"),
        ("timestamp('0001-01-01T00:00:00Z') - duration('1s')", "timestamp overflow"),
        ("duration('2562047h') + duration('1h')", "duration overflow"),
        ("timestamp(0).getHours('Nowhere/There')", "unknown time zone Nowhere/There"),
        ("timestamp(0).getHours('a:b')", "invalid syntax"),
        ("timestamp(0) + 1", "found no matching overload for '_+_' applied to '(timestamp, int)'"),
        ("duration('1s') < 1", "found no matching overload for '_<_' applied to '(duration, int)'"),
        ("dyn(1) + timestamp(0)", "no such overload"),
    ],
)
def test_what_is_refused(text: str, words: str) -> None:
    assert words in answer(text, when="soon")
