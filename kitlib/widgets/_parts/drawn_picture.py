"""A chart's static picture in the page, with marks that can be dragged, pressed, or moved by arrow keys.

The chart draws the SVG for the width of the page, so a widget and a document show the same picture. `Drawing.part`
makes a mark interactive; the page reports the action and the widget draws again.

Source: WAI-ARIA authoring practices, slider pattern.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anywidget
import traitlets

from kitlib.charts.base import Chart
from kitlib.widgets._parts.page import script, text

NARROWEST, WIDEST = 280, 1000
"""Minimum and maximum width of a picture in pixels."""


def quantity_text(resource: str, value: int) -> str:
    """Return a dragged amount as Kubernetes writes it: milli-CPU, or bytes in whole Mi or Gi."""
    if resource == "cpu":
        return f"{value // 1000}" if value % 1000 == 0 else f"{value}m"
    return f"{value // 2**30}Gi" if value % 2**30 == 0 else f"{value // 2**20}Mi"


class DrawnPicture(anywidget.AnyWidget):
    """A picture that the kernel draws.

    Args:
        on_act: called with the learner's action: {"act": "drag", "step", "unset", "press" or "drop", "what": mark,
            ...}; positions are in pixels of the drawing.
        help: a line of help below the picture.

    Attributes:
        body: the SVG text.
        wide: width of the page in pixels.
    """

    _esm = script("drawn.js")
    _css = text("drawn.css")
    body = traitlets.Unicode().tag(sync=True)
    help = traitlets.Unicode().tag(sync=True)
    wide = traitlets.Int(720).tag(sync=True)

    def __init__(self, on_act: Callable[[dict[str, Any]], None] | None = None, **settings: Any) -> None:
        super().__init__(**settings)
        self._on_act = on_act
        self._chart: Chart | None = None
        self.on_msg(self._on_message)

    @property
    def width(self) -> int:
        """The width of the picture in its own pixels."""
        return min(max(self.wide, NARROWEST), WIDEST)

    def show(self, chart: Chart) -> None:
        """Show the static picture of a chart."""
        self._chart = chart
        self.body = chart.svg(self.width)

    def act(self, act: str, /, **more: Any) -> None:
        """Simulate a learner's action in the page."""
        if self._on_act is not None:
            self._on_act({"act": act, **more})

    @traitlets.observe("wide")
    def _fit(self, _change: Any) -> None:
        if self._chart is not None:
            self.show(self._chart)

    def _on_message(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        message = dict(content)
        self.act(str(message.pop("act", "")), **message)
