"""An overview of a scheduling cycle: every plugin's verdict on every node, and the scores of the feasible nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kitlib.charts.base import Chart
from kitlib.charts.matrix import matrix
from kitlib.charts.style import FAINT, PALETTE, series_marker

_LEVEL = {"": 0, "Success": 1, "Unschedulable": 2, "UnschedulableAndUnresolvable": 3, "Error": 3}
_MARK = {"": "–", "Success": "✓", "Unschedulable": "✗", "UnschedulableAndUnresolvable": "✗✗", "Error": "!"}
_FAINT = "rgba(128,128,128,0.15)"
_SCALE = ((0, _FAINT), (0.33, FAINT), (0.34, FAINT), (0.66, PALETTE[1]), (0.67, PALETTE[1]), (1, PALETTE[0]))


def filter_board(
    nodes: Sequence[str], plugins: Sequence[str], verdicts: Mapping[tuple[str, str], tuple[str, str]]
) -> Chart:
    """Return a chart with a row per node and a column per plugin: a mark in every cell, with the reason behind it.

    Args:
        nodes: node names in display order.
        plugins: Filter plugins in the order they ran.
        verdicts: (node, plugin) -> (status code, reason); missing if the plugin was not run for the node.
    """
    cells = [[verdicts.get((node, plugin), ("", "")) for plugin in plugins] for node in nodes]
    refused = [node for node, row in zip(nodes, cells, strict=True) if any(_LEVEL[code] > 1 for code, _ in row)]
    sentence = f"{len(nodes) - len(refused)} of {len(nodes)} nodes pass every filter."
    if any(not code for row in cells for code, _ in row):
        sentence += " A dash: this filter was not run for the node."

    def draw():
        figure = matrix(
            nodes,
            plugins,
            [[_LEVEL[code] for code, _ in row] for row in cells],
            [[_MARK[code] for code, _ in row] for row in cells],
            _SCALE,
            "%{y}, %{x}: %{customdata}",
            customdata=[[reason or code or "not run" for code, reason in row] for row in cells],
            zmax=3,
        )
        figure.update_yaxes(showgrid=False)
        figure.update_xaxes(side="top", tickangle=-35, showgrid=False)
        figure.update_layout(margin={"t": 120}, height=180 + 26 * len(nodes))
        return figure

    flat = [(node, plugin, *verdicts.get((node, plugin), ("", ""))) for node in nodes for plugin in plugins]
    names = ("node", "plugin", "status", "reason")
    return Chart("Filters", sentence, {name: [row[i] for row in flat] for i, name in enumerate(names)}, draw)


def score_bars(nodes: Sequence[str], weighted: Mapping[str, Sequence[int]], best: Sequence[str]) -> Chart:
    """Return a chart of stacked bars: the weighted normalized score of each Score plugin for each feasible node.

    Args:
        nodes: the feasible nodes.
        weighted: plugin -> one weighted score per node.
        best: the nodes with the highest total; more than one is a tie.
    """
    totals = [sum(values[i] for values in weighted.values()) for i in range(len(nodes))]
    if not nodes:
        sentence = "No node is feasible, so nothing was scored."
    elif len(best) == 1:
        sentence = f"{best[0]} has the highest total, {max(totals)}."
    else:
        sentence = f"{len(best)} nodes tie at {max(totals)}: {', '.join(best)}; the scheduler picks one at random."

    def draw():
        import plotly.graph_objects as go

        figure = go.Figure()
        for index, (plugin, values) in enumerate(weighted.items()):
            figure.add_bar(
                y=list(nodes),
                x=list(values),
                name=plugin,
                orientation="h",
                marker=series_marker(index),
            )
        figure.add_scatter(
            y=list(nodes),
            x=totals,
            mode="text",
            text=[f" {total}{' ★' if node in best else ''}" for node, total in zip(nodes, totals, strict=True)],
            textposition="middle right",
            showlegend=False,
            hoverinfo="skip",
        )
        figure.update_layout(barmode="stack", height=160 + 26 * len(nodes))
        figure.update_yaxes(autorange="reversed")
        return figure

    columns: dict[str, Sequence[Any]] = {
        "node": list(nodes),
        **{p: list(v) for p, v in weighted.items()},
        "total": totals,
    }
    return Chart("Scores", sentence, columns, draw)
