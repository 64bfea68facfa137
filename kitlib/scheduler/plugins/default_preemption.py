"""DefaultPreemption: the PostFilter plugin and its arguments; what it decides stands in `scheduler/preemption.py`.

Source: plugins/defaultpreemption; apis/config/validation ValidateDefaultPreemptionArgs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kitlib.api.errors import KitError
from kitlib.scheduler.framework.plugin import Plugin

MIN_PERCENTAGE, MIN_ABSOLUTE = 10, 100


class DefaultPreemption(Plugin):
    """Makes room for a pod that fits nowhere by removing less important ones.

    Args:
        arguments: minCandidateNodesPercentage (0 to 100) and minCandidateNodesAbsolute: how many candidates are enough.

    Raises:
        KitError: for arguments out of range.
    """

    name = "DefaultPreemption"

    def __init__(self, arguments: Mapping[str, Any] | None = None) -> None:
        given = arguments or {}
        if given.get("minCandidateNodesPercentage") == given.get("minCandidateNodesAbsolute") == 0:
            # one sentence in place of the two that kube-scheduler has for it, one a field
            raise KitError("minCandidateNodesPercentage and minCandidateNodesAbsolute cannot both be zero")
        super().__init__(arguments)
        self.percentage = int(self.arguments.get("minCandidateNodesPercentage", MIN_PERCENTAGE))
        self.absolute = int(self.arguments.get("minCandidateNodesAbsolute", MIN_ABSOLUTE))

    def post_filter(self) -> None:
        """It takes part; `preemption.preempt` does the work with these arguments."""

    def enough(self, size: int) -> int:
        """How many candidates a cluster of `size` nodes looks for. Source: calculateNumCandidates."""
        return min(max(size * self.percentage // 100, self.absolute), size)
