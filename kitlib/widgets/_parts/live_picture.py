"""Usage that grows while one looks: a canvas in the page that is sent each new sample once, and nothing else.

Each series has a lane of its own on its own scale, so that the distance to its limit is seen: an area under the limit's
line for memory, steps for CPU, and for throttling a comb of what ran and what stood still.

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

from kitlib.widgets._parts.page import script

KEPT = 6000
"""Samples that are kept: ten minutes at ten a second."""
LANE = 84
"""Pixels of one series."""
NOW = 0.85
"""Part of the width at which the newest sample stands; the future behind it is blank."""
Parts = Sequence[tuple[float, float] | None]
"""For each series the parts of the time since the sample before that ran and that stood still; 0 to 1."""


class LivePicture(anywidget.AnyWidget):
    """Lines that grow.

    Attributes:
        names: of the series.
        limits, requests: series -> a constant.
        marks: {"time", "name" of the series, "words", "sign"}: what happened.
        unit: of all values.
        window: seconds that are seen; the page changes it too.
        sent, drawn: numbers of the last sample that was sent, and that the page has drawn.
    """

    _esm = script("live.js", KEPT=KEPT, LANE=LANE, NOW=NOW)
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    limits = traitlets.Dict().tag(sync=True)
    requests = traitlets.Dict().tag(sync=True)
    marks: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    unit = traitlets.Unicode("bytes").tag(sync=True)
    heading = traitlets.Unicode("Usage over time").tag(sync=True)
    window = traitlets.Float(30.0).tag(sync=True)

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.samples: deque[tuple[float, tuple[float | None, ...]]] = deque(maxlen=KEPT)
        self._parts: deque[Parts] = deque(maxlen=KEPT)
        self.sent = self.drawn = 0
        self.on_msg(self._on_message)

    def reset(self, names: Sequence[str]) -> None:
        """Begin anew with these series."""
        self.samples.clear()
        self._parts.clear()
        self.names = list(names)
        self.sent = self.drawn = 0
        self.send({"kind": "reset"})

    def add(self, time: float, values: Sequence[float | None], parts: Parts = ()) -> None:
        """One more sample; one value a series."""
        self.samples.append((time, tuple(values)))
        self._parts.append(parts)
        self.sent += 1
        self.send({"kind": "sample", "time": time, "values": list(values), "parts": list(parts), "seq": self.sent})

    def rename(self, names: Sequence[str]) -> None:
        """Go on with these series, of which the first are those so far."""
        samples, parts = list(self.samples), list(self._parts)
        self.reset(names)
        self.samples.extend(samples)
        self._parts.extend(parts)
        self.send_history()

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
        samples = [[t, list(v), list(p)] for (t, v), p in zip(self.samples, self._parts, strict=True)]
        self.send({"kind": "history", "samples": samples, "seq": self.sent})
