"""The virtual clock moves only when it is moved, and never backwards."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kitlib.api.clock import EPOCH, VirtualClock


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
