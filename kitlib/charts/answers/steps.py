"""A chain of who acts: each step is done, stops the chain, or is never reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kitlib.charts.answers.frame import LINE, Answer, Sheet, answer_chart, ended, letters, ring, wrapped
from kitlib.charts.base import Chart
from kitlib.charts.svg import Drawing, fitted

_GAP, _DOWN, _HEAD = 26, 18, LINE
STATES = {
    "done": ("blue", ""),
    "now": ("green", ""),
    "stops": ("red", ""),
    "never": ("line", "5 4"),
}
"""State of a step -> colour and dashes of its box: done, the answer, an end, or not reached."""


class ChainStep(NamedTuple):
    """A step of a chain.

    Attributes:
        who: the component or object.
        what: its action or state in a few words.
        state: one of `STATES`.
    """

    who: str
    what: str
    state: str = "done"


def steps_chart(
    title: str, rows: Mapping[str, Sequence[ChainStep | tuple[str, ...]]], *, guess: Answer = None
) -> Chart:
    """Return boxes joined by arrows, a row for each case.

    Args:
        title: the subject in a few words.
        rows: name of the case ("" = none) -> its steps.
        guess: the learner's answer, if it is the name of a case, of a component or an action.
    """
    cases = {name: [ChainStep(*step) for step in steps] for name, steps in rows.items()}
    most = max([len(steps) for steps in cases.values()], default=1) or 1
    said = "; ".join(
        f"{f'{name}: ' if name else ''}" + ", then ".join(f"{step.who} {step.what}".strip() for step in steps)
        for name, steps in cases.items()
    )

    def draw(d: Sheet) -> None:
        left = 150 if any(cases) and not d.narrow else 0
        wide = d.width - 8.0 if d.narrow else min(230.0, (d.width - left - 8 - _GAP * (most - 1)) / most)
        room = letters(wide - (30 if d.narrow else 18))
        y = d.top
        for name, steps in cases.items():
            texts = [wrapped(step.what, room) for step in steps]
            head = _HEAD if any(step.who for step in steps) else 0
            highs = [13 + head + _HEAD * len(lines) for lines in texts]
            if d.narrow and name:
                y = d.lines(0, y + 10, wrapped(name, letters(d.width, bold=True)), bold=True) - 8
            elif not d.narrow:
                highs = [max(highs, default=13 + head + _HEAD)] * len(steps)
                for number, line in enumerate(wrapped(name, letters(left, bold=True))):
                    d.text(0, y + 18 + 14 * number, line, bold=True)
            for place, (one, lines) in enumerate(zip(steps, texts, strict=True)):
                x, high = left + 4.0 + (0 if d.narrow else place * (wide + _GAP)), highs[place]
                if place and d.narrow:
                    y += highs[place - 1] + _DOWN
                    _arrow_down(d, x + 20, y, faint=one.state == "never")
                elif place:
                    _arrow(d, x, y + high / 2, faint=one.state == "never")
                _box(d, x, y, wide, high, one, lines, head)
                if (guess is not None and guess in (one.who, one.what)) or (guess and guess == name):
                    ring(d, x, y, wide, high)
            y += highs[-1] + 16 if highs else 16 + 13 + head + _HEAD
        d.height = y - 8

    flat = [(name, step) for name, steps in cases.items() for step in steps]
    columns = {
        "case": [name for name, _ in flat],
        "who": [one.who for _, one in flat],
        "what": [one.what for _, one in flat],
        "state": [one.state for _, one in flat],
    }
    return answer_chart(title, f"{said}.", columns, draw)


def _box(
    d: Drawing, x: float, y: float, wide: float, high: float, one: ChainStep, lines: Sequence[str], head: int
) -> None:
    colour, dash = STATES[one.state]
    if one.state == "stops":
        ended(d, x, y, wide, high)
    else:
        if one.state != "never":
            d.rect(x, y, wide, high, colour, tint=14)
        d.rect(x, y, wide, high, stroke=colour, weight=2 if one.state == "now" else 1.5, dash=dash)
    ink, inside = ("soft" if one.state == "never" else "ink"), x + (16 if one.state == "stops" else 8)
    if head:
        d.text(inside, y + 17, fitted(one.who, wide - 34), ink, bold=True)
    for number, line in enumerate(lines):
        d.text(inside, y + 17 + head + _HEAD * number, fitted(line, wide - 18 if head or number else wide - 34), ink)
    if one.state == "stops":
        d.cross(x + wide - 12, y + 12)
    elif one.state == "now":
        d.path(f"M{x + wide - 18:.1f} {y + 12:.1f}l4 4l8 -8", "green", weight=2.5)


def _arrow(d: Drawing, x: float, y: float, *, faint: bool) -> None:
    ink = "line" if faint else "soft"
    d.line(x - _GAP + 4, y, x - 6, y, ink, weight=1.5)
    d.path(f"M{x - 11:.1f} {y - 4:.1f}L{x - 4:.1f} {y:.1f}L{x - 11:.1f} {y + 4:.1f}Z", ink, fill=ink)


def _arrow_down(d: Drawing, x: float, y: float, *, faint: bool) -> None:
    ink = "line" if faint else "soft"
    d.line(x, y - _DOWN + 2, x, y - 6, ink, weight=1.5)
    d.path(f"M{x - 4:.1f} {y - 9:.1f}L{x:.1f} {y - 2:.1f}L{x + 4:.1f} {y - 9:.1f}Z", ink, fill=ink)
