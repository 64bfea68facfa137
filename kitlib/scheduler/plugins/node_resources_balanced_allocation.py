"""NodeResourcesBalancedAllocation: a node scores higher the more evenly its resources would be used.

Source: plugins/noderesources/balanced_allocation.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitlib.scheduler.framework.events import Registered
from kitlib.scheduler.framework.plugin import MAX_NODE_SCORE, SKIP, Affected, Context, Plugin, Reads, Scores
from kitlib.scheduler.framework.pod_info import Amounts, PodInfo
from kitlib.scheduler.framework.status import Rows
from kitlib.scheduler.plugins.node_resources_fit import DEFAULT_RESOURCES, NATIVE, weights_of


class NodeResourcesBalancedAllocation(Plugin):
    """The plugin that scores nodes by the standard deviation of the used fractions of their resources.

    Older releases use the deviation with the pod on the node, newer ones compare it with the deviation without the pod.
    """

    name = "NodeResourcesBalancedAllocation"
    reads = Reads.AMOUNTS

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
        table, key = context.snapshot, (self, "score", info.signature)
        found: Scores = table.kept(key, lambda some: (self._score(state, context, some),))[0]
        return table.at(rows, found)

    def _score(self, state: Amounts, context: Context, rows: Rows) -> Scores:
        after = _points(self._deviation(state, state, context, rows))
        if not context.release.enabled("KitBalancedComparesWithout"):
            return after
        # the deviation without the pod is the same for all pods that request the same extended resources
        names = tuple(name for name in self.resources if name not in NATIVE and state.get(name))
        without = (self, "without", names)
        table = context.snapshot
        kept = table.kept(without, lambda some: (_points(self._deviation({}, state, context, some)),))[0]
        half = MAX_NODE_SCORE // 2
        made: Scores = (after - table.at(rows, kept) + half) // 2 + half
        return made

    def _deviation(self, more: Amounts, asked_for: Amounts, context: Context, rows: Rows) -> NDArray[np.float64]:
        """Return the standard deviation of the used fractions with `more` requested on each row.

        Extended resources count only if they are in `asked_for`.
        """
        fractions: list[NDArray[np.float64]] = []
        offers: list[NDArray[np.int64]] = []
        table, all_have = context.snapshot, True
        for name in self.resources:
            if name not in NATIVE and not asked_for.get(name):
                continue
            has = table.at(rows, table.column(name, table.allocatable))
            asked = table.at(rows, table.column(name, table.requested))
            if name in more:
                asked = asked + more[name]
            everywhere = table.extent(name)[0] > 0
            offers.append(has)
            all_have = all_have and everywhere
            fractions.append(np.minimum(asked / (has if everywhere else np.maximum(has, 1)), 1.0))
        if not fractions:
            return np.zeros(len(rows))
        # the deviation of two values is half their distance, and upstream computes it so too
        if len(fractions) == 2 and all_have:
            return np.abs(fractions[0] - fractions[1]) / 2
        values, there = np.array(fractions), np.array(offers) > 0
        count = there.sum(axis=0)
        safe = np.maximum(count, 1)
        mean = np.where(there, values, 0).sum(axis=0) / safe
        spread = np.sqrt((np.where(there, values - mean, 0) ** 2).sum(axis=0) / safe)
        if len(fractions) == 2:
            two = np.abs(values[0] - values[1]) / 2
            spread = np.where(count == 2, two, spread)
        return np.where(count >= 2, spread, 0.0)


def _points(deviation: NDArray[np.float64]) -> Scores:
    return ((1 - deviation) * MAX_NODE_SCORE).astype(np.int64)
