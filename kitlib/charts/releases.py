"""A scenario under several releases: a row per node, a column per release, whether the pod may and does go there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kitlib.charts.base import Chart
from kitlib.charts.matrix import plain_matrix
from kitlib.charts.style import FAINT, GREEN, INK, PALETTE, VERMILLION

if TYPE_CHECKING:
    import plotly.graph_objects as go

_LEVELS = {"rejected": 0, "passes": 1, "best": 2, "victims": 3}
_MARKS = {"rejected": "✗", "passes": "✓", "best": "★", "victims": "⚔"}
_SCALE = (
    *((0, PALETTE[0]), (0.32, PALETTE[0])),
    *((0.33, FAINT), (0.65, FAINT)),
    *((0.66, GREEN), (0.99, GREEN)),
    (1, VERMILLION),
)


def release_board(
    nodes: Sequence[str],
    releases: Sequence[str],
    verdicts: Mapping[tuple[str, str], tuple[str, str]],
    *,
    current: str = "",
    sentence: str = "",
) -> Chart:
    """Return a chart with a mark in every cell: ✗ rejected, ✓ passes, ★ the pod goes there, ⚔ with victims.

    Args:
        nodes: node names in display order.
        releases: releases in order.
        verdicts: (node, release) -> (`rejected`, `passes`, `best` or `victims`, the reason or score).
        current: the release that is framed; "" = none.
        sentence: description; "" = the node that each release selects.
    """
    labels = [f"v{name}" if name.replace(".", "").isdigit() else name for name in releases]  # not a numeric axis
    cells = [[verdicts[node, release] for release in releases] for node in nodes]

    def plain() -> dict[str, Any]:
        spec = plain_matrix(
            nodes,
            labels,
            [[_LEVELS[level] for level, _ in row] for row in cells],
            [[_MARKS[level] for level, _ in row] for row in cells],
            _SCALE,
            "%{y} in %{x}: %{customdata}",
            customdata=[[text for _, text in row] for row in cells],
            zmax=3,
        )
        layout = spec["layout"]
        if current in releases:
            place = list(releases).index(current)
            edges = {"x0": place - 0.5, "x1": place + 0.5, "y0": -0.5, "y1": len(nodes) - 0.5}
            layout["shapes"] = [{"type": "rect", **edges, "line": {"color": INK, "width": 3}, "layer": "above"}]
        layout["xaxis"] = {"type": "category", "title": {"text": "release"}, "showgrid": False}
        layout["yaxis"]["showgrid"] = False
        layout["height"] = 170 + 30 * len(nodes)
        return spec

    def draw() -> go.Figure:
        import plotly.graph_objects as go

        return go.Figure(plain())

    if not sentence:
        went = [(r, [n for n in nodes if verdicts[n, r][0] == "best"]) for r in releases]
        sentence = "; ".join(f"{release}: {', '.join(found) or 'no node'}" for release, found in went) + "."
    flat = [(node, release, *verdicts[node, release]) for release in releases for node in nodes]
    names = ("node", "release", "outcome", "why")
    return Chart(
        "Where each release sends the pod",
        sentence,
        {n: [r[i] for r in flat] for i, n in enumerate(names)},
        draw,
        plain,
    )
