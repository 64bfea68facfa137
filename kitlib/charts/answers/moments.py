"""States and moments on one time axis: attempts, back-offs, kills and evictions, and what lies between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from kitlib.charts.answers.frame import LINE, Answer, Sheet, amount, answer_chart, letters, text_width, wrapped
from kitlib.charts.base import Chart
from kitlib.charts.svg import Drawing, decimal_ticks

_ROW, _HIGH = 46, 18
_RIGHT = 24
_LANES = 4
"""Lanes for the words of a row."""
_FILLS = {"runs": "blue", "new": "green", "slow": "orange", "ends": "red"}
"""State of a span -> its colour; another state waits and has no hue."""
_HATCHED = ("ends", "slow")
"""States that are drawn hatched."""


class TimeSpan(NamedTuple):
    """A state that lasts.

    Attributes:
        start: its start in seconds.
        end: its end in seconds.
        state: "runs", "new", "slow", "ends" or "waits".
        words: a few words about it.
    """

    start: float
    end: float
    state: str
    words: str = ""


class TimePoint(NamedTuple):
    """A moment in a row.

    Attributes:
        second: its time in seconds.
        sign: "end" (a cross), "new" (a green dot) or "try" (an open dot).
        words: two to four words about it; "" = none.
    """

    second: float
    sign: str = "try"
    words: str = ""


def moments_chart(
    title: str,
    rows: Mapping[str, Sequence[TimeSpan | TimePoint]],
    *,
    every: float = 0.0,
    timed: bool = False,
    guess: Answer = None,
) -> Chart:
    """Return a row for each object with its spans and moments.

    Args:
        title: the subject in a few words.
        rows: name -> spans and moments.
        every: seconds between two beats of a loop, drawn as thin lines; 0 = none.
        timed: whether the question asks for a moment, so that a guess has a place on the axis.
        guess: the learner's answer.
    """
    number = float(guess) if timed and isinstance(guess, int | float) else None
    ends = [one.end if isinstance(one, TimeSpan) else one.second for some in rows.values() for one in some]
    last = max([*ends, *([number] if number is not None else [])], default=0) or 1.0

    def draw(d: Sheet) -> None:
        start, end = (d.left + 5, d.width - 14) if d.narrow else (d.left, d.width - _RIGHT)

        def x(second: float) -> float:
            return start + second * (end - start) / last

        placed = {name: _Words(d, [(x(_at(one)), one) for one in some], x) for name, some in rows.items()}
        names = {name: wrapped(name, letters(d.width, bold=True)) if d.narrow else [] for name in rows}
        tops, floor = {}, d.top
        for name in rows:
            tops[name] = floor + LINE * len(names[name])
            floor = tops[name] + _ROW + LINE * max(placed[name].lanes - 1, 0)
        beat = every
        while every and beat <= last:
            d.line(x(beat), d.top - 6, x(beat), floor - 10)
            beat += every
        for name, some in rows.items():
            y = tops[name]
            if d.narrow:
                d.lines(0, y - 5 - LINE * (len(names[name]) - 1), names[name], bold=True, halo=True)
            else:
                d.beside(y + 9, name, bold=True)
            d.line(start, y + _HIGH, end, y + _HIGH)
            for one in some:
                if isinstance(one, TimeSpan):
                    _span(d, x(one.start), x(one.end), y, one)
            for one in some:
                if isinstance(one, TimePoint):
                    _dot(d, x(one.second), y + _HIGH / 2, one.sign)
            placed[name].draw(y + _HIGH + 13)
        for tick in decimal_ticks(last, 4 if d.narrow else 8):
            d.text(x(tick), floor + 8, f"{tick:g} s", "soft", anchor="middle", size=11)
        d.height = floor + 14
        if number is not None:
            d.path(f"M{x(number):.1f} {d.top - 4}V{floor - 6}", "guess", weight=2.5, dash="6 3")
            label = f"your guess {amount(number, 's')}"
            wide = text_width(label, 11, bold=True)
            d.label(x(number) - (wide if number > last / 2 else 0), floor + 24, label, "guess-text", size=11, bold=True)
            d.height += 16

    flat = [(name, one) for name, some in rows.items() for one in some]
    columns: dict[str, Sequence[Any]] = {
        "who": [name for name, _ in flat],
        "second": [one.start if isinstance(one, TimeSpan) else one.second for _, one in flat],
        "until": [one.end if isinstance(one, TimeSpan) else "" for _, one in flat],
        "what": [one.words or (one.state if isinstance(one, TimeSpan) else one.sign) for _, one in flat],
    }
    return answer_chart(title, " ".join(_said(name, some) for name, some in rows.items()), columns, draw)


def _span(d: Drawing, left: float, right: float, y: float, one: TimeSpan) -> None:
    hue = _FILLS.get(one.state)
    if hue is None:
        d.rect(left, y, right - left, _HIGH, stroke="soft", dash="4 3")
    elif one.state in _HATCHED:
        d.hatch(left, y, right - left, _HIGH, hue, "leaves" if one.state == "ends" else "stopped")
        d.rect(left, y, right - left, _HIGH, stroke=hue)
    else:
        d.rect(left, y, right - left, _HIGH, hue, tint=42)
        d.rect(left, y, right - left, _HIGH, stroke=hue)
    if one.words and _fits(one, right - left):
        d.text(left + 4, y + 13, one.words, size=11, halo=True)


def _at(one: TimeSpan | TimePoint) -> float:
    return one.start if isinstance(one, TimeSpan) else one.second


def _fits(one: TimeSpan, room: float) -> bool:
    """Return whether the words of a span have room inside it; on a hatched ground they are not legible."""
    return one.state not in _HATCHED and text_width(one.words, 11) + 6 <= room


def _dot(d: Drawing, x: float, y: float, sign: str) -> None:
    if sign == "end":
        d.cross(x, y)
        return
    fill, stroke = ("green", "green") if sign == "new" else ("ground", "ink")
    d.path(f"M{x - 5:.1f} {y:.1f}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0Z", stroke, weight=2, fill=fill)


class _Words:
    """The words of a row, below it: in the first of several lanes that has room at their moment.

    Words that have no room in the last lane are left out of the picture; the sentence has them.

    Attributes:
        lanes: number of lanes that are used.
    """

    def __init__(
        self, d: Sheet, some: Sequence[tuple[float, TimeSpan | TimePoint]], at: Callable[[float], float]
    ) -> None:
        self.sheet = d
        self.placed: list[tuple[float, int, str, float]] = []
        ends = [0.0] * _LANES
        for x, one in sorted(some, key=lambda pair: pair[0]):
            if not one.words or (isinstance(one, TimeSpan) and _fits(one, at(one.end) - x)):
                continue
            lines = wrapped(one.words, letters(d.width, 11))
            wide = max(text_width(line, 11) for line in lines)
            left = max(0.0, min(x - 4, d.width - wide))
            free = [
                lane
                for lane in range(_LANES - len(lines) + 1)
                if all(ends[lane + more] <= left for more in range(len(lines)))
            ]
            for number, line in enumerate(lines if free else []):
                self.placed.append((left, free[0] + number, line, x))
                ends[free[0] + number] = left + wide + 6
        self.lanes = max([lane + 1 for _, lane, _, _ in self.placed], default=0)

    def draw(self, y: float) -> None:
        """Draw the words, the first lane with its base at `y`, and lines to the moments of the other lanes."""
        for _left, lane, _text, x in self.placed:
            if lane:
                self.sheet.line(x, y - 10, x, y + LINE * lane - 10, "soft")
        for left, lane, text, _x in self.placed:
            self.sheet.text(left, y + LINE * lane, text, size=11, halo=True)


def _said(name: str, some: Sequence[TimeSpan | TimePoint]) -> str:
    parts = []
    for one in some:
        words = one.words or (one.state if isinstance(one, TimeSpan) else one.sign)
        when = f"{one.start:g} to {one.end:g} s" if isinstance(one, TimeSpan) else f"{one.second:g} s"
        parts.append(f"{words} at {when}")
    return f"{name}: {', '.join(parts[:12]) or 'nothing'}{' and more' if len(parts) > 12 else ''}."
