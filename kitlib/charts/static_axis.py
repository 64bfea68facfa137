"""Axes of static pictures: the pixel of a value, and the ticks."""

from __future__ import annotations

import math
from typing import Any


class Axis:
    """Maps an axis' values to pixels: a position for each category, or a scale for numbers.

    Args:
        values: values on the axis.
        start: pixel of the lowest value.
        end: pixel of the highest value.
        layout: plotly's layout of the axis.
        zero: whether the axis includes 0.
        room: fraction of the span that is left free at both ends.
    """

    def __init__(
        self, values: list[Any], start: float, end: float, layout: Any, *, zero: bool, room: float = 0.0
    ) -> None:
        self.categories = self._ordered(values, layout)
        self.start, self.end = start, end
        if layout.autorange == "reversed":
            self.start, self.end = end, start
        self.low, self.high = 0.0, 1.0
        if not self.categories:
            numbers = [float(v) for v in values if v is not None]
            fixed = list(layout.range or ())
            low, high = fixed if len(fixed) == 2 else (min(numbers, default=0), max(numbers, default=1))
            if zero and len(fixed) != 2:
                low, high = min(low * 1.08, 0), max(high * 1.08, 0)
            self.low, self.high = float(low), float(high) if high != low else float(low) + 1
            if len(fixed) != 2:
                free = room * (self.high - self.low)
                self.low, self.high = self.low - free, self.high + free

    @staticmethod
    def _ordered(values: list[Any], layout: Any) -> list[str]:
        given = [str(v) for v in layout.categoryarray] if layout.categoryarray is not None else []
        if not any(isinstance(v, str) for v in values):
            return []
        return given + [v for v in dict.fromkeys(str(v) for v in values) if v not in given]

    @property
    def step(self) -> float:
        """The pixels per category."""
        return abs(self.end - self.start) / max(1, len(self.categories))

    def at(self, value: Any) -> float:
        """Return the pixel of a value."""
        if self.categories:
            part = (self.categories.index(str(value)) + 0.5) / len(self.categories)
        else:
            part = (float(value) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self, layout: Any) -> list[tuple[float, str]]:
        """Return pixel and text of each tick: all categories, those in the layout, or about five round numbers."""
        if self.categories:
            return [(self.at(name), name) for name in self.categories]
        if layout.tickvals is not None:
            texts = layout.ticktext if layout.ticktext is not None else [str(v) for v in layout.tickvals]
            return [(self.at(v), str(t).replace("<br>", " ")) for v, t in zip(layout.tickvals, texts, strict=True)]
        memory = "Mi" in str(layout.title.text or "").replace(",", " ").split()  # ticks of memory are powers of two
        least = abs(self.high - self.low) / 5
        step = 2.0 ** math.ceil(math.log2(least)) if memory else _round(least)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [(self.at(i * step), _text(i * step, memory=memory)) for i in range(first, last + 1)]


def _round(least: float) -> float:
    """Return the smallest of 1, 2, 5, 10, 20, … that is at least `least`."""
    tens = 10.0 ** math.floor(math.log10(least))
    return next(factor * tens for factor in (1, 2, 5, 10) if factor * tens >= least * (1 - 1e-9))


def _text(value: float, *, memory: bool) -> str:
    if memory and value and value % 1024 == 0:
        return f"{value / 1024:g}Gi"
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= 10 * size:
            return f"{value / size:g}{unit}"
    return f"{round(value, 6):g}"
