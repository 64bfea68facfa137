"""Usage over time with its limit, and the CFS periods in which a quota throttled a cgroup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from kitlib.charts.base import Chart
from kitlib.charts.style import INK, series_color
from kitlib.charts.svg import LETTER, Drawing, binary_ticks, decimal_ticks, fitted
from kitlib.views.units import size

_DASHES = ("", "2 3", "7 4", "12 4")
_PLOTLY_DASHES = ("solid", "dot", "dash", "longdash")
_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM, _HIGH = 860, 64, 150, 34, 34, 220


LIMIT_NAME = "limit"
"""Name in `limits` of the memory limit at which the kernel kills."""


class UsageMark(NamedTuple):
    """An event at one moment, marked in the picture.

    Attributes:
        second: time of the event in seconds.
        words: two to four words, such as "killed 137".
        sign: "end" (a cross), "new" (a green dot) or "" (a line).
    """

    second: float
    words: str
    sign: str = ""


def usage_chart(
    seconds: Sequence[float],
    series: Mapping[str, Sequence[float | None]],
    *,
    limits: Mapping[str, float] | None = None,
    unit: str = "bytes",
    title: str = "Usage over time",
    marks: Sequence[UsageMark | tuple[float, str] | tuple[float, str, str]] = (),
    requests: Mapping[str, float] | None = None,
) -> Chart:
    """Return a chart of usage: bytes as connected lines, rates and shares as steps over their measurement interval.

    Args:
        seconds: the time of every sample, from the start of the watch.
        series: name -> one value per sample (None if the file did not exist).
        limits: name of a series, or of a line of its own -> a constant.
        unit: the unit of all values; "bytes" are shown as Mi and Gi.
        title: heading of the picture.
        marks: events, as `UsageMark` or tuples of its fields.
        requests: series -> its request; in a chart of one series, the area above it is hatched.
    """
    limits = dict(limits or {})
    happened = [UsageMark(*mark) for mark in marks]
    last = {name: next((v for v in reversed(values) if v is not None), None) for name, values in series.items()}
    said = ", ".join(f"{name} {_said(value, unit)}" for name, value in last.items() if value is not None)
    over = [
        name for name, value in last.items() if name in limits and value is not None and value >= 0.995 * limits[name]
    ]

    def draw():
        import plotly.graph_objects as go

        figure = go.Figure()
        for index, (name, values) in enumerate(series.items()):
            line = {"color": series_color(index), "dash": _PLOTLY_DASHES[index % 4]}
            if unit != "bytes":
                line["shape"] = "vh"
            figure.add_scatter(
                x=list(seconds), y=[_scaled(v, unit) for v in values], name=name, mode="lines", line=line
            )
        for name, value in limits.items():
            words = _name_of_limit(name, series)
            figure.add_hline(y=_scaled(value, unit), line={"color": INK, "width": 2}, annotation_text=words)
        for mark in happened:
            figure.add_vline(x=mark.second, line={"color": INK, "width": 1}, annotation_text=mark.words)
        figure.update_xaxes(title={"text": "seconds"})
        figure.update_yaxes(title={"text": "Mi" if unit == "bytes" else unit}, rangemode="tozero")
        return figure

    sentence = f"After {seconds[-1]:.1f} s: {said}." if len(seconds) and said else "Nothing measured yet."
    if over:
        sentence += " At the limit: " + ", ".join(over) + "."
    if happened:
        sentence += " " + ", ".join(f"{mark.words} at {mark.second:g} s" for mark in happened) + "."

    def picture() -> str:
        return _Lines(seconds, series, limits, dict(requests or {}), unit, happened).draw(title, sentence)

    columns: dict[str, Sequence[Any]] = {"seconds": list(seconds), **{n: list(v) for n, v in series.items()}}
    return Chart(title, sentence, columns, draw, picture=picture)


class _Lines:
    """The static picture of a usage chart."""

    def __init__(
        self,
        seconds: Sequence[float],
        series: Mapping[str, Sequence[float | None]],
        limits: Mapping[str, float],
        requests: Mapping[str, float],
        unit: str,
        marks: Sequence[UsageMark],
    ) -> None:
        self.seconds, self.series, self.limits, self.requests = seconds, series, limits, requests
        self.unit, self.marks = unit, marks
        self.steps = unit != "bytes"
        self.drawing = Drawing(_WIDTH)
        self.drawing.height = _TOP + _HIGH + _BOTTOM
        ends = [*seconds, *(mark.second for mark in marks)]
        # A rate is measured over the interval before its sample, so the axis of steps begins one interval earlier.
        gap = seconds[1] - seconds[0] if self.steps and len(seconds) > 1 else 0
        self.first, self.last = (min(ends) - gap, max(ends)) if ends else (0.0, 1.0)
        self.last = max(self.last, self.first + 1e-6)
        values = [v for line in series.values() for v in line if v is not None]
        self.high = max([*values, *limits.values(), *requests.values()], default=0) * 1.08 or 1.0

    def x(self, second: float) -> float:
        return _LEFT + (second - self.first) / (self.last - self.first) * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        return _TOP + _HIGH - value / self.high * _HIGH

    def draw(self, title: str, sentence: str) -> str:
        d = self.drawing
        d.text(8, 18, title, size=14, bold=True)
        right = _WIDTH - _RIGHT
        empty = not any(value is not None for line in self.series.values() for value in line) and not self.limits
        for tick in [] if empty else binary_ticks(self.high) if self.unit == "bytes" else decimal_ticks(self.high):
            d.line(_LEFT, self.y(tick), right, self.y(tick))
            d.text(_LEFT - 6, self.y(tick) + 4, _tick(tick, self.unit), "soft", anchor="end", size=11)
        for second in [] if empty else decimal_ticks(self.last, 8):
            if second >= self.first:
                text = f"{second:g} s"
                d.text(self.x(second), _TOP + _HIGH + 18, text, "soft", anchor="middle", size=11)
        if empty:
            d.rect(_LEFT, _TOP, right - _LEFT, _HIGH, stroke="line")
            d.text((_LEFT + right) / 2, _TOP + _HIGH / 2, "Nothing measured yet.", "soft", anchor="middle")
        alone = len(self.series) == 1
        labels: list[tuple[float, str, bool]] = []
        for index, (name, values) in enumerate(self.series.items()):
            for run in self._runs(values, self.limits.get(name, self.limits.get(LIMIT_NAME))):
                if alone:
                    self._area(run, self.requests.get(name))
                d.path(_joined(run), "blue" if alone else f"series-{index % 4 + 1}", weight=2, dash=_DASHES[index % 4])
            shown = next((v for v in reversed(values) if v is not None), None)
            if shown is not None:
                labels.append((self.y(shown), f"{name} {_said(shown, self.unit)}", False))
        for name, value in self.limits.items():
            own = self.series.get(name, next(iter(self.series.values()), ()) if alone else ())
            reached = any(v is not None and v >= 0.995 * value for v in own) and name in (LIMIT_NAME, *self.series)
            d.limit(_LEFT, self.y(value), right, self.y(value), reached=reached)
            labels.append((self.y(value), f"{_name_of_limit(name, self.series)} {_said(value, self.unit)}", True))
        self._marks()
        self._labels(labels, right)
        return d.svg(title, sentence)

    def _labels(self, labels: list[tuple[float, str, bool]], right: float) -> None:
        """Draw the names at the ends of the lines, from top to bottom, at least 15 pixels apart."""
        at = -100.0
        for y, text, bold in sorted(labels):
            at = max(y + 4, at + 15)
            self.drawing.text(right + 6, at, fitted(text, _RIGHT - 8), bold=bold)

    def _marks(self) -> None:
        taken = -1000.0
        row = 0
        for mark in sorted(self.marks):
            x = self.x(mark.second)
            wide = LETTER * len(mark.words) + 14
            row = (row + 1) % 3 if x < taken else 0
            taken = x + wide
            top: float = _TOP + 4 + 14 * row
            self.drawing.path(f"M{x:.1f} {_TOP}V{_TOP + _HIGH}", "soft", weight=1, dash="2 3")
            limit = next(iter(self.limits.values()), None)
            if mark.sign == "end":
                self.drawing.cross(x, self.y(limit) if limit is not None else top)
                top = (self.y(limit) if limit is not None else top) + 18 + 14 * row
            colour = {"end": "red-text", "new": "green-text"}.get(mark.sign, "ink")
            left = x + wide > _WIDTH - _RIGHT
            self.drawing.text(
                x + (-8 if left else 8), top, mark.words, colour, anchor="end" if left else "start", halo=True
            )

    def _runs(self, values: Sequence[float | None], limit: float | None = None) -> list[list[tuple[float, float]]]:
        """Return the gapless pieces of a line in pixels; a step spans the time since the previous sample.

        A kill lies between two samples, and at the limit: a charge of memory had reached it.
        """
        runs: list[list[tuple[float, float]]] = [[]]
        before = self.first
        ends = [mark.second for mark in self.marks if mark.sign == "end"]
        for second, value in zip(self.seconds, values, strict=True):
            killed = [end for end in ends if before < end <= second]
            if value is None or killed:
                runs[-1] += self._last_moment(limit, runs[-1], killed)
                runs.append([])  # a container that starts again gets another line
            if value is not None:
                y = self.y(value)
                runs[-1] += [(self.x(before), y), (self.x(second), y)] if self.steps else [(self.x(second), y)]
            before = second
        runs[-1] += self._last_moment(limit, runs[-1], [end for end in ends if end > before])
        return [run for run in runs if run]

    def _last_moment(
        self, limit: float | None, run: list[tuple[float, float]], killed: list[float]
    ) -> list[tuple[float, float]]:
        return [] if limit is None or self.steps or not (run and killed) else [(self.x(killed[0]), self.y(limit))]

    def _area(self, run: list[tuple[float, float]], request: float | None) -> None:
        floor = _TOP + _HIGH
        if len(run) == 1:
            run = [(run[0][0] - 2, run[0][1]), (run[0][0] + 2, run[0][1])]
        edge = f"L{run[-1][0]:.1f} {floor}L{run[0][0]:.1f} {floor}Z"
        self.drawing.path(_joined(run) + edge, "", fill="blue", tint=40)
        if request is not None:
            line = self.y(request)
            above = [(x, min(y, line)) for x, y in _crossed(run, line)]
            if any(y < line for _, y in above):
                top = f"L{above[-1][0]:.1f} {line:.1f}L{above[0][0]:.1f} {line:.1f}Z"
                self.drawing.path(_joined(above) + top, "", fill="over:blue")


def _crossed(run: list[tuple[float, float]], line: float) -> list[tuple[float, float]]:
    """Return the points of a run, with additional points where it crosses a height."""
    found = run[:1]
    for (x1, y1), (x2, y2) in pairwise(run):
        if (y1 - line) * (y2 - line) < 0:
            found.append((x1 + (x2 - x1) * (line - y1) / (y2 - y1), line))
        found.append((x2, y2))
    return found


def _joined(run: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in run)


def _name_of_limit(name: str, series: Mapping[str, object]) -> str:
    """Return the label of a limit's line: "limit", with its series' name if there are several, or its own name."""
    if name not in series:
        return name
    return "limit" if len(series) == 1 else f"limit of {name}"


def _tick(value: float, unit: str) -> str:
    return (
        (size(int(value)) if value else "0") if unit == "bytes" else f"{value:g}{'%' if unit.startswith('%') else ''}"
    )


def _scaled(value: float | None, unit: str) -> float | None:
    return value / 2**20 if value is not None and unit == "bytes" else value


def _said(value: float, unit: str) -> str:
    return size(int(value)) if unit == "bytes" else f"{value:,.4g} {unit}"
