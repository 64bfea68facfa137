"""The distance of a node from each eviction threshold.

Source: kubelet pkg/kubelet/eviction (signals, thresholds met when available < quantity).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kitlib.charts.base import Chart, Row
from kitlib.charts.style import BLUE, ORANGE, VERMILLION
from kitlib.charts.svg import LETTER, Drawing
from kitlib.views.units import size


def eviction_gauge(signals: Sequence[Row]) -> Chart:
    """Return a chart with a bar per signal: the used amount, and the eviction threshold as a line.

    Args:
        signals: {"signal", "available", "capacity", "threshold", "met"}; the three numbers in bytes, or counts for
            signals of inodes and PIDs.
    """
    rows = [dict(row) for row in signals]
    for row in rows:
        capacity = float(row["capacity"]) or 1.0
        row["used percent"] = round(100 * (1 - float(row["available"]) / capacity), 2)
        row["evicts from percent"] = round(100 * (1 - float(row["threshold"]) / capacity), 2)
    met = [str(row["signal"]) for row in rows if row["met"]]
    sentence = "Thresholds met: " + ", ".join(met) + "." if met else "No eviction threshold is met."

    def draw():
        import plotly.graph_objects as go

        figure = go.Figure()
        figure.add_bar(
            y=[row["signal"] for row in rows],
            x=[row["used percent"] for row in rows],
            orientation="h",
            name="in use",
            text=["threshold met" if row["met"] else "" for row in rows],
            textposition="outside",
            marker={
                "color": [ORANGE if row["met"] else BLUE for row in rows],
                "pattern": {"shape": ["/" if row["met"] else "" for row in rows]},
            },
        )
        figure.add_scatter(
            y=[row["signal"] for row in rows],
            x=[row["evicts from percent"] for row in rows],
            mode="markers",
            name="eviction begins",
            marker={"symbol": "line-ns-open", "size": 28, "color": VERMILLION, "line": {"width": 3}},
        )
        figure.update_xaxes(title={"text": "% of capacity in use"}, range=[0, 100])
        return figure

    def picture() -> str:
        return _rails(rows).svg("Distance to eviction", sentence)

    names = ("signal", "available", "capacity", "threshold", "used percent", "evicts from percent", "met")
    columns = {name: [row.get(name) for row in rows] for name in names}
    return Chart("Distance to eviction", sentence, columns, draw, picture=picture)


def _rails(rows: Sequence[Row]) -> Drawing:
    d = Drawing(860)
    d.text(8, 18, "Distance to eviction", size=14, bold=True)
    d.height = 40 + 62 * max(1, len(rows))
    if not rows:
        d.text(8, 56, "No eviction threshold is set.", "soft")
    for number, row in enumerate(rows):
        top, capacity = 40 + 62 * number, float(row["capacity"]) or 1.0
        amount = _amount_of(str(row["signal"]))
        d.text(8, top + 16, str(row["signal"]), bold=True)
        d.text(8, top + 32, f"of {amount(row['capacity'])}", "soft", size=11)
        left, wide = 250.0, 480.0
        used = wide * min(1.0, max(0.0, 1 - float(row["available"]) / capacity))
        at = left + wide * min(1.0, max(0.0, 1 - float(row["threshold"]) / capacity))
        d.rect(left, top + 8, wide, 20, "raised", stroke="line")
        if row["met"]:
            d.hatch(left, top + 8, used, 20, "orange-mark")
        else:
            d.rect(left, top + 8, used, 20, "blue", tint=42)
        _ends(d, left, top, used, wide, amount(row["available"]), amount(capacity - float(row["available"])))
        d.path(f"M{at:.1f} {top + 2}V{top + 34}", "red", weight=2.5)
        said = f"evicts below {amount(row['threshold'])}"
        d.text(
            at - 4,
            top + 45,
            f"{said}: met" if row["met"] else said,
            "red-text" if row["met"] else "ink",
            anchor="end",
            size=11,
        )
    return d


def _ends(d: Drawing, left: float, top: float, used: float, wide: float, available: str, in_use: str) -> None:
    """Write which part of the bar is in use and which is available: a signal is named after the available one.

    The used amount is left out where its part is too narrow for it.
    """
    if used > LETTER * (len(in_use) + 8):
        d.text(left + 6, top + 22, f"in use {in_use}", size=11, halo=True)
    d.text(left + wide + 8, top + 22, f"available {available}", size=11)


def _amount_of(signal: str) -> Callable[[float], str]:
    """Return the text form of a signal's amount: counts of inodes and processes unchanged, bytes as Mi and Gi."""
    if "inodes" in signal.lower() or signal.startswith("pid"):
        return lambda value: f"{int(value):,}"
    return lambda value: size(int(value)).removeprefix("~")
