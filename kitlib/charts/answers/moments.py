"""States and moments on one time axis: attempts, back-offs, kills and evictions, and what lies between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kitlib.charts.answers.frame import LEFT, TOP, WIDTH, Answer, amount, answer_chart
from kitlib.charts.base import Chart
from kitlib.charts.svg import LETTER, Drawing, decimal_ticks, fitted

_ROW, _HIGH = 46, 18
_RIGHT = 24
_FILLS = {"runs": "blue", "new": "green", "slow": "orange", "ends": "red"}
"""State of a span -> its colour; another state waits and has no hue."""


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
    scale = (WIDTH - LEFT - _RIGHT) / last

    def x(second: float) -> float:
        return LEFT + second * scale

    def draw(d: Drawing) -> None:
        floor = TOP + _ROW * len(rows)
        beat = every
        while every and beat <= last:
            d.line(x(beat), TOP - 6, x(beat), floor - 10)
            beat += every
        for place, (name, some) in enumerate(rows.items()):
            y = TOP + _ROW * place
            d.text(0, y + 14, fitted(name, LEFT - 30), bold=True)
            d.line(LEFT, y + _HIGH, WIDTH - _RIGHT, y + _HIGH)
            for one in some:
                if isinstance(one, TimeSpan):
                    _span(d, x(one.start), x(one.end), y, one)
            _dots(d, [(x(one.second), one) for one in some if isinstance(one, TimePoint)], y)
        for tick in decimal_ticks(last, 8):
            d.text(x(tick), floor + 8, f"{tick:g} s", "soft", anchor="middle", size=11)
        d.height = floor + 14
        if number is not None:
            d.path(f"M{x(number):.1f} {TOP - 4}V{floor - 6}", "guess", weight=2.5, dash="6 3")
            near = number > last / 2
            label = f"your guess {amount(number, 's')}"
            d.text(x(number), floor + 24, label, "guess-text", anchor="end" if near else "start", size=11, bold=True)
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
    elif one.state in ("ends", "slow"):
        d.hatch(left, y, right - left, _HIGH, hue, "leaves" if one.state == "ends" else "stopped")
        d.rect(left, y, right - left, _HIGH, stroke=hue)
    else:
        d.rect(left, y, right - left, _HIGH, hue, tint=42)
        d.rect(left, y, right - left, _HIGH, stroke=hue)
    if one.words and len(one.words) * LETTER + 6 <= right - left:
        d.text(left + 4, y + 13, one.words, size=11, halo=True)


def _dots(d: Drawing, some: Sequence[tuple[float, TimePoint]], y: float) -> None:
    """Draw the moments, with their words below the row where there is room for them."""
    taken = -100.0
    for x, one in some:
        middle = y + _HIGH / 2
        if one.sign == "end":
            d.cross(x, middle)
        else:
            fill = "green" if one.sign == "new" else "ground"
            stroke = "green" if one.sign == "new" else "ink"
            way = f"M{x - 5:.1f} {middle:.1f}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0Z"
            d.path(way, stroke, weight=2, fill=fill)
        wide = len(one.words) * LETTER * 11 / 12
        start = min(x - 4, WIDTH - wide)
        if one.words and start > taken:
            d.text(start, y + _HIGH + 13, one.words, size=11, halo=True)
            taken = start + wide + 6


def _said(name: str, some: Sequence[TimeSpan | TimePoint]) -> str:
    parts = []
    for one in some:
        words = one.words or (one.state if isinstance(one, TimeSpan) else one.sign)
        when = f"{one.start:g} to {one.end:g} s" if isinstance(one, TimeSpan) else f"{one.second:g} s"
        parts.append(f"{words} at {when}")
    return f"{name}: {', '.join(parts[:12]) or 'nothing'}{' and more' if len(parts) > 12 else ''}."
