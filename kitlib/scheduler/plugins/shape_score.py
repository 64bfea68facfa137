"""Scores along a line through points, as a `shape` of plugin arguments gives them.

Source: plugins/helper shape_score.go.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def broken_line(shape: Sequence[tuple[int, int]], x: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a value of a piecewise linear function, constant outside, truncated. Source: BuildBrokenLinearFunction."""
    made = np.full(len(x), shape[-1][1], np.int64)
    done = np.zeros(len(x), np.bool_)
    for i, (right, score) in enumerate(shape):
        here = (x <= right) & ~done
        if i == 0:
            made[here] = shape[0][1]
        else:
            left, before = shape[i - 1]
            rise = (score - before) * (x[here] - left)
            made[here] = before + np.trunc(rise / (right - left)).astype(np.int64)
        done |= here
    return made
