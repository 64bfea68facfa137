"""What a sweep computes at one point, and how far it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec


class SweepRow(msgspec.Struct, frozen=True):
    """One point and what came out.

    Attributes:
        point: parameter -> value, the seed among them.
        values: column -> value of the metric; empty where there is an error.
        error: type and text of what was raised, or how the worker process ended; "" = none.
        seconds: that it took.
    """

    point: dict[str, Any]
    values: dict[str, Any] = {}
    error: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is.

    Attributes:
        done, total: points, those read from a results file among the done ones.
        errors: points that ended in an error.
        seconds: since it began.
        left: estimated seconds to the end; None while nothing is known.
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
