"""A chart's own still picture in the page, with marks that are dragged, pressed, or moved by arrow keys.

The chart draws the SVG for the width that the page has; so a widget and a document show one picture. `Drawing.part`
makes a mark usable; the page says what was done to it and the widget draws anew.

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
"""Pixels of a picture's width."""


class DrawnPicture(anywidget.AnyWidget):
    """A picture that the kernel draws.

    Args:
        on_act: receives what the learner does: {"act": "drag", "step", "unset", "press" or "drop", "what": mark, ...};
            places are in the drawing's own pixels.
        help: one line below it.

    Attributes:
        body: the SVG text.
        wide: pixels that the page has for it.
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
        """Pixels of the picture's own scale."""
        return min(max(self.wide, NARROWEST), WIDEST)

    def show(self, chart: Chart) -> None:
        """Show this chart's picture."""
        self._chart = chart
        self.body = chart.svg(self.width)

    def act(self, act: str, /, **more: Any) -> None:
        """Do what a learner does in the page."""
        if self._on_act is not None:
            self._on_act({"act": act, **more})

    @traitlets.observe("wide")
    def _fit(self, _change: Any) -> None:
        if self._chart is not None:
            self.show(self._chart)

    def _on_message(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        message = dict(content)
        self.act(str(message.pop("act", "")), **message)
