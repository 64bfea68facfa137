"""Durations are read and printed as Go does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitlib.api.go_durations import duration, go_string, nanoseconds


@pytest.mark.parametrize(
    ("text", "seconds", "shown"),
    [
        ("1m30s", 90, "1m30s"),
        ("100ms", 0.1, "100ms"),
        ("5m", 300, "5m0s"),
        ("0", 0, "0s"),
        ("1.5h", 5400, "1h30m0s"),
        ("-5s", -5, "-5s"),
        ("1.5us", 1.5e-6, "1.5µs"),
        (7, 7, "7s"),
    ],
)
def test_durations_are_gos(text, seconds, shown):
    assert duration(text) == pytest.approx(seconds)
    assert go_string(duration(text)) == shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5", 'time: missing unit in duration "5"'),
        ("junk", 'time: invalid duration "junk"'),
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        ("3 days", 'time: unknown unit " days" in duration "3 days"'),
    ],
)
def test_what_is_no_duration_is_refused_in_gos_words(text, message):
    with pytest.raises(ValueError) as caught:
        nanoseconds(text)
    assert str(caught.value) == message


@given(st.integers(-(10**15), 10**15))
def test_a_duration_that_go_prints_is_read_back(microseconds):
    assert nanoseconds(go_string(microseconds / 1e6)) == pytest.approx(microseconds * 1000, abs=200)
