"""Scores along a line through points."""

from __future__ import annotations

import numpy as np
import pytest

from kitlib.scheduler.plugins.shape_score import broken_line

RISING, PEAK = [(10, 1), (50, 9), (90, 100)], [(0, 0), (50, 100), (100, 0)]


@pytest.mark.parametrize(
    ("shape", "at", "expected"),
    [
        (RISING, [0, 10, 11, 50, 51, 90, 91], [1, 1, 1, 9, 11, 100, 100]),
        (PEAK, [0, 25, 50, 75, 100, 101], [0, 50, 100, 50, 0, 0]),
        ([(0, 10), (3, 0)], [1, 2], [7, 4]),
        ([(40, 7)], [0, 40, 100], [7, 7, 7]),
    ],
    ids=["constant outside, truncated between", "up and down", "a fall is truncated towards its start", "one point"],
)
def test_a_broken_line(shape: list[tuple[int, int]], at: list[int], expected: list[int]) -> None:
    """Source: plugins/helper BuildBrokenLinearFunction."""
    assert broken_line(shape, np.array(at, np.int64)).tolist() == expected
