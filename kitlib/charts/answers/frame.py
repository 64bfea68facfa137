"""The common parts of the pictures of answers: the chart around a drawing, and the marks of guess and answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kitlib.charts.base import Chart
from kitlib.charts.svg import Drawing
from kitlib.views.units import size

WIDTH, LEFT, RIGHT, TOP = 720, 170, 150, 34
"""Pixels of a picture, left of its marks for names, right of them for figures, and above them."""
Answer = str | float | None


def answer_chart(
    title: str, sentence: str, columns: Mapping[str, Sequence[Any]], draw: Callable[[Drawing], None]
) -> Chart:
    """Return a chart of a static drawing; as a plotly figure it is a table.

    Args:
        title: the subject in a few words.
        sentence: the answer in words.
        columns: the values behind the picture.
        draw: draws on an empty drawing of `WIDTH` and sets its height.
    """

    def picture() -> str:
        drawing = Drawing(WIDTH)
        drawing.text(0, 16, title, size=13, bold=True)
        draw(drawing)
        return drawing.svg(title, sentence)

    return Chart(title, sentence, columns, lambda: table_figure(columns), picture=picture)


def table_figure(columns: Mapping[str, Sequence[Any]]) -> Any:
    """Return the values behind a picture as plotly's table."""
    import plotly.graph_objects as go

    cells = {"values": list(columns.values()), "align": "left"}
    return go.Figure(go.Table(header={"values": list(columns), "align": "left"}, cells=cells))


def ring(d: Drawing, x: float, y: float, width: float, height: float) -> None:
    """Draw the mark of the learner's guess around a box: a broken purple outline."""
    d.rect(x - 3, y - 3, width + 6, height + 6, stroke="guess", weight=2.5, dash="6 3")


def ended(d: Drawing, x: float, y: float, width: float, height: float) -> None:
    """Draw a box of something that ends: a red outline with a hatched strip at its left, which leaves room for text."""
    d.hatch(x, y, min(10, width), height, "red", "leaves")
    d.rect(x, y, width, height, stroke="red", weight=1.5)


def amount(value: float | None, unit: str) -> str:
    """Return an amount with its unit: bytes as Ki, Mi and Gi; None is "no limit"."""
    if value is None:
        return "no limit"
    if unit == "bytes":
        return size(int(value)).removeprefix("~")
    digits = 3 if abs(value) < 10 else 2 if abs(value) < 100 else 1 if abs(value) < 1000 else 0
    shown = f"{value:,.{digits}f}"
    shown = shown.rstrip("0").rstrip(".") if "." in shown else shown
    return f"{shown}{unit if unit in ('%', 'm') else f' {unit}' if unit else ''}"


def wrapped(text: str, letters: int) -> list[str]:
    """Return a text as lines of at most so many letters; words are not broken."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > letters:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
