"""The picture of the timeline: entries on a time axis, a lane for each object, with the player below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from kitlib.widgets._parts.page import script, text


class LanesPicture(anywidget.AnyWidget):
    """The lanes.

    Attributes:
        entries: {"seconds", "source", "lane", "object", "text"}, ordered by time.
        now: time of the drawing in seconds, where the axis ends, even without recent entries.
    """

    _esm = text("player.js") + script("lanes.js")
    _css = text("board.css")
    entries: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    now = traitlets.Float(0.0).tag(sync=True)

    def bring(self, entries: Sequence[dict[str, Any]], now: float) -> None:
        """Show these entries, on an axis that ends at `now`."""
        with self.hold_sync():
            self.now = now
            self.entries = [dict(entry) for entry in entries]
