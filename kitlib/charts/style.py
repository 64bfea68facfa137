"""The house style of every figure: colours by meaning, one template, legible on a light and on a dark page.

Colours come from `kitlib.views.tokens`, which also says what each means; meaning is never carried by colour alone (a
text, a pattern or a position says the same). A figure in a notebook is drawn by `kitlib.charts.static` in the colours
of the page's theme. One that plotly draws (`Chart.figure()`) has no background of its own and one grey for text, the
best that a fixed colour can do on white and on near-black at once. Nothing animates: a layout without `transition`
changes at once (with one, even of 0 ms, plotly.js moves axes step by step and stops fitting them to the data).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kitlib.views.tokens import LIGHT, SERIES

if TYPE_CHECKING:
    import plotly.graph_objects as go

BLUE, ORANGE, GREEN, VERMILLION, GREY = (LIGHT[name] for name in ("blue", "orange", "green", "red", "grey"))
"""In use; slowed or near a bound; has just come; dies or leaves; the node's own."""
INK, FAINT = LIGHT["ink"], LIGHT["line"]
"""Lines, limits and signs; what is free, absent or refused: no hue."""
PALETTE = tuple(LIGHT[f"series-{number + 1}"] for number in range(SERIES))
PATTERNS = ("", "/", "x", ".", "\\", "+")
"""By which series are told apart beside their tint."""

TEXT = "#767676"  # of plotly's own figures only: about 4.5 on white and 4.2 on JupyterLab's near-black
GRID = "rgba(128,128,128,0.25)"
PATTERN = "rgba(255,255,255,0.7)"
"""Of the strokes that lie over a bar's colour."""
TRANSPARENT = "rgba(0,0,0,0)"


def series_color(index: int) -> str:
    """The tint of the `index`-th series, which has no meaning of its own; repeats after four."""
    return PALETTE[index % len(PALETTE)]


def series_marker(index: int) -> dict[str, Any]:
    """The marker of the `index`-th series of bars: a tint and a pattern, different from its neighbours'."""
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
    """Put the house style on `figure`, in place: fonts, margins, grid, no animation, title and description."""
    figure.update_layout(template="none", **_layout(title, sentence))
    figure.update_xaxes(**_AXIS)
    figure.update_yaxes(**_AXIS)
    return figure


def dress_spec(spec: dict[str, Any], *, title: str, sentence: str) -> dict[str, Any]:
    """The same for a figure as plain data, in place: what plotly.js reads, without plotly checking every property."""
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
