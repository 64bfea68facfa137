"""Converts a figure to a static SVG picture, for pages without JavaScript: GitHub, nbviewer, a printed handout.

It draws the marks that these charts use (bars, heat maps, points and lines, text and straight rules) from the figure's
data. Unlike plotly's exporter it needs no browser, so it works on Binder and in Pyodide too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kitlib.charts.static_axis import Axis
from kitlib.charts.style import series_color
from kitlib.charts.svg import TINT, Drawing
from kitlib.views.tokens import LIMIT, NAMES

if TYPE_CHECKING:
    import plotly.graph_objects as go

_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 860, 190, 24, 44, 58
_LETTERS = 30
"""Maximum number of letters of a label beside the picture."""
_STACKED = ("stack", "relative")
"""plotly's modes in which the bars of a place lie end to end; what is negative lies on the other side of zero."""
_SHAPES = {"/": "up", "\\": "down", "x": "cross", ".": "dots", "+": "plus"}
"""plotly's pattern, which distinguishes bars without colour -> the kit's pattern."""


def to_svg(figure: go.Figure) -> str:
    """Return the figure as an SVG document with its sentence as the description; about 720 pixels wide."""
    return _Picture(figure).draw()


class _Picture:
    """The whole picture: title, one panel for each pair of axes, legend."""

    def __init__(self, figure: go.Figure) -> None:
        self.figure, self.layout = figure, figure.layout
        self.height = int(self.layout.height or 360)
        self.drawing = Drawing(_WIDTH)
        self.drawing.height = self.height

    def draw(self) -> str:
        sentence = str((self.layout.meta or {}).get("sentence", ""))
        title = str(self.layout.title.text or "")
        panels: dict[tuple[str, str], list[tuple[int, Any]]] = {}
        for index, trace in enumerate(self.figure.data):
            panels.setdefault((trace.xaxis or "x", trace.yaxis or "y"), []).append((index, trace))
        for (x, y), traces in panels.items():
            _Panel(self, traces, _named(self.layout, x), _named(self.layout, y)).draw()
        for note in self.layout.annotations or ():
            if note.xref == "paper" and note.yref == "paper" and not note.textangle:
                x = _LEFT + note.x * (_WIDTH - _RIGHT - _LEFT)
                self.text(x, self.height - _BOTTOM + note.y * (_TOP + _BOTTOM - self.height) - 6, str(note.text), "ink")
        self._legend()
        self.drawing.text(8, 20, title, size=14, bold=True)
        return self.drawing.svg(title, sentence)

    def _legend(self) -> None:
        named = [(i, t) for i, t in enumerate(self.figure.data) if t.name and t.showlegend is not False]
        if len(named) < 2:
            return
        x = 8.0
        for index, trace in named:
            usual = _usual(trace.marker.color)
            color = (
                trace.line.color if trace.type == "scatter" and trace.line.color else _one(trace.marker.color, usual)
            )
            self.rect(x, self.height - 16, 10, 10, color or series_color(index), _pattern(trace, usual))
            self.text(x + 14, self.height - 7, str(trace.name), anchor="start")
            x += 28 + 6.5 * len(str(trace.name))

    # ---- what is written

    def rect(
        self, x: float, y: float, width: float, height: float, color: str, pattern: str = "", words: str = ""
    ) -> None:
        if pattern in _SHAPES:
            self.drawing.hatch(x, y, width, height, color, _SHAPES[pattern], words)
        else:
            self.drawing.rect(x, y, width, height, color, stroke=color, tint=TINT, words=words)

    def text(self, x: float, y: float, text: str, colour: str = "soft", anchor: str = "middle") -> None:
        self.drawing.text(x, y, text, colour, anchor=anchor, size=11 if colour == "soft" else 12, halo=colour == "ink")


class _Panel:
    """The traces of one pair of axes."""

    def __init__(self, picture: _Picture, traces: list[tuple[int, Any]], xaxis: Any, yaxis: Any) -> None:
        self.picture, self.traces, self.xaxis, self.yaxis = picture, traces, xaxis, yaxis
        self.layout = picture.layout
        xs, ys, stacked = self._extent()
        bars = any(trace.type == "bar" for _, trace in traces)
        flat = any(trace.type == "bar" and trace.orientation == "h" for _, trace in traces)
        points = any(trace.type == "scatter" and "markers" in (trace.mode or "") for _, trace in traces)
        room = 0.04 if points and not bars else 0.0
        self.left, self.right = self._part(xaxis, _LEFT, _WIDTH - _RIGHT)
        self.bottom, self.top = self._part(yaxis, picture.height - _BOTTOM, _TOP)
        zero = not flat and not points
        self.x = Axis(
            xs + (stacked if flat else []),
            self.left,
            self.right,
            xaxis,
            zero=bars and flat,
            room=room if not flat else 0,
        )
        self.y = Axis(ys + ([] if flat else stacked), self.bottom, self.top, yaxis, zero=zero, room=4 * room)
        self.piled: dict[tuple[str, int, bool], float] = {}

    @staticmethod
    def _part(axis: Any, start: float, end: float) -> tuple[float, float]:
        low, high = axis.domain if axis.domain is not None else (0, 1)
        return start + low * (end - start), start + high * (end - start)

    def _extent(self) -> tuple[list[Any], list[Any], list[float]]:
        """Return all x values, all y values, and the height of stacked bars."""
        xs: list[Any] = []
        ys: list[Any] = []
        piles: dict[tuple[str, bool], float] = {}
        for _, trace in self.traces:
            if trace.type == "bar":
                flat = trace.orientation == "h"
                places, lengths = (trace.y, trace.x) if flat else (trace.x, trace.y)
                (ys if flat else xs).extend(places)
                for place, length in zip(places, lengths, strict=True):
                    value = float(length or 0)
                    pile = (str(place) if self.layout.barmode in _STACKED else f"{place}/{trace.name}", value < 0)
                    piles[pile] = piles.get(pile, 0.0) + value
            else:
                xs.extend(v for v in (trace.x if trace.x is not None else ()) if v is not None)
                ys.extend(v for v in (trace.y if trace.y is not None else ()) if v is not None)
        for shape in self.layout.shapes or ():
            if shape.yref == "y" and shape.y0 == shape.y1:
                ys.append(shape.y0)
        return xs, ys, [0.0, *piles.values()] if piles else []

    def draw(self) -> None:
        for index, trace in self.traces:
            {"bar": self._bar, "heatmap": self._heatmap, "scatter": self._scatter}[trace.type](index, trace)
        for shape in self.layout.shapes or ():
            if shape.yref == "y" and shape.y0 == shape.y1:
                y = self.y.at(shape.y0)
                self.picture.drawing.limit(self.left, y, self.right, y)
        self._axes()

    # ---- marks

    def _bar(self, index: int, trace: Any) -> None:
        flat = trace.orientation == "h"
        places, lengths = (trace.y, trace.x) if flat else (trace.x, trace.y)
        along, across = (self.x, self.y) if flat else (self.y, self.x)
        groups = [t for _, t in self.traces if t.type == "bar"] if self.layout.barmode == "group" else [trace]
        step = across.step if across.categories else 24.0
        width = 0.8 * step / len(groups)
        offset = (groups.index(trace) + 0.5) * width - 0.4 * step if len(groups) > 1 else 0.0
        for i, (place, length) in enumerate(zip(places, lengths, strict=True)):
            value, group = float(length or 0), -1 if self.layout.barmode in _STACKED else index
            pile = (str(place), group, value < 0)  # what is taken away lies on the other side of zero
            base = self.piled.get(pile, 0.0)
            self.piled[pile] = base + value
            low, two = sorted((along.at(base), along.at(self.piled[pile])))
            end = along.at(self.piled.get((str(place), group, False), 0.0))
            middle = across.at(place) + offset
            color = _one(trace.marker.color, i) or series_color(index)
            box = (low, middle - width / 2, two - low, width) if flat else (middle - width / 2, low, width, two - low)
            self.picture.rect(*box, color, _pattern(trace, i), _words(trace, place, length))
            text = _one(trace.text, i)
            if text and trace.textposition == "outside" and flat:
                self.picture.text(max(end, box[0] + box[2]) + 5, box[1] + box[3] / 2 + 4, str(text), "ink", "start")
            elif text and trace.textposition == "outside":
                self.picture.text(box[0] + box[2] / 2, box[1] - 4, str(text), "ink")
            elif text:
                self.picture.text(box[0] + box[2] / 2, box[1] + box[3] / 2 + 4, str(text), "ink")

    def _heatmap(self, index: int, trace: Any) -> None:
        for row, name in enumerate(trace.y):
            for column, place in enumerate(trace.x):
                value = trace.z[row][column]
                if value is None:
                    continue
                low, high = (
                    float(trace.zmin or 0),
                    float(trace.zmax or max(max(v or 0 for v in r) for r in trace.z) or 1),
                )
                part = min(1.0, (float(value) - low) / (high - low))
                x, y = self.x.at(place), self.y.at(name)
                left, top = x - self.x.step / 2 + 1, y - self.y.step / 2 + 1
                colour, tint = _shade(part, trace)
                self.picture.drawing.rect(left, top, self.x.step - 2, self.y.step - 2, colour, tint=tint)
                if trace.text is not None and trace.text[row][column]:
                    self.picture.text(x, y + 4, str(trace.text[row][column]), "ink")

    def _scatter(self, index: int, trace: Any) -> None:
        mode = trace.mode or "lines"
        pairs = [(x, y) for x, y in zip(trace.x, trace.y, strict=True) if x is not None and y is not None]
        points = [(self.x.at(x), self.y.at(y)) for x, y in pairs]
        color = trace.line.color or _one(trace.marker.color, 0) or series_color(index)
        if "lines" in mode and points:
            self.picture.drawing.path("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points), color, weight=2)
        for i, (x, y) in enumerate(points):
            if "markers" in mode and str(_one(trace.marker.symbol, i)).startswith("line-ns"):
                size = float(trace.marker.size or 8) / 2
                self.picture.drawing.path(f"M{x:.1f} {y - size:.1f}v{2 * size:.1f}", color, weight=LIMIT)
            elif "markers" in mode:
                size = float(trace.marker.size or 8) / 2
                self.picture.rect(x - size, y - size, 2 * size, 2 * size, color)
            if "text" in mode and _one(trace.text, i):
                self.picture.text(x, y + 4, str(_one(trace.text, i)), "ink", "start" if mode == "text" else "middle")

    # ---- around the marks

    def _axes(self) -> None:
        p = self.picture
        across = self.x.ticks(self.xaxis)
        letters = max(4, int((self.right - self.left) / max(1, len(across)) / 6.2))
        for x, label in across:
            p.text(x, self.bottom + 16, _short(label, letters))
        for y, label in self.y.ticks(self.yaxis):
            p.text(self.left - 6, y + 4, _short(label, _LETTERS), anchor="end")
        p.drawing.line(self.left, self.bottom, self.right, self.bottom)
        if self.xaxis.title.text:
            p.text((self.left + self.right) / 2, self.bottom + 32, str(self.xaxis.title.text))
        if self.yaxis.title.text and self.yaxis.anchor in (None, "x"):
            p.text(8, self.top - 8, str(self.yaxis.title.text), anchor="start")


def _one(value: Any, index: int) -> Any:
    """Return the element `index` of a list-like attribute, or the attribute itself if it applies to all."""
    if value is None or isinstance(value, str):
        return value
    return value[index] if index < len(value) else None


def _usual(values: Any) -> int:
    """Return the index of the most frequent element: the legend shows the look of most bars, not of a killed one."""
    listed = [] if values is None or isinstance(values, str) else list(values)
    return listed.index(max(listed, key=listed.count)) if listed else 0


def _shade(part: float, trace: Any) -> tuple[str, float]:
    """Return colour and opacity (percent) of a heat map's cell, from the last stop that `part` (0 to 1) reaches."""
    stops = [(float(at), color) for at, color in trace.colorscale]
    if len(stops) == 2:
        return ("line", 40) if part == 0 else (stops[1][1], 12 + 40 * part)
    return next(
        (color, TINT if color.lower() in NAMES else 100.0) for at, color in reversed(stops) if part >= at - 1e-9
    )


def _words(trace: Any, place: Any, length: Any) -> str:
    """Return the text of a bar under the pointer."""
    return f"{place}{f', {trace.name}' if trace.name else ''}: {float(length or 0):g}"


def _named(layout: Any, axis: str) -> Any:
    """Return the axis of a name such as `x2`, which is `layout.xaxis2`."""
    return layout[f"{axis[0]}axis{axis[1:]}"]


def _short(label: str, letters: int) -> str:
    """Return a label that fits; a long label is cut at its start, since names differ at the end."""
    return label if len(label) <= letters else "…" + label[1 - letters :]


def _pattern(trace: Any, index: int) -> str:
    return str(_one(trace.marker.pattern.shape, index) or "") if trace.type == "bar" else ""
