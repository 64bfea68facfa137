"""The result of a sweep at one point, and the progress of a sweep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec


class SweepRow(msgspec.Struct, frozen=True):
    """One point and its result.

    Attributes:
        point: value by parameter, including the seed.
        values: measured value by column; empty after an error.
        error: type and message of the exception, or how the worker process ended; "" = none.
        seconds: duration in seconds.
    """

    point: dict[str, Any]
    values: dict[str, Any] = {}
    error: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class SweepProgress:
    """The progress of a sweep.

    Attributes:
        done: number of finished points, including those read from a results file.
        total: number of points.
        errors: number of points that ended in an error.
        seconds: seconds since the start.
        left: estimated seconds to the end; None before the first new row.
    """

    done: int
    total: int
    errors: int
    seconds: float
    left: float | None

    def __str__(self) -> str:
        errors = f", {self.errors} {'error' if self.errors == 1 else 'errors'}" if self.errors else ""
        left = f", about {self.left:.0f} s left" if self.left is not None and self.done < self.total else ""
        return f"{self.done:,} of {self.total:,} points{errors}{left}"
