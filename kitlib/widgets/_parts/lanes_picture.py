"""Entries in time, a lane each for whom they are about: the picture of the timeline, with the player below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from kitlib.widgets._parts.page import script, text


class LanesPicture(anywidget.AnyWidget):
    """The lanes.

    Attributes:
        entries: {"seconds", "source", "lane", "object", "text"}, in the order of time.
        now: seconds at which the picture was drawn: where the axis ends, though nothing may have happened for a while.
    """

    _esm = text("player.js") + script("lanes.js")
    _css = text("board.css")
    entries: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    now = traitlets.Float(0.0).tag(sync=True)

    def bring(self, entries: Sequence[dict[str, Any]], now: float) -> None:
        """Show these entries, on an axis that ends now."""
        with self.hold_sync():
            self.now = now
            self.entries = [dict(entry) for entry in entries]
