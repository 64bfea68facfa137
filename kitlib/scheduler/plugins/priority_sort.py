"""PrioritySort: the order of the queue.

Source: plugins/queuesort.
"""

from __future__ import annotations

from kitlib.scheduler.framework.plugin import Plugin


class PrioritySort(Plugin):
    """Orders the queue: higher priority first, then who has waited longer."""

    name = "PrioritySort"

    @staticmethod
    def key(priority: int, waiting_since: float) -> tuple[int, float]:
        """Sort key; the smallest comes first."""
        return -priority, waiting_since
