"""Places as cards with what is in them: nodes or zones with their pods, refused, chosen or emptied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kitlib.charts.answers.frame import (
    Answer,
    Sheet,
    answer_chart,
    ended,
    letters,
    ring,
    shortened,
    text_width,
    wrapped,
)
from kitlib.charts.base import Chart
from kitlib.charts.svg import Drawing

_GAP, _LINE = 14, 22


class PlaceCard(NamedTuple):
    """A node, a zone, or the queue.

    Attributes:
        pods: names of the objects in it.
        words: a note about it, or the reason for its refusal; "" = none.
        state: "chosen", "refused", "gone" (it has ended), "queue" (its objects wait) or "".
        leaving: names of `pods` that are removed.
    """

    pods: Sequence[str] = ()
    words: str = ""
    state: str = ""
    leaving: Sequence[str] = ()


def places_chart(title: str, places: Mapping[str, PlaceCard], *, guess: Answer = None) -> Chart:
    """Return a card for each place, at most six in a row.

    Args:
        title: the subject in a few words.
        places: name -> place.
        guess: the learner's answer, if it is the name of a place or of an object in one.
    """
    columns = {
        "place": list(places),
        "inside": [", ".join(place.pods) for place in places.values()],
        "leaves": [", ".join(place.leaving) for place in places.values()],
        "words": [place.words for place in places.values()],
    }

    def draw(d: Sheet) -> None:
        longest = max([len(name) for name in places], default=0)
        # Nothing is cut: a card is as wide as the longest name, pod or word.
        inside = [text for place in places.values() for text in [*place.pods, *place.words.split()]]
        head = text_width("x" * (longest + 2), bold=True) + 24
        need = max(84.0, head, *(text_width(text, 11) + 34 for text in inside))
        across = max(1, min(6, len(places), int((d.width - 8 + _GAP) / (need + _GAP))))
        wide = min(max(200.0, need), (d.width - 8 - _GAP * (across - 1)) / across)
        y, row = d.top, 0.0
        for number, (name, one) in enumerate(places.items()):
            if number and number % across == 0:
                y, row = y + row + _GAP, 0.0
            x = 4 + number % across * (wide + _GAP)
            row = max(row, _card(d, x, y, wide, name, one, guess, _high(places, number, across, wide)))
        d.height = y + row + 6

    return answer_chart(title, " ".join(_said(name, one) for name, one in places.items()), columns, draw)


def _lines(one: PlaceCard, wide: float) -> list[str]:
    return wrapped(one.words, letters(wide - 22, 11)) if one.words else []


def _high(places: Mapping[str, PlaceCard], number: int, across: int, wide: float) -> float:
    """Return the common height of the cards of a row."""
    first = number // across * across
    row = list(places.values())[first : first + across]
    return max(30 + _LINE * len(one.pods) + 15 * len(_lines(one, wide)) + 6 for one in row)


def _card(d: Drawing, x: float, y: float, wide: float, name: str, one: PlaceCard, guess: Answer, high: float) -> float:
    edge, weight = {"chosen": ("green", 3.0), "refused": ("line", 1.5)}.get(one.state, ("soft", 1.0))
    if one.state == "chosen":
        d.rect(x, y, wide, high, "green", tint=10)
    if one.state == "gone":
        ended(d, x, y, wide, high)
    else:
        d.rect(x, y, wide, high, stroke=edge, weight=weight, dash="5 4" if one.state in ("refused", "queue") else "")
    sign = {"chosen": "✓ ", "refused": "✗ "}.get(one.state, "")
    inside = x + (18 if one.state == "gone" else 8)
    d.text(inside, y + 17, shortened(sign + name, wide - 22, bold=True), bold=True, struck=one.state == "gone")
    at = y + 24
    for pod in one.pods:
        gone = pod in one.leaving
        if gone:
            ended(d, x + 7, at, wide - 14, 18)
        else:
            if one.state != "queue":
                d.rect(x + 7, at, wide - 14, 18, "blue", tint=22)
            d.rect(x + 7, at, wide - 14, 18, stroke="soft" if one.state == "queue" else "blue")
        d.text(x + (21 if gone else 12), at + 13, shortened(pod, wide - 32, 11), size=11, struck=gone)
        if pod == guess:
            ring(d, x + 7, at, wide - 14, 18)
        at += _LINE
    for number, line in enumerate(_lines(one, wide)):
        d.text(
            inside,
            at + 13 + 15 * number,
            line,
            "soft" if one.state in ("", "queue") else "ink",
            size=11,
        )
    if name == guess:
        ring(d, x, y, wide, high)
    return high


def _said(name: str, one: PlaceCard) -> str:
    inside = ", ".join(f"{pod}{' (leaves)' if pod in one.leaving else ''}" for pod in one.pods) or "empty"
    state = f" {one.state}," if one.state in ("chosen", "refused", "gone") else ""
    return f"{name}:{state} {inside}{f', {one.words}' if one.words else ''}."
