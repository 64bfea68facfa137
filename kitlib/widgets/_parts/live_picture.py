"""Usage over time as it is measured: a canvas in the page that receives each new sample once.

Each series has its own lane and scale, which shows the distance to its limit: an area below the limit's line for
memory, steps for CPU, and for throttling a comb of running and throttled time.

A plotly figure would be sent and laid out as a whole ten times a second. Here a sample is one small message. The page
keeps the last samples, draws at most once per frame, and reports the last drawn sample, so the kernel knows how far
behind the page is. Keys: plus and minus zoom, the arrows move, space pauses, Home shows the newest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from kitlib.widgets._parts.page import script

KEPT = 6000
"""Maximum number of samples: ten minutes at ten per second."""
LANE = 84
"""Height of a series in pixels."""
NOW = 0.85
"""Position of the newest sample as a fraction of the width; the rest is blank."""
Parts = Sequence[tuple[float, float] | None]
"""For each series, the running and throttled fraction of the time since the previous sample, 0 to 1."""


class LivePicture(anywidget.AnyWidget):
    """A picture of growing series.

    Attributes:
        names: names of the series.
        limits: series -> its constant limit.
        requests: series -> its constant request.
        marks: {"time", "name" of the series, "words", "sign"} of each event.
        unit: unit of all values.
        window: visible time span in seconds; the page changes it too.
        sent: number of the last sample that was sent.
        drawn: number of the last sample that the page has drawn.
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
        """Start again with these series and without samples."""
        self.samples.clear()
        self._parts.clear()
        self.names = list(names)
        self.sent = self.drawn = 0
        self.send({"kind": "reset"})

    def add(self, time: float, values: Sequence[float | None], parts: Parts = ()) -> None:
        """Send a sample, with one value for each series."""
        self.samples.append((time, tuple(values)))
        self._parts.append(parts)
        self.sent += 1
        self.send({"kind": "sample", "time": time, "values": list(values), "parts": list(parts), "seq": self.sent})

    def rename(self, names: Sequence[str]) -> None:
        """Continue with these series, which must begin with the current ones."""
        samples, parts = list(self.samples), list(self._parts)
        self.reset(names)
        self.samples.extend(samples)
        self._parts.extend(parts)
        self.send_history()

    @property
    def behind(self) -> int:
        """The number of samples that the page has yet to draw (reported about twice a second)."""
        return self.sent - self.drawn

    def _on_message(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        if content.get("kind") == "drawn":
            self.drawn = int(content["seq"])
        elif content.get("kind") == "history?":
            self.send_history()

    def send_history(self) -> None:
        """Send all samples so far, for a page that has none."""
        samples = [[t, list(v), list(p)] for (t, v), p in zip(self.samples, self._parts, strict=True)]
        self.send({"kind": "history", "samples": samples, "seq": self.sent})
