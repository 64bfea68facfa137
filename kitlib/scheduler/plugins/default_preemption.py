"""DefaultPreemption: the PostFilter plugin and its arguments; what it decides stands in `scheduler/preemption.py`.

Source: plugins/defaultpreemption; apis/config/validation ValidateDefaultPreemptionArgs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kitlib.api.errors import KitError
from kitlib.scheduler.plugin import Plugin

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
        super().__init__(arguments)
        self.percentage = int(self.arguments.get("minCandidateNodesPercentage", MIN_PERCENTAGE))
        self.absolute = int(self.arguments.get("minCandidateNodesAbsolute", MIN_ABSOLUTE))
        if not 0 <= self.percentage <= 100:
            raise KitError(
                f"minCandidateNodesPercentage: Invalid value: {self.percentage}: not in valid range [0, 100]"
            )
        if self.absolute < 0:
            raise KitError(f"minCandidateNodesAbsolute: Invalid value: {self.absolute}: not in valid range [0, inf)")
        if not self.percentage and not self.absolute:
            raise KitError("minCandidateNodesPercentage and minCandidateNodesAbsolute cannot both be zero")

    def post_filter(self) -> None:
        """It takes part; `preemption.preempt` does the work with these arguments."""

    def enough(self, size: int) -> int:
        """How many candidates a cluster of `size` nodes looks for. Source: calculateNumCandidates."""
        return min(max(size * self.percentage // 100, self.absolute), size)
