"""A plotly figure in the page that follows its data quickly.

plotly's own FigureWidget brings five megabytes of script with every figure and sends each change back to the kernel.
This one asks for the script once a page, sends a figure as one message, and nothing comes back. What the reader has
zoomed into stays while the data changes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import anywidget
import plotly.graph_objects as go
import traitlets

from kitlib.widgets._parts.page import script


class PlotPicture(anywidget.AnyWidget):
    """The picture of most widgets.

    Attributes:
        spec: the figure as JSON; "" = none yet.
    """

    _esm = script("plot.js")
    spec = traitlets.Unicode().tag(sync=True)

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.figure: dict[str, Any] = {"data": [], "layout": {}}
        self.on_msg(self._on_message)

    def show(self, figure: go.Figure) -> None:
        """Show this figure."""
        self.bring(figure.to_plotly_json())

    def bring(self, spec: dict[str, Any]) -> None:
        """Show a figure that is plain data."""
        import plotly.io

        self.figure = spec
        self.spec = plotly.io.to_json(spec, validate=False)

    def _on_message(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        if content.get("kind") == "library?":
            self.send({"kind": "library"}, [library()])


@cache
def library() -> bytes:
    """plotly's script, as the installed package carries it."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs()).encode()
