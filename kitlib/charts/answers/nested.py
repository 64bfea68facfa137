"""Nested boxes: the cgroups from the root to a process, each with the value that counts there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kitlib.charts.answers.frame import TOP, WIDTH, Answer, answer_chart, ring
from kitlib.charts.base import Chart
from kitlib.charts.svg import Drawing, fitted

_STEP, _IN = 30, 12


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

    def draw(d: Drawing) -> None:
        high = _STEP * len(levels) + 10 * (len(levels) - 1) + 6
        for place, (name, words) in enumerate(levels):
            x, y = 4 + _IN * place, TOP + _STEP * place
            wide, tall = WIDTH - 8 - 2 * _IN * place, high - (_STEP + 10) * place
            chosen = place in picked
            d.rect(x, y, wide, tall, "green" if chosen else "grey", tint=12)
            d.rect(x, y, wide, tall, stroke="green" if chosen else "soft", weight=2.5 if chosen else 1)
            d.text(x + 8, y + 19, f"{place + 1}  {fitted(name, wide * 0.6)}", bold=True)
            d.text(x + wide - 8, y + 19, fitted(words, wide * 0.36), anchor="end", bold=chosen)
            if guess is not None and guess in (place + 1, words):
                ring(d, x, y, wide, tall)
        d.height = TOP + high + 8

    columns: dict[str, Sequence[Any]] = {
        "level": list(range(1, len(levels) + 1)),
        "cgroup": [n for n, _ in levels],
        "value": [w for _, w in levels],
    }
    return answer_chart(title, "From outside: " + ", ".join(said) + ".", columns, draw)
