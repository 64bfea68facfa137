"""PrioritySort: the order of the queue.

Source: plugins/queuesort.
"""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.scheduler.framework.events import Registered
from kitlib.scheduler.framework.plugin import Context, Plugin


class PrioritySort(Plugin):
    """The plugin that orders the queue: higher priority first, then the pod that has waited longer."""

    name = "PrioritySort"

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return []

    @staticmethod
    def key(priority: int, waiting_since: float) -> tuple[int, float]:
        """Return the sort key; the smallest comes first."""
        return -priority, waiting_since
