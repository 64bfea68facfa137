"""Nested boxes: the cgroups from the root to a process, each with the value that counts there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kitlib.charts.answers.frame import LINE, Answer, Sheet, answer_chart, letters, ring, wrapped
from kitlib.charts.base import Chart
from kitlib.charts.svg import fitted

_STEP, _IN, _NARROW_IN, _NUMBER = 30, 12, 5, 16


def nested_chart(
    title: str, levels: Sequence[tuple[str, str]], *, picked: Sequence[int] = (), guess: Answer = None
) -> Chart:
    """Return one box in another, the outermost first.

    Args:
        title: the subject in a few words.
        levels: (name, words) of each box, from outside.
        picked: places of the boxes that are the answer.
        guess: the learner's answer, if it is the number of boxes or the words of one.
    """
    said = [f"{name}{f' ({words})' if words else ''}" for name, words in levels]

    def draw(d: Sheet) -> None:
        step = _NARROW_IN if d.narrow else _IN
        wides = [d.width - 8 - 2 * step * place for place in range(len(levels))]
        heads = [
            wrapped(name, letters(wides[place] - 16 - _NUMBER, bold=True)) if d.narrow else [name]
            for place, (name, _) in enumerate(levels)
        ]
        more = [
            wrapped(words, letters(wides[place] - 16 - _NUMBER, bold=place in picked)) if d.narrow and words else []
            for place, (_, words) in enumerate(levels)
        ]
        steps = [_STEP + LINE * (len(heads[place]) - 1 + len(more[place])) for place in range(len(levels))]
        tall = float(sum(steps) + 10 * (len(levels) - 1) + 6)
        high = tall
        y = d.top
        for place, (name, words) in enumerate(levels):
            x, wide, chosen = 4 + step * place, wides[place], place in picked
            d.rect(x, y, wide, tall, "green" if chosen else "grey", tint=12)
            d.rect(x, y, wide, tall, stroke="green" if chosen else "soft", weight=2.5 if chosen else 1)
            if d.narrow:
                d.text(x + 8, y + 19, str(place + 1), bold=True)
                base = d.lines(x + 8 + _NUMBER, y + 19, heads[place], bold=True)
                d.lines(x + 8 + _NUMBER, base, more[place], bold=chosen)
            else:
                d.text(x + 8, y + 19, f"{place + 1}  {fitted(name, wide * 0.6)}", bold=True)
                d.text(x + wide - 8, y + 19, fitted(words, wide * 0.36), anchor="end", bold=chosen)
            if guess is not None and guess in (place + 1, words):
                ring(d, x, y, wide, tall)
            y, tall = y + steps[place], tall - steps[place] - 10
        d.height = d.top + high + 8

    columns: dict[str, Sequence[Any]] = {
        "level": list(range(1, len(levels) + 1)),
        "cgroup": [n for n, _ in levels],
        "value": [w for _, w in levels],
    }
    return answer_chart(title, "From outside: " + ", ".join(said) + ".", columns, draw)
