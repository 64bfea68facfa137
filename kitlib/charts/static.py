"""A figure as a still SVG picture, for pages that run no JavaScript: GitHub, nbviewer, a printed handout.

Draws the marks that the charts of this room use (bars, heat maps, points and lines, text and straight rules) from the
figure's own data; it needs no browser, unlike plotly's exporter, so it works on Binder and in Pyodide too.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from kitlib.charts.style import GREY, TEXT, series_color

if TYPE_CHECKING:
    import plotly.graph_objects as go

_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 150, 20, 64, 58


def to_svg(figure: go.Figure) -> str:
    """The figure as an SVG document with its sentence as the description; about 720 pixels wide."""
    return _Picture(figure).draw()


class _Axis:
    """Maps an axis' values to pixels: a position for each category, or a scale for numbers."""

    def __init__(self, values: list[Any], start: float, end: float, layout: Any, *, zero: bool) -> None:
        self.categories = self._ordered(values, layout)
        self.start, self.end = start, end
        if layout.autorange == "reversed":
            self.start, self.end = end, start
        if not self.categories:
            numbers = [float(v) for v in values if v is not None]
            fixed = list(layout.range or ())
            low, high = fixed if len(fixed) == 2 else (min(numbers, default=0), max(numbers, default=1))
            if zero and len(fixed) != 2:
                low, high = min(low, 0), high * 1.08
            self.low, self.high = float(low), float(high) if high != low else float(low) + 1

    @staticmethod
    def _ordered(values: list[Any], layout: Any) -> list[str]:
        given = [str(v) for v in layout.categoryarray] if layout.categoryarray is not None else []
        if not any(isinstance(v, str) for v in values):
            return []
        return given + [v for v in dict.fromkeys(str(v) for v in values) if v not in given]

    @property
    def step(self) -> float:
        """Pixels a category takes."""
        return abs(self.end - self.start) / max(1, len(self.categories))

    def at(self, value: Any) -> float:
        if self.categories:
            part = (self.categories.index(str(value)) + 0.5) / len(self.categories)
        else:
            part = (float(value) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self, layout: Any) -> list[tuple[float, str]]:
        if self.categories:
            return [(self.at(name), name) for name in self.categories]
        if layout.tickvals is not None:
            texts = layout.ticktext if layout.ticktext is not None else [str(v) for v in layout.tickvals]
            return [(self.at(v), str(t).replace("<br>", " ")) for v, t in zip(layout.tickvals, texts, strict=True)]
        span = self.high - self.low
        return [(self.at(self.low + span * i / 4), f"{self.low + span * i / 4:,.4g}") for i in range(5)]


class _Picture:
    def __init__(self, figure: go.Figure) -> None:
        self.figure = figure
        self.layout = figure.layout
        self.height = int(self.layout.height or 360)
        xs, ys, stacked = self._extent()
        bars = any(trace.type == "bar" for trace in figure.data)
        flat = any(trace.type == "bar" and trace.orientation == "h" for trace in figure.data)
        bottom, right = self.height - _BOTTOM, _WIDTH - _RIGHT
        self.x = _Axis(xs + (stacked if flat else []), _LEFT, right, self.layout.xaxis, zero=bars and flat)
        self.y = _Axis(ys + ([] if flat else stacked), bottom, _TOP, self.layout.yaxis, zero=not flat)
        self.piled: dict[tuple[str, int], float] = {}
        self.out: list[str] = []

    def _extent(self) -> tuple[list[Any], list[Any], list[float]]:
        """All x values, all y values, and the height that stacked bars reach."""
        xs: list[Any] = []
        ys: list[Any] = []
        piles: dict[str, float] = {}
        for trace in self.figure.data:
            if trace.type == "bar":
                flat = trace.orientation == "h"
                places, lengths = (trace.y, trace.x) if flat else (trace.x, trace.y)
                (ys if flat else xs).extend(places)
                for place, length in zip(places, lengths, strict=True):
                    pile = str(place) if self.layout.barmode == "stack" else f"{place}/{trace.name}"
                    piles[pile] = piles.get(pile, 0.0) + float(length or 0)
            else:
                xs.extend(trace.x if trace.x is not None else ())
                ys.extend(v for v in (trace.y if trace.y is not None else ()) if v is not None)
        for shape in self.layout.shapes or ():
            if shape.yref == "y" and shape.y0 == shape.y1:
                ys.append(shape.y0)
        return xs, ys, [0.0, *piles.values()] if piles else []

    def draw(self) -> str:
        sentence = str((self.layout.meta or {}).get("sentence", ""))
        title = str(self.layout.title.text or "")
        for index, trace in enumerate(self.figure.data):
            {"bar": self._bar, "heatmap": self._heatmap, "scatter": self._scatter}[trace.type](index, trace)
        for shape in self.layout.shapes or ():
            if shape.yref == "y" and shape.y0 == shape.y1:
                y = self.y.at(shape.y0)
                self._line(_LEFT, y, _WIDTH - _RIGHT, y, shape.line.color, dashed=True)
        self._axes()
        self._legend()
        body = "\n".join(self.out)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {self.height}" width="{_WIDTH}" role="img" '
            f'font-family="sans-serif" font-size="11"><title>{html.escape(title)}</title>'
            f"<desc>{html.escape(sentence)}</desc>"
            f'<text x="8" y="20" font-size="15" fill="{TEXT}">{html.escape(title)}</text>\n{body}\n</svg>'
        )

    # ---- marks

    def _bar(self, index: int, trace: Any) -> None:
        flat = trace.orientation == "h"
        places, lengths = (trace.y, trace.x) if flat else (trace.x, trace.y)
        along, across = (self.x, self.y) if flat else (self.y, self.x)
        groups = [t for t in self.figure.data if t.type == "bar"] if self.layout.barmode == "group" else [trace]
        step = across.step if across.categories else 24.0
        width = 0.8 * step / len(groups)
        offset = (groups.index(trace) + 0.5) * width - 0.4 * step if len(groups) > 1 else 0.0
        for i, (place, length) in enumerate(zip(places, lengths, strict=True)):
            pile = (str(place), -1 if self.layout.barmode == "stack" else index)
            base = self.piled.get(pile, 0.0)
            self.piled[pile] = base + float(length or 0)
            one, two = sorted((along.at(base), along.at(self.piled[pile])))
            middle = across.at(place) + offset
            color = _one(trace.marker.color, i) or series_color(index)
            box = (one, middle - width / 2, two - one, width) if flat else (middle - width / 2, one, width, two - one)
            self._rect(*box, color)
            text = _one(trace.text, i)
            if text:
                self._text(box[0] + box[2] / 2, box[1] + box[3] / 2 + 4, str(text), "#000000")

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
                self._rect(
                    x - self.x.step / 2 + 1,
                    y - self.y.step / 2 + 1,
                    self.x.step - 2,
                    self.y.step - 2,
                    _shade(part, trace),
                )
                if trace.text is not None and trace.text[row][column]:
                    self._text(x, y + 4, str(trace.text[row][column]), "#000000")

    def _scatter(self, index: int, trace: Any) -> None:
        mode = trace.mode or "lines"
        points = [(self.x.at(x), self.y.at(y)) for x, y in zip(trace.x, trace.y, strict=True) if y is not None]
        color = trace.line.color or _one(trace.marker.color, 0) or series_color(index)
        if "lines" in mode and points:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            self.out.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        for i, (x, y) in enumerate(points):
            if "markers" in mode:
                size = float(trace.marker.size or 8) / 2
                self._rect(x - size, y - size, 2 * size, 2 * size, color)
            if "text" in mode and _one(trace.text, i):
                self._text(x, y + 4, str(_one(trace.text, i)), "#000000" if "markers" in mode else TEXT)

    # ---- around the marks

    def _axes(self) -> None:
        bottom = self.height - _BOTTOM
        for x, label in self.x.ticks(self.layout.xaxis):
            self._text(x, bottom + 16, label[:18], TEXT)
        for y, label in self.y.ticks(self.layout.yaxis):
            self._text(_LEFT - 6, y + 4, label[-24:], TEXT, anchor="end")
        self._line(_LEFT, bottom, _WIDTH - _RIGHT, bottom, GREY)
        if self.layout.xaxis.title.text:
            self._text((_LEFT + _WIDTH - _RIGHT) / 2, bottom + 32, str(self.layout.xaxis.title.text), TEXT)

    def _legend(self) -> None:
        named = [(i, t) for i, t in enumerate(self.figure.data) if t.name and t.showlegend is not False]
        if len(named) < 2:
            return
        x = 8.0
        for index, trace in named:
            color = trace.line.color if trace.type == "scatter" and trace.line.color else _one(trace.marker.color, 0)
            self._rect(x, self.height - 16, 10, 10, color or series_color(index))
            self._text(x + 14, self.height - 7, str(trace.name), TEXT, anchor="start")
            x += 28 + 6.5 * len(str(trace.name))

    def _rect(self, x: float, y: float, width: float, height: float, color: str) -> None:
        self.out.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{color}"/>')

    def _line(self, x1: float, y1: float, x2: float, y2: float, color: str, *, dashed: bool = False) -> None:
        dash = ' stroke-dasharray="6 4"' if dashed else ""
        self.out.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}"{dash}/>')

    def _text(self, x: float, y: float, text: str, color: str, anchor: str = "middle") -> None:
        self.out.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{html.escape(text)}</text>'
        )


def _one(value: Any, index: int) -> Any:
    """The `index`-th of a list-like attribute, or the attribute itself where it is one for all."""
    if value is None or isinstance(value, str):
        return value
    return value[index] if index < len(value) else None


def _shade(part: float, trace: Any) -> str:
    """The colour of a heat map's cell: the last stop of its scale that `part` (0 to 1) has reached."""
    stops = [(float(at), color) for at, color in trace.colorscale]
    if len(stops) == 2:
        return "#dddddd" if part == 0 else f"rgba(0,114,178,{0.25 + 0.75 * part:.2f})"
    return next(color for at, color in reversed(stops) if part >= at - 1e-9)
