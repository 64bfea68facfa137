"""Texts that are not times, in the words of Go's `time.Parse`."""

import pytest

from kitlib.api.go_time import RFC3339_MICRO, parse_problem

LAYOUT = '"2006-01-02T15:04:05Z07:00"'


@pytest.mark.parametrize(
    "text",
    ["2024-02-29T23:59:59Z", "2024-01-01T00:00:00.25+01:00", "2024-01-01T7:00:00-23:00", "0000-02-29T00:00:00Z"],
)
def test_a_time_has_no_problem(text: str) -> None:
    assert parse_problem(text) == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("soon", f'parsing time "soon" as {LAYOUT}: cannot parse "soon" as "2006"'),
        ("2024-01-01", f'parsing time "2024-01-01" as {LAYOUT}: cannot parse "" as "T"'),
        ("2024-1-01T00:00:00Z",
         f'parsing time "2024-1-01T00:00:00Z" as {LAYOUT}: cannot parse "1-01T00:00:00Z" as "01"'),
        ("2024-01-01T00:00:00", f'parsing time "2024-01-01T00:00:00" as {LAYOUT}: cannot parse "" as "Z07:00"'),
        ("2024-13-01T00:00:00Z", 'parsing time "2024-13-01T00:00:00Z": month out of range'),
        ("2023-02-29T00:00:00Z", 'parsing time "2023-02-29T00:00:00Z": day out of range'),
        ("2024-01-01T24:00:00Z", 'parsing time "2024-01-01T24:00:00Z": hour out of range'),
        ("2024-01-01T00:00:00+25:00",
         'parsing time "2024-01-01T00:00:00+25:00": time zone offset hour out of range'),
        ("2024-01-01T00:00:00Z!", 'parsing time "2024-01-01T00:00:00Z!": extra text: "!"'),
        ('"\n', rf'parsing time "\"\x0a" as {LAYOUT}: cannot parse "\"\x0a" as "2006"'),
    ],
)  # fmt: skip
def test_a_text_that_is_no_time_is_refused_at_the_part_that_does_not_fit(text: str, words: str) -> None:
    """Source: Go time.Parse, ParseError.Error."""
    assert parse_problem(text) == words


def test_a_micro_time_has_six_digits_behind_its_seconds() -> None:
    text = "2024-01-01T00:00:00Z"
    assert parse_problem("2024-01-01T00:00:00.000000Z", RFC3339_MICRO) == ""
    assert parse_problem(text, RFC3339_MICRO).endswith('05.000000Z07:00": cannot parse "Z" as ".000000"')
