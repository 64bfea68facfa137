"""Lines that grow while one looks: a canvas in the page that is sent each new sample once, and nothing else.

A plotly figure would be sent and laid out as a whole ten times a second; here a sample is one small message, the page
keeps the last ones, draws at most once a frame, and says which sample it has drawn, so that the kernel knows how far
behind the page is. By keyboard: plus and minus zoom, the arrows move, space pauses, Home shows the newest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from kitlib.charts.style import PALETTE, VERMILLION
from kitlib.widgets._parts.page import script

KEPT = 6000
"""Samples that are kept: ten minutes at ten a second."""


class LivePicture(anywidget.AnyWidget):
    """Lines that grow.

    Attributes:
        names: of the series.
        limits: series -> its constant line.
        unit: of all values.
        window: seconds that are seen; the page changes it too.
        sent, drawn: numbers of the last sample that was sent, and that the page has drawn.
    """

    _esm = script("live.js", PALETTE=PALETTE, LIMIT=VERMILLION, KEPT=KEPT)
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    limits = traitlets.Dict().tag(sync=True)
    unit = traitlets.Unicode("bytes").tag(sync=True)
    heading = traitlets.Unicode("Usage over time").tag(sync=True)
    window = traitlets.Float(30.0).tag(sync=True)

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.samples: deque[tuple[float, tuple[float | None, ...]]] = deque(maxlen=KEPT)
        self.sent = self.drawn = 0
        self.on_msg(self._on_message)

    def reset(self, names: Sequence[str]) -> None:
        """Begin anew with these series."""
        self.samples.clear()
        self.names = list(names)
        self.sent = self.drawn = 0
        self.send({"kind": "reset"})

    def add(self, time: float, values: Sequence[float | None]) -> None:
        """One more sample; one value a series."""
        self.samples.append((time, tuple(values)))
        self.sent += 1
        self.send({"kind": "sample", "time": time, "values": list(values), "seq": self.sent})

    @property
    def behind(self) -> int:
        """How many samples the page has yet to draw (it tells about twice a second)."""
        return self.sent - self.drawn

    def _on_message(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        if content.get("kind") == "drawn":
            self.drawn = int(content["seq"])
        elif content.get("kind") == "history?":
            self.send_history()

    def send_history(self) -> None:
        """Send all samples so far, for a page that has none of them."""
        self.send({"kind": "history", "samples": [[t, list(v)] for t, v in self.samples], "seq": self.sent})
