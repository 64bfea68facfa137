"""What PreFilter and Filter said about a pod, for every node.

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
    """What PreFilter and Filter said.

    Attributes:
        status: of PreFilter; other than success nothing follows.
        prefilter_node_names: nodes that PreFilter left, and the plugins that restricted them; None = all.
        rows: that were filtered.
        codes: a `Code` for every row of the table.
        rejected_by: row -> index into `plugins`; -1 = nobody.
        plugins: names of the Filter plugins that ran.
        verdicts: plugin -> (rows asked about, answers).
        states: plugin -> what its PreFilter made; SKIP = left out.
        single: rows whose answer was found one by one, because pods are nominated there.
        sample: the only rows of those that go on to scoring, where a percentage of nodes is enough; None = all.
        evaluated: the only rows that were looked at, where the search ended before the last; None = all of `rows`.
        release: whose wording.
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
        """Rows that pass everything."""
        rows = self.rows if self.sample is None else self.sample
        return rows[self.codes[rows] == 0] if self.status.ok else rows[:0]

    def statuses(self, row: int) -> list[Status]:
        """Why a row was rejected: one answer, or several where the release asks every plugin. [] = it passes."""
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
        """Plugin, reasons, and how many rows it rejects with them; a row counts with every plugin that rejects it."""
        alone = np.array(sorted(self.single), np.int64)
        for name in self.plugins:
            rows, verdicts = self.verdicts[name]
            bad = verdicts.codes != 0
            if len(alone):
                bad &= ~np.isin(rows, alone)
            for number, count in enumerate(np.bincount(verdicts.which[bad]).tolist()):
                if count:
                    yield name, verdicts.texts[number], count
        for row, statuses in self.single.items():
            for status in statuses if self.codes[row] else ():
                yield status.plugin, status.reasons, 1

    @property
    def absent(self) -> Status | None:
        """What holds for nodes that PreFilter left out; None where it left out none."""
        if self.prefilter_node_names is None:
            return None
        reason = self.release.text("absent_nodes").format(plugins=" ".join(self.prefilter_node_names[1]))
        return Status(Code.UnschedulableAndUnresolvable, (reason,) if reason else ())
