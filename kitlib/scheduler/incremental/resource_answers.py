"""The answers of the plugins that read requested amounts only: the rows that fit, and the weighted scores.

Pods that request the same amounts share one `ResourceAnswers`, even if they differ otherwise. After a placement the
plugins are asked about the rows whose pods have changed, once for each combination of amounts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitlib.scheduler.framework.plugin import Context, Plugin, Scores
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Code, Rows, merge_codes

MANY_ROWS = 6
"""The number of changed rows from which on these are evaluated together."""


@dataclass
class PluginCall:
    """A plugin with the state for its call.

    Attributes:
        plugin: the plugin.
        state: the state from PreFilter or PreScore.
        weight: the weight of a Score plugin; 0 = a Filter plugin.
    """

    plugin: Plugin
    state: Any = None
    weight: int = 0


class ResourceAnswers:
    """The answers of the plugins that read amounts, for all rows.

    Args:
        info: a pod that requests the amounts.
        context: the cluster.
        filters: the Filter plugins.
        scores: the Score plugins.

    Attributes:
        codes: Filter's code of each row, 0 = it passes.
        score: the weighted score of each row.
    """

    def __init__(
        self, info: PodInfo, context: Context, filters: Sequence[PluginCall], scores: Sequence[PluginCall]
    ) -> None:
        self._info, self._context, self._filters, self._scores = info, context, filters, scores
        self._all_run = context.release.enabled("KitAllFiltersRun")
        self._known: dict[int, tuple[int, int]] = {}
        self._version = -1
        self._ask_about_all_rows()

    def _ask_about_all_rows(self) -> None:
        self.codes, self.score = self._answers(self._context.snapshot.every_row())
        self._version = self._context.snapshot.version

    def _answers(self, rows: Rows) -> tuple[NDArray[np.uint8], Scores]:
        codes: NDArray[np.uint8] | None = None
        for plugin_call in self._filters:
            found = plugin_call.plugin.filter(plugin_call.state, self._info, self._context, rows).codes
            codes = found.copy() if codes is None else merge_codes(codes, found, all_run=self._all_run)
        total = np.zeros(len(rows), np.int64)
        for plugin_call in self._scores:
            points = plugin_call.plugin.score(plugin_call.state, self._info, self._context, rows)
            total += points if plugin_call.weight == 1 else plugin_call.weight * points
        return np.zeros(len(rows), np.uint8) if codes is None else codes, total

    def of(self, row: int) -> tuple[int, int]:
        """Return Filter's code of a row, and its weighted score."""
        # equal numbers mean equal amounts, and the plugins read nothing else of a row
        number = self._context.snapshot.amounts_of(row)
        found = self._known.get(number)
        if found is None:
            codes, total = self._answers(np.array([row], np.int64))
            found = self._known[number] = codes.item(0), total.item(0)
        return found

    def follow(self) -> None:
        """Update the answers for the rows whose pods have changed."""
        snapshot = self._context.snapshot
        if self._version == snapshot.version:
            return
        rows = snapshot.changed_since(self._version)
        if rows is None:
            self._ask_about_all_rows()
            return
        for row in rows:
            self.codes[row], self.score[row] = self.of(row)
        self._version = snapshot.version

    def fits(self, rows: Rows) -> NDArray[np.bool_]:
        """Return a mask of the rows that pass."""
        passes: NDArray[np.bool_] = self.codes[rows] == Code.Success
        return passes
