"""How near a node is to each eviction threshold.

Source: kubelet pkg/kubelet/eviction (signals, thresholds met when available < quantity).
"""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.charts.base import Chart, Row
from kitlib.charts.style import BLUE, VERMILLION


def eviction_gauge(signals: Sequence[Row]) -> Chart:
    """One bar a signal: what is available, with the threshold as a line across it.

    Args:
        signals: {"signal", "available", "capacity", "threshold", "met"}; the first three numbers in one unit.
    """
    rows = [dict(row) for row in signals]
    for row in rows:
        capacity = float(row["capacity"]) or 1.0
        row["available percent"] = round(100 * float(row["available"]) / capacity, 2)
        row["threshold percent"] = round(100 * float(row["threshold"]) / capacity, 2)
    met = [str(row["signal"]) for row in rows if row["met"]]
    sentence = "Thresholds met: " + ", ".join(met) + "." if met else "No eviction threshold is met."

    def draw():
        import plotly.graph_objects as go

        figure = go.Figure()
        figure.add_bar(
            y=[row["signal"] for row in rows],
            x=[row["available percent"] for row in rows],
            orientation="h",
            name="available",
            text=["met" if row["met"] else "" for row in rows],
            marker={
                "color": [VERMILLION if row["met"] else BLUE for row in rows],
                "pattern": {"shape": ["x" if row["met"] else "" for row in rows]},
            },
        )
        figure.add_scatter(
            y=[row["signal"] for row in rows],
            x=[row["threshold percent"] for row in rows],
            mode="markers",
            name="threshold",
            marker={"symbol": "line-ns-open", "size": 28, "color": VERMILLION, "line": {"width": 3}},
        )
        figure.update_xaxes(title={"text": "percent of capacity"}, range=[0, 100])
        return figure

    names = ("signal", "available", "capacity", "threshold", "available percent", "threshold percent", "met")
    return Chart("Distance to eviction", sentence, {name: [row.get(name) for row in rows] for name in names}, draw)
