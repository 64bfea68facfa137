"""The number of pods in each scheduling queue over time: active, back-off, unschedulable, gated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kitlib.charts.base import Chart, Row
from kitlib.charts.style import series_marker

QUEUES = ("activeQ", "backoffQ", "unschedulable", "gated")


def queue_chart(steps: Sequence[Row]) -> Chart:
    """Return a chart with one stacked column per step: the number of pods in each queue.

    Args:
        steps: {"seconds", "what", "activeQ", "backoffQ", "unschedulable", "gated"}; queues are lists of pod names.
    """
    columns: dict[str, Sequence[Any]] = {
        "seconds": [row["seconds"] for row in steps],
        "what": [row["what"] for row in steps],
        **{queue: [", ".join(row.get(queue, ())) for row in steps] for queue in QUEUES},
    }
    if steps:
        now = "; ".join(f"{queue}: {columns[queue][-1] or 'empty'}" for queue in QUEUES)
        sentence = f"At {steps[-1]['seconds']} s, {now}."
    else:
        sentence = "The queue has not started."

    def draw():
        import plotly.graph_objects as go

        figure = go.Figure()
        for index, queue in enumerate(QUEUES):
            figure.add_bar(
                x=list(range(len(steps))),
                y=[len(row.get(queue, ())) for row in steps],
                customdata=[[columns[queue][i], columns["what"][i]] for i in range(len(steps))],
                name=queue,
                marker=series_marker(index),
                hovertemplate="%{customdata[1]}<br>" + queue + ": %{customdata[0]}<extra></extra>",
            )
        figure.update_layout(barmode="stack", yaxis={"title": {"text": "pods"}, "dtick": 1})
        figure.update_xaxes(tickvals=list(range(len(steps))), ticktext=[f"{row['seconds']} s" for row in steps])
        return figure

    return Chart("Where pods wait", sentence, columns, draw)
