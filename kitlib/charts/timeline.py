"""Kubernetes events, kernel log, kubelet steps and cgroup changes on one time axis."""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.charts.base import Chart, Row
from kitlib.charts.style import series_color
from kitlib.charts.timeline_lanes import timeline_lanes

_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")


def timeline_chart(entries: Sequence[Row], now: float | None = None) -> Chart:
    """Return a chart with a lane per actor, time downwards, and words at each mark; the frame has the full texts.

    Args:
        entries: {"seconds", "source" ("event", "kernel", "kubelet", "cgroup"...), "object", "text"} in any order.
        now: time of the drawing in seconds; None = that of the last entry.
    """
    ordered = sorted(entries, key=lambda row: float(row["seconds"]))
    names = ("seconds", "source", "object", "text")
    columns = {name: [row.get(name, "") for row in ordered] for name in names}
    sources = list(dict.fromkeys(columns["source"]))
    if ordered:
        sentence = f"{len(ordered)} entries; the last at {ordered[-1]['seconds']} s: {ordered[-1]['text']}."
    else:
        sentence = "Nothing has happened yet."

    def draw():
        import plotly.graph_objects as go

        figure = go.Figure()
        for index, source in enumerate(sources):
            mine = [row for row in ordered if row.get("source", "") == source]
            figure.add_scatter(
                x=[row["seconds"] for row in mine],
                y=[source] * len(mine),
                mode="markers",
                name=str(source),
                customdata=[[row.get("object", ""), row["text"]] for row in mine],
                marker={"size": 11, "color": series_color(index), "symbol": _SYMBOLS[index % len(_SYMBOLS)]},
                hovertemplate="%{x} s, %{customdata[0]}: %{customdata[1]}<extra></extra>",
            )
        figure.update_xaxes(title={"text": "seconds"})
        figure.update_yaxes(autorange="reversed")
        return figure

    def fitted(width: int) -> str:
        return timeline_lanes(ordered, sentence=sentence, now=now, width=width)

    return Chart("Timeline", sentence, columns, draw, fitted=fitted)
