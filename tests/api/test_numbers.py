"""Numbers and percentages of a total."""

from __future__ import annotations

import pytest

from kitlib.api.numbers import scaled_value


@pytest.mark.parametrize(
    ("value", "total", "down", "up"),
    [(3, 10, 3, 3), (0, 10, 0, 0), ("0%", 10, 0, 0), ("25%", 10, 2, 3), ("50%", 10, 5, 5), ("100%", 7, 7, 7),
     ("1%", 1, 0, 1), ("150%", 10, 15, 15), ("99%", 100, 99, 99), ("10%", 0, 0, 0)],
)  # fmt: skip
def test_a_percentage_is_rounded_as_its_field_says(value: int | str, total: int, down: int, up: int) -> None:
    """Source: intstr.GetScaledValueFromIntOrPercent."""
    assert scaled_value(value, total, round_up=False) == down
    assert scaled_value(value, total, round_up=True) == up
