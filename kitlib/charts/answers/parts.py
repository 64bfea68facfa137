"""A whole and its parts in several cases: who gets how much of the CPUs or of the memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import Any

from kitlib.charts.answers.frame import LINE, Answer, Sheet, amount, answer_chart, letters, text_width, wrapped
from kitlib.charts.base import Chart

_HIGH, _GAP = 26, 14
"""Height of a bar, and pixels between two rows."""


def parts_chart(
    title: str,
    rows: Mapping[str, Mapping[str, float]],
    *,
    unit: str = "",
    picked: Collection[str] = (),
    guess: Answer = None,
) -> Chart:
    """Return a bar for each case, divided into its parts; a part that is too short for its name is named below.

    Args:
        title: the subject in a few words.
        rows: case -> part -> amount, in the order of the bar.
        unit: unit of the amounts; "bytes" are shown as Ki, Mi and Gi.
        picked: names of the parts that are the answer.
        guess: the learner's answer, if it is the name of a part.
    """
    said = {case: {part: f"{part} {amount(value, unit)}" for part, value in of.items()} for case, of in rows.items()}
    sentence = "; ".join(f"{case}: {', '.join(words.values())}" for case, words in said.items())
    most = max((sum(of.values()) for of in rows.values()), default=0.0) or 1.0

    def draw(d: Sheet) -> None:
        whole = d.width - d.left - 4
        y = d.top
        for case, of in rows.items():
            if d.narrow:
                y = d.lines(0, y + 10, wrapped(case, letters(d.width, bold=True)), bold=True) - 8
            else:
                d.beside(y + _HIGH / 2, case)
            below = []
            ends = list(accumulate(of.values()))
            for (part, value), end in zip(of.items(), ends, strict=True):
                chosen = part in picked
                left, right = (d.left + whole * at / most for at in (end - value, end))
                d.rect(left, y, right - left, _HIGH, "green" if chosen else "blue", tint=42 if chosen else 22)
                d.rect(left, y, right - left, _HIGH, stroke="green" if chosen else "blue", weight=1.5)
                if part == guess:
                    d.rect(left + 2, y + 2, right - left - 4, _HIGH - 4, stroke="guess", weight=2.5, dash="6 3")
                texts = (said[case][part], part)
                fits = next((text for text in texts if text_width(text, bold=chosen) + 10 <= right - left), "")
                if fits:
                    d.text(left + 6, y + 17, fits, bold=chosen, halo=True)
                below += [] if fits == texts[0] or not value else [texts[0]]
            y += _HIGH
            if below:
                y = d.lines(d.left, y + LINE, wrapped(" · ".join(below), letters(whole)), "soft") - LINE + 4
            y += _GAP
        d.height = y - _GAP + 4

    flat = [(case, part, value) for case, of in rows.items() for part, value in of.items()]
    columns: dict[str, Sequence[Any]] = {
        "case": [case for case, _, _ in flat],
        "part": [part for _, part, _ in flat],
        f"amount{f' in {unit}' if unit else ''}": [value for _, _, value in flat],
    }
    return answer_chart(title, f"{sentence}.", columns, draw)
