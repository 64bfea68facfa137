"""Amounts on one scale: values of files, CPU time, memory, scores, budgets and counts, with their bounds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from kitlib.charts.answers.frame import (
    LINE,
    Answer,
    Sheet,
    amount,
    answer_chart,
    letters,
    ring,
    text_width,
    wrapped,
)
from kitlib.charts.base import Chart
from kitlib.charts.svg import LETTER, Drawing

_ROW, _HIGH, _EDGE = 34, 20, 10
"""Height of a row and of its bar, and pixels between a figure above a bar and the picture's edge."""


class Bound(NamedTuple):
    """A limit, a threshold or a whole, drawn as a line through all rows.

    Attributes:
        name: its name.
        value: its amount, in the unit of the rows.
    """

    name: str
    value: float


def amounts_chart(
    title: str,
    rows: Mapping[str, float | None],
    *,
    unit: str = "",
    bounds: Sequence[Bound | tuple[str, float]] = (),
    picked: Collection[str] = (),
    crossed: Mapping[str, str] | None = None,
    notes: Mapping[str, str] | None = None,
    guess: Answer = None,
) -> Chart:
    """Return bars on one scale; the part of a bar above the first bound is hatched.

    Args:
        title: the subject in a few words.
        rows: name -> amount; None = without a limit, drawn as an open box.
        unit: unit of the amounts; "bytes" are shown as Ki, Mi and Gi.
        bounds: limits and other amounts to compare with.
        picked: names of the rows that are the answer.
        crossed: names of rows that end -> the reason in a few words.
        notes: name -> words after the amount.
        guess: the learner's answer: an amount in `unit`, or the name of a row.
    """
    bars = [Bound(*bound) for bound in bounds]
    crossed, notes = dict(crossed or {}), dict(notes or {})
    said = {name: amount(value, unit) for name, value in rows.items()}
    parts = [f"{name} {text}{f', {crossed[name]}' if name in crossed else ''}" for name, text in said.items()]
    parts += [f"{bound.name} {amount(bound.value, unit)}" for bound in bars]
    known = [value for value in rows.values() if value is not None]
    number = float(guess) if isinstance(guess, int | float) else None
    shown = [*known, *(bound.value for bound in bars), *([number] if number is not None else [])]
    low, high = min([0.0, *shown]), max([0.0, *shown]) or 1.0
    words = {name: " · ".join(filter(None, (text, notes.get(name), crossed.get(name)))) for name, text in said.items()}

    def draw(d: Sheet) -> None:
        scale = (d.room - (16 if d.narrow and crossed else 0)) / (high - low)

        def x(value: float) -> float:
            return d.left + (value - low) * scale

        heads = {name: _Head(d, name, words[name]) for name in rows} if d.narrow else {}
        top = d.top + (LINE * len(bars) if d.narrow else 16 if bars else 0)
        tops, floor = {}, top
        for name in rows:
            tops[name] = floor + (heads[name].height if d.narrow else 0)
            floor = tops[name] + _ROW
        for name, value in rows.items():
            y = tops[name]
            if not d.narrow:
                d.beside(y + 10, name, bold=name in picked, struck=name in crossed)
            if value is None:
                d.rect(d.left, y, d.room, _HIGH, stroke="soft", dash="5 4")
            else:
                _bar(d, x, y, value, bars[0].value if bars else None, "green" if name in picked else "blue")
            if name == guess:
                ring(d, d.left, y, d.room, _HIGH)
        if low < 0:
            d.line(x(0), top - 4, x(0), floor)
        if number is not None:
            d.path(f"M{x(number):.1f} {top - 4}V{floor + 2}", "guess", weight=2.5, dash="6 3")
        for place, bound in enumerate(bars):
            label = f"{bound.name} {amount(bound.value, unit)}"
            if d.narrow:
                base = d.top + 8 + LINE * place
                d.limit(x(bound.value), base - 8, x(bound.value), floor - 6)
                _beside(d, x(bound.value), base, label, "ink", bound.value > (low + high) / 2, halo=True)
            else:
                d.limit(x(bound.value), top - 6, x(bound.value), floor - 6)
                near = bound.value > (low + high) / 2
                _beside(d, x(bound.value), top - 6 - 13 * (place % 2), label, "ink", near)
        d.height = floor + 2
        for name, value in rows.items():
            if d.narrow:
                heads[name].draw(tops[name], bold=name in picked, struck=name in crossed)
                if name in crossed:
                    d.cross(x(max(value or 0.0, 0.0)) + 10, tops[name] + 10)
            else:
                lines = [x(one) for one in (*(bound.value for bound in bars), *([] if number is None else [number]))]
                _figure(d, x, tops[name], value, words[name], name in crossed, name in picked, lines)
        if number is not None:
            label = f"your guess {amount(number, unit)}"
            _beside(d, x(number), floor + 15, label, "guess-text", number > (low + high) / 2, bold=True)
            d.height += 18

    columns: dict[str, Sequence[Any]] = {
        "what": list(rows),
        f"amount{f' in {unit}' if unit else ''}": list(rows.values()),
    }
    return answer_chart(title, "; ".join(parts) + ".", columns, draw)


class _Head:
    """The text above a bar: its name, and its figure at the right of the same line if there is room."""

    def __init__(self, d: Sheet, name: str, words: str) -> None:
        self.sheet, self.words = d, words
        self.lines = wrapped(name, letters(d.width, bold=True))
        self.more = wrapped(words, letters(d.width, bold=True))
        used = text_width(self.lines[-1], bold=True) + 10 + text_width(words, bold=True)
        self.beside = used <= d.width - _EDGE
        self.height = LINE * (len(self.lines) + (0 if self.beside else len(self.more)))

    def draw(self, y: float, *, bold: bool, struck: bool) -> None:
        """Draw the text above a bar whose upper edge is `y`."""
        d = self.sheet
        base = d.lines(0, y - self.height + LINE - 5, self.lines, bold=bold, struck=struck, halo=True)
        if self.beside:
            d.text(d.width - _EDGE, base - LINE, self.words, anchor="end", bold=True, halo=True)
        else:
            d.lines(0, base, self.more, bold=True, halo=True)


def _beside(d: Sheet, x: float, y: float, text: str, colour: str, left: bool, **style: Any) -> None:
    """Draw a label beside a line: on the side that has more room, or over the line if neither has enough."""
    wide = text_width(text, 11, bold=style.get("bold", False))
    if d.narrow and (x - 4 < wide if left else x + 4 + wide > d.width):
        d.label(x - wide / 2, y, text, colour, size=11, **style)
    else:
        d.text(x + (-4 if left else 4), y, text, colour, anchor="end" if left else "start", size=11, **style)


def _bar(d: Drawing, at: Callable[[float], float], y: float, value: float, bound: float | None, colour: str) -> None:
    left, right = sorted((at(0), at(value)))
    d.rect(left, y, max(right - left, 1.5), _HIGH, colour, tint=42)
    if bound is not None and value > bound:
        d.hatch(at(bound), y, right - at(bound), _HIGH, colour, "over")
    d.rect(left, y, max(right - left, 1.5), _HIGH, stroke=colour, weight=1.5)


def _figure(
    d: Sheet,
    at: Callable[[float], float],
    y: float,
    value: float | None,
    words: str,
    crossed: bool,
    bold: bool,
    lines: Sequence[float],
) -> None:
    """Draw the figure of a row right of its bar and of the lines there, or inside the bar if there is no room."""
    right = at(max(value, 0.0)) if value is not None else d.left
    if crossed:
        d.cross(right + 12, y + 10)
    start, wide = right + (24 if crossed else 8), text_width(words, bold=bold)
    for line in sorted(lines):
        if start - 4 < line < start + wide + 2:
            start = line + 7
    if start + len(words) * LETTER <= d.width:
        d.text(start, y + 15, words, bold=bold, halo=True)
        return
    end = right - 6
    for line in sorted(lines, reverse=True):
        if end - wide - 2 < line < end + 4:
            end = line - 6
    d.text(max(end, wide), y + 15, words, bold=bold, anchor="end", halo=True)
