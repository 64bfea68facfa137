"""A chart in the page that follows its data at once: bars and cells, drawn from the chart's plain data.

The script is a few kilobytes and part of the widget, so the picture appears with its cell without a request to the
kernel; a change is one message. `figure()` still returns a plotly figure for documents.
"""

from __future__ import annotations

from typing import Any

import anywidget
import msgspec
import traitlets

from kitlib.charts.base import Chart
from kitlib.views.tokens import NAMES
from kitlib.widgets._parts.page import script, text


class ChartPicture(anywidget.AnyWidget):
    """The picture of most widgets.

    Attributes:
        spec: the figure as JSON; "" = none yet.
    """

    _esm = "const calm = () => matchMedia('(prefers-reduced-motion: reduce)').matches;\n" + script(
        "chart.js", HUES=NAMES
    )
    _css = text("chart.css")
    spec = traitlets.Unicode().tag(sync=True)

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.figure: dict[str, Any] = {"data": [], "layout": {}}

    def show(self, chart: Chart) -> None:
        self.bring(chart.spec())

    def bring(self, spec: dict[str, Any]) -> None:
        """Show a figure given as plain data."""
        self.figure = spec
        self.spec = msgspec.json.encode(spec, enc_hook=_plain).decode()  # not a number becomes null, as in plotly's


def _plain(value: Any) -> Any:
    """Convert numpy arrays and numbers to Python's; other objects become their text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
