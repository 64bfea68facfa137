"""NodeResourcesBalancedAllocation: the more evenly a node's resources would be used, the better.

Source: plugins/noderesources/balanced_allocation.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitlib.scheduler.framework.events import Registered
from kitlib.scheduler.framework.plugin import MAX_NODE_SCORE, SKIP, Affected, Context, Plugin, Scores
from kitlib.scheduler.framework.pod_info import Amounts, PodInfo
from kitlib.scheduler.framework.status import Rows
from kitlib.scheduler.plugins.node_resources_fit import DEFAULT_RESOURCES, NATIVE, weights_of


class NodeResourcesBalancedAllocation(Plugin):
    """Score: the more evenly a node's resources would be used, the better.

    With the pod on it, the deviation of the used fractions; compared, in newer releases, with the deviation without it.
    """

    name = "NodeResourcesBalancedAllocation"

    def affected_by_placement(self, info: PodInfo, context: Context) -> Affected:
        return Affected.AMOUNTS

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return []

    def __init__(self, arguments: Mapping[str, Any] | None = None) -> None:
        super().__init__(arguments)
        self.resources = [name for name, _ in weights_of(self.arguments.get("resources") or DEFAULT_RESOURCES)]

    def pre_score(self, info: PodInfo, context: Context, rows: Rows) -> Any:
        if context.release.enabled("KitBalancedSkipsBestEffort") and not any(
            info.requests.get(name, 0) for name in self.resources
        ):
            return SKIP
        return info.balanced

    def score(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Scores:
        key = (self, "score", info.signature)
        found: Scores = context.snapshot.kept(key, lambda some: (self._score(state, context, some),))[0][rows]
        return found

    def _score(self, state: Amounts, context: Context, rows: Rows) -> Scores:
        after = ((1 - self._deviation(state, state, context, rows)) * MAX_NODE_SCORE).astype(np.int64)
        if not context.release.enabled("KitBalancedComparesWithout"):
            return after
        before = ((1 - self._deviation({}, state, context, rows)) * MAX_NODE_SCORE).astype(np.int64)
        half = MAX_NODE_SCORE // 2
        return half + (half + after - before) // 2

    def _deviation(self, more: Amounts, asked_for: Amounts, context: Context, rows: Rows) -> NDArray[np.float64]:
        """Standard deviation of the used fractions with `more` on the nodes; extended resources only if asked for."""
        fractions: list[NDArray[np.float64]] = []
        counted: list[NDArray[np.bool_]] = []
        table = context.snapshot
        for name in self.resources:
            if name not in NATIVE and not asked_for.get(name):
                continue
            has = table.column(name, table.allocatable)[rows]
            asked = table.column(name, table.requested)[rows] + more.get(name, 0)
            fractions.append(np.minimum(asked / np.maximum(has, 1), 1.0))
            counted.append(has > 0)
        if not fractions:
            return np.zeros(len(rows))
        values, there = np.array(fractions), np.array(counted)
        count = there.sum(axis=0)
        safe = np.maximum(count, 1)
        mean = np.where(there, values, 0).sum(axis=0) / safe
        spread = np.sqrt((np.where(there, values - mean, 0) ** 2).sum(axis=0) / safe)
        if len(fractions) == 2:
            two = np.abs(values[0] - values[1]) / 2
            spread = np.where(count == 2, two, spread)
        return np.where(count >= 2, spread, 0.0)
