"""The house style of every figure: one palette, one template, legible on a light and on a dark page.

The palette is Okabe and Ito's eight colours, which people with any of the common kinds of colour blindness can tell
apart; meaning is never carried by colour alone (a text, a pattern or a position says the same). Figures have no
background of their own and grey text with about the same contrast on white and on near-black, so that they look right
in both themes of JupyterLab. Nothing animates: a layout without `transition` changes at once (with one, even of 0 ms,
plotly.js moves axes step by step and stops fitting them to the data).

Source: Okabe and Ito, Color Universal Design (2008); WCAG 2.2 contrast formula.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import plotly.graph_objects as go

BLUE, ORANGE, GREEN, VERMILLION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, YELLOW, PURPLE, GREY = "#56B4E9", "#F0E442", "#CC79A7", "#999999"
PALETTE = (BLUE, ORANGE, GREEN, VERMILLION, SKY, PURPLE, YELLOW, GREY)

QOS_COLORS = {"Guaranteed": BLUE, "Burstable": ORANGE, "BestEffort": VERMILLION}
QOS_PATTERNS = {"Guaranteed": "", "Burstable": "/", "BestEffort": "x"}

TEXT = "#767676"  # contrast about 4.5 on white and 4.2 on JupyterLab's #111111
GRID = "rgba(128,128,128,0.25)"
PATTERN = "rgba(255,255,255,0.7)"
"""Of the strokes that lie over a bar's colour."""
TRANSPARENT = "rgba(0,0,0,0)"


def series_color(index: int) -> str:
    """The colour of the `index`-th series; repeats after eight."""
    return PALETTE[index % len(PALETTE)]


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
