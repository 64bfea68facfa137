"""The common parts of the pictures of answers: the chart around a drawing, and the marks of guess and answer.

A picture has two layouts. On a wide page the names of its rows are left of the marks. On a narrow page, such as a
phone's, they are above the marks, and whatever is side by side becomes a column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kitlib.charts.base import Chart
from kitlib.charts.svg import LETTER, Drawing, fitted
from kitlib.views.tokens import SMALL
from kitlib.views.units import size

WIDTH, LEFT, RIGHT, TOP = 720, 170, 150, 34
"""Pixels of a wide picture, left of its marks for names, right of them for figures, and above them."""
NARROW = 600
"""Width in pixels below which names are above the marks."""
LINE = 15
"""Height of a line of text in pixels."""
_WIDEST_FONT = 1.16
"""Letters of DejaVu Sans, the widest of the common system fonts, relative to `LETTER`."""
_SHORT = {"MiB": "Mi", "GiB": "Gi"}
_CLOSE = ("%", "m", "Mi", "Gi")
"""Units without a space before them, as Kubernetes writes quantities."""
Answer = str | float | None


class Sheet(Drawing):
    """The drawing of an answer, in the layout of its width.

    Args:
        width: width in pixels.
        title: the subject in a few words.

    Attributes:
        narrow: whether names are above the marks.
        left: left edge of the marks in pixels.
        room: width of the marks in pixels.
        top: upper edge of the first row in pixels.
    """

    def __init__(self, width: int, title: str) -> None:
        super().__init__(width)
        self.narrow = width < NARROW
        self.left, right = (4.0, 4.0) if self.narrow else (float(LEFT), float(RIGHT))
        self.room = width - self.left - right
        lines = wrapped(title, letters(width, 13, bold=True))
        for number, line in enumerate(lines):
            self.text(0, 16 + 18 * number, line, size=13, bold=True)
        self.top = float(TOP + 18 * (len(lines) - 1))

    def lines(self, x: float, y: float, lines: Sequence[str], colour: str = "ink", **style: Any) -> float:
        """Draw lines of text below each other, the first with its base at `y`; return the base of the next line."""
        for line in lines:
            self.text(x, y, line, colour, **style)
            y += LINE
        return y

    def beside(self, middle: float, name: str, **style: Any) -> None:
        """Draw a row's name left of its marks, in two lines if it is long.

        Args:
            middle: centre of the marks in pixels from the top.
            name: the name.
            style: arguments of `text`.
        """
        room = self.left - 10
        lines = wrapped(name, letters(room, bold=style.get("bold", False)))
        if len(lines) > 2:
            lines = [lines[0], fitted("".join(lines[1:]), room)]
        self.lines(0, middle + 5 - LINE / 2 * (len(lines) - 1), lines, **style)

    def label(self, x: float, y: float, text: str, colour: str = "ink", **style: Any) -> None:
        """Draw a text that begins at `x`, or as far left of it as the picture's right edge demands."""
        wide = text_width(text, style.get("size", SMALL), bold=style.get("bold", False))
        self.text(max(0.0, min(x, self.width - wide)), y, text, colour, **style)


def answer_chart(
    title: str, sentence: str, columns: Mapping[str, Sequence[Any]], draw: Callable[[Sheet], None]
) -> Chart:
    """Return a chart of a static drawing; as a plotly figure it is a table.

    Args:
        title: the subject in a few words.
        sentence: the answer in words.
        columns: the values behind the picture.
        draw: draws on an empty sheet and sets its height.
    """

    def picture(width: int) -> str:
        sheet = Sheet(width, title)
        draw(sheet)
        return sheet.svg(title, sentence)

    return Chart(title, sentence, columns, lambda: table_figure(columns), fitted=picture)


def table_figure(columns: Mapping[str, Sequence[Any]]) -> Any:
    """Return the values behind a picture as plotly's table."""
    import plotly.graph_objects as go

    cells = {"values": list(columns.values()), "align": "left"}
    return go.Figure(go.Table(header={"values": list(columns), "align": "left"}, cells=cells))


def ring(d: Drawing, x: float, y: float, width: float, height: float) -> None:
    """Draw the mark of the learner's guess around a box: a broken purple outline."""
    left, right = max(x - 3, 1.5), min(x + width + 3, d.width - 1.5)
    d.rect(left, y - 3, right - left, height + 6, stroke="guess", weight=2.5, dash="6 3")


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
    unit = _SHORT.get(unit, unit)
    if shown == "1" and len(unit) > 3:  # "1 pod"; "µs" and "ms" are no plurals
        unit = unit.removesuffix("s")
    return f"{shown}{unit if unit in _CLOSE else f' {unit}' if unit else ''}"


def text_width(text: str, font: float = SMALL, *, bold: bool = False) -> float:
    """Return the most pixels that a text takes, estimated for the widest of the common system fonts."""
    return len(text) * LETTER * _WIDEST_FONT * (1.1 if bold else 1.0) * font / SMALL


def letters(room: float, font: float = SMALL, *, bold: bool = False) -> int:
    """Return the number of letters that fit into so many pixels."""
    return max(1, int(room / text_width("x", font, bold=bold)))


def shortened(text: str, room: float, font: float = SMALL, *, bold: bool = False) -> str:
    """Return a name that fits into so many pixels: cut in its middle, since names differ at their ends."""
    most = letters(room, font, bold=bold)
    if len(text) <= most:
        return text
    end = most // 2
    return f"{text[: most - end - 1]}…{text[len(text) - end :]}"


def wrapped(text: str, most: int) -> list[str]:
    """Return a text as lines of at most `most` letters.

    Lines end between words. A name that is longer than a line is broken after a hyphen, slash, point or underscore, or
    at the end of the line if it has none.
    """
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > most:
            lines.append("")
        rest = f"{lines.pop()} {word}".strip()
        while len(rest) > most:
            end = max(rest.rfind(sign, 0, most) for sign in "-/._…,") + 1 or most
            lines.append(rest[:end])
            rest = rest[end:]
        lines.append(rest)
    return lines
