"""The results of PreFilter and Filter for one pod and all nodes.

Source: kube-scheduler framework types.go (Diagnosis, NodeToStatus).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitlib.api.release import Release
from kitlib.scheduler.framework.status import Code, Rows, Status, Verdicts


@dataclass
class FilterOutcome:
    """The results of PreFilter and Filter.

    Attributes:
        status: the status of PreFilter, or an error of Filter; unless it is Success, no row is feasible.
        prefilter_node_names: the node names that PreFilter allows, and the plugins that restrict them; None = all.
        rows: the rows that were filtered.
        codes: a `Code` for every row of the snapshot.
        rejected_by: row -> index in `plugins`; -1 = no plugin rejected it.
        plugins: the names of the Filter plugins that ran.
        verdicts: plugin -> (rows that it was asked about, its answers).
        states: plugin -> the state from its PreFilter; SKIP = its Filter is not called.
        single: row -> rejections, for rows that were filtered one by one because pods are nominated there.
        sample: the rows among which feasible ones are scored, if a percentage of nodes is enough; None = `rows`.
        evaluated: the rows that the search reached before it stopped early; None = `rows`.
        release: the release whose messages are used.
    """

    status: Status
    prefilter_node_names: tuple[frozenset[str], list[str]] | None
    rows: Rows
    codes: NDArray[np.uint8]
    rejected_by: NDArray[np.int32]
    plugins: list[str] = field(default_factory=list)
    verdicts: dict[str, tuple[Rows, Verdicts]] = field(default_factory=dict)
    states: dict[str, Any] = field(default_factory=dict)
    single: dict[int, list[Status]] = field(default_factory=dict)
    sample: Rows | None = None
    evaluated: Rows | None = None
    release: Release = field(default_factory=Release.followed)

    @property
    def feasible(self) -> Rows:
        """The rows that pass every filter."""
        rows = self.rows if self.sample is None else self.sample
        return rows[self.codes[rows] == 0] if self.status.ok else rows[:0]

    def statuses(self, row: int) -> list[Status]:
        """Return a row's rejections: one, or several if the release asks every plugin; [] = it passes."""
        if row in self.single:
            return self.single[row]
        found = []
        for name in self.plugins:
            rows, verdicts = self.verdicts[name]
            place = int(np.searchsorted(rows, row))
            if place < len(rows) and rows[place] == row and verdicts.codes[place]:
                found.append(verdicts.status(place, name))
        return found

    def rejections(self) -> Iterator[tuple[str, tuple[str, ...], int]]:
        """Yield plugin, reasons and number of rows rejected for them; a row counts for each plugin that rejects it."""
        alone = np.array(sorted(self.single), np.int64)
        for name in self.plugins:
            rows, verdicts = self.verdicts[name]
            bad = verdicts.codes != 0
            if len(alone):  # these rows are counted below, with the answers that include nominated pods
                bad &= ~np.isin(rows, alone)
            for number, count in enumerate(np.bincount(verdicts.which[bad]).tolist()):
                if count:
                    yield name, verdicts.texts[number], count
        for row, statuses in self.single.items():
            for status in statuses if self.codes[row] else ():
                yield status.plugin, status.reasons, 1

    @property
    def absent(self) -> Status | None:
        """The status of nodes that PreFilter left out; None = it left out none."""
        if self.prefilter_node_names is None:
            return None
        reason = self.release.text("absent_nodes").format(plugins=" ".join(self.prefilter_node_names[1]))
        return Status(Code.UnschedulableAndUnresolvable, (reason,) if reason else ())
