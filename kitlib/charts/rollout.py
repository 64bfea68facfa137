"""A rolling update over time: the number of pods of each version that are ready or not ready."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kitlib.charts.base import Chart, Row
from kitlib.charts.style import BLUE, FAINT, GREEN, PATTERN, VERMILLION

PARTS = ("old, ready", "new, ready", "not ready", "ending")
_LOOKS = ((BLUE, ""), (GREEN, "."), (FAINT, "\\"), (VERMILLION, "/"))


def rollout_chart(moments: Sequence[Row], least: int, most: int) -> Chart:
    """Return a chart with one stacked column per moment.

    Args:
        moments: {"seconds", "what", "old, ready", "new, ready", "not ready", "ending"}; counts of pods.
        least: minimum number of ready pods, by maxUnavailable.
        most: maximum number of pods, by maxSurge.
    """
    columns: dict[str, Sequence[Any]] = {
        name: [row[name] for row in moments] for name in ("seconds", "what", *PARTS)
    } or {"seconds": []}
    fewest = min((row["old, ready"] + row["new, ready"] for row in moments), default=0)
    bounds = f"maxUnavailable asks for at least {least} that are ready, maxSurge allows {most} in all."
    if len(moments) > 1:
        seconds = moments[-1]["seconds"] - moments[0]["seconds"]
        said = f"{moments[-1]['what']} It took {seconds:g} s; at least {fewest} were ready all the time."
    else:
        said = moments[0]["what"] if moments else "No rollout has begun."
    sentence = f"{said} {bounds}"

    def draw():
        import plotly.graph_objects as go

        figure = go.Figure()
        for index, part in enumerate(PARTS):
            figure.add_bar(
                x=list(range(len(moments))),
                y=columns[part],
                customdata=columns["what"],
                name=part,
                marker={
                    "color": _LOOKS[index][0],
                    "pattern": {"shape": _LOOKS[index][1], "fillmode": "overlay", "fgcolor": PATTERN},
                },
                hovertemplate="%{customdata}<br>" + part + ": %{y}<extra></extra>",
            )
        figure.update_layout(barmode="stack", yaxis={"title": {"text": "pods"}, "dtick": 1})
        ticks = [f"{row['seconds']:g} s" for row in moments]
        figure.update_xaxes(tickvals=list(range(len(moments))), ticktext=ticks)
        return figure

    return Chart("A rolling update", sentence, columns, draw)
