"""The clock of the scheduler: whole milliseconds that move only when they are moved.

Back-off, the flush of pods that waited too long and every time stamp of the queue are read from this clock, so a
scenario of ten minutes runs in no time and gives the same answer on every run, in a browser as well as on a server.
"""

from __future__ import annotations

from typing import Protocol


class QueueClock(Protocol):
    """What the queue needs of a clock; a node's or a cluster's clock fits as well."""

    def now_ms(self) -> int:
        """Milliseconds since the clock's origin; the origin is a whole second."""
        ...
