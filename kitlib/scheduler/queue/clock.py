"""The clock of the scheduler: whole milliseconds that its owner advances.

Back-offs, the flush of the unschedulable pool and all time stamps of the queue use this clock, so a scenario of ten
minutes takes no real time and has the same result on every run, in a browser and on a server.
"""

from __future__ import annotations

from typing import Protocol


class QueueClock(Protocol):
    """A clock for the queue; the clock of a node or a cluster fits too."""

    def now_ms(self) -> int:
        """Return the milliseconds since the clock's origin, which is a whole second."""
        ...
