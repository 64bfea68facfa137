"""A matrix of marked cells, rows from top to bottom, for boards, grids and comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kitlib.charts.style import FAINT, PALETTE

if TYPE_CHECKING:
    import plotly.graph_objects as go

EQUAL_OR_NOT = ((0, "rgba(128,128,128,0.12)"), (0.5, FAINT), (1, PALETTE[0]))
"""Tints of 0 = absent, 1 = equal, 2 = different, without a hue, since a difference is not a pod's state."""


def matrix(
    rows: Sequence[str],
    columns: Sequence[str],
    levels: Sequence[Sequence[int | None]],
    texts: Sequence[Sequence[str]],
    scale: Sequence[tuple[float, str]],
    hover: str,
    **more: Any,
) -> go.Figure:
    """Return a figure of cells with a colour and a text each; arguments as for `plain_matrix`."""
    import plotly.graph_objects as go

    return go.Figure(plain_matrix(rows, columns, levels, texts, scale, hover, **more))


def plain_matrix(
    rows: Sequence[str],
    columns: Sequence[str],
    levels: Sequence[Sequence[int | None]],
    texts: Sequence[Sequence[str]],
    scale: Sequence[tuple[float, str]],
    hover: str,
    **more: Any,
) -> dict[str, Any]:
    """Return the figure as plain data.

    Args:
        rows: names of the rows.
        columns: names of the columns.
        levels: a number from 0 on for each cell; None = no cell.
        texts: text of each cell.
        scale: plotly's colour scale.
        hover: template of a cell's text under the pointer.
        more: properties of the heat map, such as `zmax` (the scale's end); gaps are 2 pixels by default.
    """
    cells = {
        "type": "heatmap",
        "x": list(columns),
        "y": list(rows),
        "z": levels,
        "text": texts,
        "texttemplate": "%{text}",
        "hovertemplate": f"{hover}<extra></extra>",
        "colorscale": [list(step) for step in scale],
        "showscale": False,
        "zmin": 0,
        "xgap": 2,
        "ygap": 2,
        **more,
    }
    return {"data": [cells], "layout": {"yaxis": {"autorange": "reversed"}}}
