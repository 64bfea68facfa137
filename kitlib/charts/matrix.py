"""A matrix of marked cells, rows from top to bottom: what boards, grids and comparisons are drawn with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kitlib.charts.style import FAINT, PALETTE

if TYPE_CHECKING:
    import plotly.graph_objects as go

EQUAL_OR_NOT = ((0, "rgba(128,128,128,0.12)"), (0.5, FAINT), (1, PALETTE[0]))
"""Tints of 0 = absent, 1 = equal, 2 = different; to differ is no state of a pod, so that it has no hue but a sign."""


def matrix(
    rows: Sequence[str],
    columns: Sequence[str],
    levels: Sequence[Sequence[int | None]],
    texts: Sequence[Sequence[str]],
    scale: Sequence[tuple[float, str]],
    hover: str,
    **more: Any,
) -> go.Figure:
    """A figure of cells with a colour and a text each; arguments as `plain_matrix`."""
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
    """The same figure as plain data.

    Args:
        rows, columns: their names.
        levels: a number a cell, from 0 on; None = no cell.
        texts: what stands in it.
        scale: plotly's colour scale.
        hover: template of what is said about a cell under the pointer.
        more: properties of the heat map, `zmax` (the scale's end) first of all; gaps of 2 pixels unless told.
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
