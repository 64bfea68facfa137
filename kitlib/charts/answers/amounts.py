"""Amounts on one scale: values of files, CPU time, memory, scores, budgets and counts, with their bounds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from kitlib.charts.answers.frame import LEFT, RIGHT, TOP, WIDTH, Answer, amount, answer_chart, ring
from kitlib.charts.base import Chart
from kitlib.charts.svg import LETTER, Drawing, fitted

_ROW, _HIGH = 34, 20
_WIDE = WIDTH - LEFT - RIGHT


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
    lines = [Bound(*bound) for bound in bounds]
    crossed, notes = dict(crossed or {}), dict(notes or {})
    said = {name: amount(value, unit) for name, value in rows.items()}
    parts = [f"{name} {text}{f', {crossed[name]}' if name in crossed else ''}" for name, text in said.items()]
    parts += [f"{line.name} {amount(line.value, unit)}" for line in lines]
    known = [value for value in rows.values() if value is not None]
    number = float(guess) if isinstance(guess, int | float) else None
    shown = [*known, *(line.value for line in lines), *([number] if number is not None else [])]
    low, high = min([0.0, *shown]), max([0.0, *shown]) or 1.0
    scale = _WIDE / (high - low)

    def x(value: float) -> float:
        return LEFT + (value - low) * scale

    def draw(d: Drawing) -> None:
        top = TOP + (16 if lines else 0)
        floor = top + _ROW * len(rows)
        for number_of, (name, value) in enumerate(rows.items()):
            y = top + _ROW * number_of
            d.text(0, y + 15, fitted(name, LEFT - 24), bold=name in picked, struck=name in crossed)
            if value is None:
                d.rect(LEFT, y, _WIDE, _HIGH, stroke="soft", dash="5 4")
            else:
                _bar(d, x, y, value, lines[0].value if lines else None, "green" if name in picked else "blue")
            if name == guess:
                ring(d, LEFT, y, _WIDE, _HIGH)
        if low < 0:
            d.line(x(0), top - 4, x(0), floor)
        if number is not None:
            d.path(f"M{x(number):.1f} {top - 4}V{floor + 2}", "guess", weight=2.5, dash="6 3")
        for place, one in enumerate(lines):
            d.limit(x(one.value), top - 6, x(one.value), floor - 6)
            near = one.value > (low + high) / 2
            label = f"{one.name} {amount(one.value, unit)}"
            away = -4 if near else 4
            d.text(x(one.value) + away, top - 6 - 13 * (place % 2), label, anchor="end" if near else "start", size=11)
        d.height = floor + 2
        for place, (name, value) in enumerate(rows.items()):
            _figure(d, x, top + _ROW * place, value, said[name], notes.get(name), crossed.get(name), name in picked)
        if number is not None:
            near = number > (low + high) / 2
            label = f"your guess {amount(number, unit)}"
            d.text(x(number), floor + 15, label, "guess-text", anchor="end" if near else "start", size=11, bold=True)
            d.height += 18

    columns: dict[str, Sequence[Any]] = {
        "what": list(rows),
        f"amount{f' in {unit}' if unit else ''}": list(rows.values()),
    }
    return answer_chart(title, "; ".join(parts) + ".", columns, draw)


def _bar(d: Drawing, at: Callable[[float], float], y: float, value: float, bound: float | None, colour: str) -> None:
    left, right = sorted((at(0), at(value)))
    d.rect(left, y, max(right - left, 1.5), _HIGH, colour, tint=42)
    if bound is not None and value > bound:
        d.hatch(at(bound), y, right - at(bound), _HIGH, colour, "over")
    d.rect(left, y, max(right - left, 1.5), _HIGH, stroke=colour, weight=1.5)


def _figure(
    d: Drawing,
    at: Callable[[float], float],
    y: float,
    value: float | None,
    said: str,
    note: str | None,
    end: str | None,
    bold: bool,
) -> None:
    """Draw the figure of a row right of its bar, or inside the bar if there is no room."""
    words = " · ".join(filter(None, (said, note, end)))
    right = at(max(value, 0.0)) if value is not None else LEFT
    if end:
        d.cross(right + 12, y + 10)
    start = right + (24 if end else 8)
    if start + len(words) * LETTER <= WIDTH:
        d.text(start, y + 15, words, bold=bold, halo=True)
    else:
        d.text(right - 6, y + 15, words, bold=bold, anchor="end", halo=True)
