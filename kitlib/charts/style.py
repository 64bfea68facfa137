"""The house style of all figures: colours by meaning and one template, legible on light and dark pages.

`kitlib.views.tokens` defines the colours and their meaning; a text, a pattern or a position always has the same
meaning as the colour. `kitlib.charts.static` draws a notebook's figures in the colours of the page's theme. A figure
by plotly (`Chart.figure()`) has no background and one grey for text, which is legible on white and on near-black.
Figures are not animated: a layout without `transition` changes at once (with a transition, even of 0 ms, plotly.js
moves axes step by step and no longer fits them to the data).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kitlib.views.tokens import LIGHT, SERIES

if TYPE_CHECKING:
    import plotly.graph_objects as go

BLUE, ORANGE, GREEN, VERMILLION, GREY = (LIGHT[name] for name in ("blue", "orange", "green", "red", "grey"))
"""In use; slowed or near a bound; new; dying or leaving; the node's own."""
INK, FAINT = LIGHT["ink"], LIGHT["line"]
"""Lines, limits and signs; free, absent or rejected parts: no hue."""
PALETTE = tuple(LIGHT[f"series-{number + 1}"] for number in range(SERIES))
PATTERNS = ("", "/", "x", ".", "\\", "+")
"""Patterns that distinguish series in addition to their tint."""

TEXT = "#767676"  # for figures by plotly: contrast 4.5 on white and 4.2 on JupyterLab's near-black
GRID = "rgba(128,128,128,0.25)"
PATTERN = "rgba(255,255,255,0.7)"
"""Colour of the strokes over a bar's colour."""
TRANSPARENT = "rgba(0,0,0,0)"


def series_color(index: int) -> str:
    """Return the tint of a series without a meaning of its own; repeats after four."""
    return PALETTE[index % len(PALETTE)]


def series_marker(index: int) -> dict[str, Any]:
    """Return the marker of a series of bars: a tint and a pattern that differ from the adjacent series'."""
    pattern = {"shape": PATTERNS[index % len(PATTERNS)], "fillmode": "overlay", "fgcolor": PATTERN}
    return {"color": series_color(index), "pattern": pattern}


_AXIS: dict[str, Any] = {"gridcolor": GRID, "zerolinecolor": GRID, "linecolor": GRID, "automargin": True}


def _layout(title: str, sentence: str) -> dict[str, Any]:
    return {
        "title": {"text": title, "font": {"size": 15}, "x": 0, "xref": "paper"},
        "font": {"color": TEXT, "size": 12, "family": "system-ui, -apple-system, 'Segoe UI', sans-serif"},
        "paper_bgcolor": TRANSPARENT,
        "plot_bgcolor": TRANSPARENT,
        "colorway": list(PALETTE),
        "margin": {"l": 48, "r": 16, "t": 44, "b": 40},
        "legend": {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0},
        "hoverlabel": {"align": "left"},
        "meta": {"sentence": sentence},
    }


def dress(figure: go.Figure, *, title: str, sentence: str) -> go.Figure:
    """Apply the house style to `figure`, in place: fonts, margins, grid, no animation, title and description."""
    figure.update_layout(template="none", **_layout(title, sentence))
    figure.update_xaxes(**_AXIS)
    figure.update_yaxes(**_AXIS)
    return figure


def dress_spec(spec: dict[str, Any], *, title: str, sentence: str) -> dict[str, Any]:
    """Apply the house style to a figure as plain data, in place; plotly does not validate its properties."""
    layout = spec.setdefault("layout", {})
    layout.pop("template", None)
    _put(layout, _layout(title, sentence))
    axes = {name for name in layout if name.startswith(("xaxis", "yaxis"))} | {"xaxis", "yaxis"}
    for name in axes:
        _put(layout.setdefault(name, {}), _AXIS)
    return spec


def _put(into: dict[str, Any], values: dict[str, Any]) -> None:
    for name, value in values.items():
        if isinstance(value, dict) and isinstance(into.get(name), dict):
            _put(into[name], value)
        else:
            into[name] = value
