"""Usage over time against its limit: the live picture of a cgroup file that is watched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kitlib.charts.base import Chart
from kitlib.charts.style import VERMILLION, series_color
from kitlib.views.units import size

_DASHES = ("solid", "dot", "dash", "longdash", "dashdot", "longdashdot")


def usage_chart(
    seconds: Sequence[float],
    series: Mapping[str, Sequence[float | None]],
    *,
    limits: Mapping[str, float] | None = None,
    unit: str = "bytes",
    title: str = "Usage over time",
) -> Chart:
    """One line a series, one dashed line a limit.

    Args:
        seconds: the time of every sample, from the start of the watch.
        series: name -> one value a sample (None where the file was not there).
        limits: name -> a constant line.
        unit: the unit of all values.
    """
    limits = dict(limits or {})
    last = {name: next((v for v in reversed(values) if v is not None), None) for name, values in series.items()}
    said = ", ".join(f"{name} {_said(value, unit)}" for name, value in last.items() if value is not None)
    over = [
        name for name, value in last.items() if name in limits and value is not None and value >= 0.995 * limits[name]
    ]

    def draw():
        import plotly.graph_objects as go

        figure = go.Figure()
        for index, (name, values) in enumerate(series.items()):
            figure.add_scatter(
                x=list(seconds),
                y=list(values),
                name=name,
                mode="lines",
                line={"color": series_color(index), "dash": _DASHES[(index // 8) % len(_DASHES)]},
            )
        for name, value in limits.items():
            figure.add_hline(y=value, line={"color": VERMILLION, "dash": "dash"}, annotation_text=f"limit of {name}")
        figure.update_xaxes(title={"text": "seconds"})
        figure.update_yaxes(title={"text": unit}, rangemode="tozero")
        return figure

    sentence = f"After {seconds[-1]:.1f} s: {said}." if len(seconds) and said else "Nothing measured yet."
    if over:
        sentence += " At the limit: " + ", ".join(over) + "."
    return Chart(title, sentence, {"seconds": list(seconds), **{n: list(v) for n, v in series.items()}}, draw)


def _said(value: float, unit: str) -> str:
    return size(int(value)) if unit == "bytes" else f"{value:,.4g} {unit}"
