"""The effect of a quota: one cell for each CFS period, with the running time from below and the throttled rest orange.

The height of a cell is the period (100 ms). A cgroup with several threads is throttled on several processors at once,
so `throttled_usec` may grow by more than the period; then running and throttled time share the cell proportionally.

Source: kernel Documentation/scheduler/sched-bwc.rst (nr_throttled, throttled_time of all run queues together).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kitlib.charts.base import Chart
from kitlib.charts.style import BLUE, ORANGE
from kitlib.charts.svg import Drawing

PERIOD_MS = 100.0
_WIDTH, _LEFT, _RIGHT, _ROW, _TOP = 860, 110, 130, 74, 32
_HIGH = 46


class Period(NamedTuple):
    """A CFS period of a cgroup.

    Attributes:
        ran_ms: CPU time used, in milliseconds, on all processors together.
        stopped_ms: time throttled, in milliseconds, on all processors together.
    """

    ran_ms: float
    stopped_ms: float

    def parts(self, period_ms: float = PERIOD_MS) -> tuple[float, float]:
        """Return the running and the throttled part of the cell, 0 to 1."""
        whole = max(period_ms, self.ran_ms + self.stopped_ms)
        return self.ran_ms / whole, self.stopped_ms / whole


def throttling_chart(
    periods: Mapping[str, Sequence[Period | tuple[float, float]]],
    *,
    start: float = 0.0,
    period_ms: float = PERIOD_MS,
    limits: Mapping[str, float] | None = None,
    title: str = "What the quota does in each period",
) -> Chart:
    """Return a strip of periods for each cgroup.

    Args:
        periods: cgroup -> its periods in order, as `Period` or (ran, stopped) in milliseconds.
        start: start of the first period in seconds.
        period_ms: length of a period.
        limits: cgroup -> its limit in CPUs, shown after its name; None = none.
        title: heading of the picture.
    """
    rows = {name: [Period(*one) for one in some] for name, some in periods.items()}
    sentence = " ".join(_said(name, some) for name, some in rows.items()) or "No period was measured."
    flat = [
        (name, round(start + i * period_ms / 1000, 3), p) for name, some in rows.items() for i, p in enumerate(some)
    ]
    columns: dict[str, Sequence[Any]] = {
        "cgroup": [name for name, _, _ in flat],
        "from second": [second for _, second, _ in flat],
        "ran ms": [round(p.ran_ms, 2) for _, _, p in flat],
        "stopped ms": [round(p.stopped_ms, 2) for _, _, p in flat],
    }

    def draw():
        import plotly.graph_objects as go

        figure = go.Figure()
        x = [f"{name} {second:g} s" for name, second, _ in flat]
        for what, at, colour in (("ran", 0, BLUE), ("stopped", 1, ORANGE)):
            heights = [100 * p.parts(period_ms)[at] for _, _, p in flat]
            pattern = {"shape": "/" if at else ""}
            figure.add_bar(x=x, y=heights, name=what, marker={"color": colour, "pattern": pattern})
        figure.update_layout(barmode="stack", yaxis={"title": {"text": "% of the period"}})
        return figure

    def picture() -> str:
        return _strip(title, sentence, rows, start, period_ms, dict(limits or {}))

    return Chart(title, sentence, columns, draw, picture=picture)


def _said(name: str, some: Sequence[Period]) -> str:
    stopped = [p for p in some if p.stopped_ms > 0]
    if not stopped:
        return f"{name}: never stopped in {len(some)} periods."
    part = 100 * sum(p.parts()[1] for p in stopped) / len(stopped)
    return f"{name}: stopped in {len(stopped)} of {len(some)} periods, for {part:.0f}% of each of them."


def _strip(
    title: str,
    sentence: str,
    rows: Mapping[str, Sequence[Period]],
    start: float,
    period_ms: float,
    limits: Mapping[str, float],
) -> str:
    d = Drawing(_WIDTH)
    d.height = _TOP + _ROW * max(1, len(rows)) + 22
    d.text(8, 18, title, size=14, bold=True)
    most = max([len(some) for some in rows.values()], default=0) or 1
    cell = min(24.0, (_WIDTH - _LEFT - _RIGHT) / most)
    if not rows:
        d.text(_LEFT, _TOP + _HIGH / 2, "No period was measured.", "soft")
    for number, (name, some) in enumerate(rows.items()):
        top = _TOP + number * _ROW
        d.text(8, top + 18, name, bold=True)
        if name in limits:
            d.text(8, top + 34, f"limit {limits[name]:g} CPU", "soft", size=11)
        for i, one in enumerate(some):
            ran, stopped = one.parts(period_ms)
            x, wide = _LEFT + i * cell, cell - (1 if cell > 4 else 0.4)
            at = start + i * period_ms / 1000
            words = f"{at:.1f} s: ran {one.ran_ms:.1f} ms" + (", then stopped" if stopped else "")
            d.rect(x, top, wide, _HIGH, "raised", words=words)
            if stopped:
                high = stopped * _HIGH
                d.hatch(x, top + _HIGH - ran * _HIGH - high, wide, high, "orange", "stopped", words)
            if ran:
                d.rect(x, top + _HIGH - max(ran * _HIGH, 2), wide, max(ran * _HIGH, 2), "blue", words=words)
        d.line(_LEFT, top + _HIGH, _LEFT + most * cell, top + _HIGH)
        stop = [p for p in some if p.stopped_ms > 0]
        words = f"stopped in {len(stopped_of(some))} of {len(some)}" if stop else "never stopped"
        d.text(_LEFT + most * cell + 8, top + 20, words, "orange-text" if stop else "soft")
    floor = _TOP + _ROW * len(rows) - _ROW + _HIGH
    every = 1 if most * period_ms <= 5000 else 5
    for second in range(0, int(most * period_ms / 1000) + 1, every):
        x = _LEFT + second * 1000 / period_ms * cell
        d.line(x, floor, x, floor + 5)
        d.text(x, floor + 18, f"{start + second:g} s", "soft", anchor="middle", size=11)
    d.text(
        _LEFT + most * cell, 18, f"one cell: {period_ms:g} ms; blue ran, hatched stopped", "soft", anchor="end", size=11
    )
    return d.svg(title, sentence)


def stopped_of(some: Sequence[Period]) -> list[Period]:
    """Return the periods in which the cgroup was throttled."""
    return [p for p in some if p.stopped_ms > 0]
