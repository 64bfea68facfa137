"""The virtual clock moves only when it is moved, and never backwards."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kitlib.api.clock import EPOCH, LAST, VirtualClock, duration
from kitlib.api.errors import KitError


def test_many_small_moves_make_one_big_one() -> None:
    clock = VirtualClock()
    for _ in range(1000):
        clock.move(0.001)
    assert (clock.seconds, clock.now_ms(), clock.now()) == (1.0, 1000, EPOCH + timedelta(seconds=1))


def test_a_time_is_set_in_milliseconds_and_not_into_the_past() -> None:
    clock = VirtualClock(start_ms=500)
    clock.set_ms(1500)
    assert (clock.seconds, repr(clock)) == (1.5, "VirtualClock(1.5 s)")
    with pytest.raises(ValueError, match="shows 1500 ms and cannot go back to 1499 ms"):
        clock.set_ms(1499)
    assert clock.now_ms() == 1500


@pytest.mark.parametrize(
    ("seconds", "counted"),
    [
        (0, 0),
        (-1, -1),
        (2**31 - 1, 2**31 - 1),
        (9_223_372_036, 9_223_372_036),
        (9_223_372_037, -9_223_372_036.709552),
        (2**63 - 1, -1),
        (2**55, 0),
    ],
    ids=["none", "negative", "68 years", "292 years", "a second more", "the most that 64 bits hold", "wrapped to none"],
)
def test_seconds_of_64_bits_are_counted_in_nanoseconds_of_64_bits(seconds: int, counted: float) -> None:
    assert duration(seconds).total_seconds() == pytest.approx(counted, abs=1e-5)


def test_a_clock_stands_still_before_the_last_date() -> None:
    clock = VirtualClock(LAST - timedelta(seconds=10))
    clock.move(4)
    with pytest.raises(KitError, match="the cluster's clock shows 9699-12-31 and does not pass 9700-01-01"):
        clock.move(7)
    assert clock.seconds == 4


@pytest.mark.parametrize("start", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31)])
def test_a_clock_begins_between_the_first_date_and_the_last(start: datetime) -> None:
    with pytest.raises(KitError, match="start: must be a date from 1000-01-01 to 9700-01-01"):
        VirtualClock(start)
