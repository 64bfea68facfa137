"""The search for nodes on which preemption helps: node by node, until there are enough candidates.

A search that is used again evaluates only the nodes whose pods have changed, as long as the same nodes may help. If
equal pods preempt one after the other, each costs one node instead of a search of all nodes.

Source: framework/preemption DryRunPreemption, SelectCandidate, pickOneNodeForPreemption.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np

from kitlib.scheduler.framework.post_filter import Candidate
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.framework.status import Rows, Status

SelectVictims = Callable[[int], Candidate | Status]
"""A function from a row to the victims there, or to the reason why there are none."""
Cost = tuple[float, ...]


@dataclass
class Found:
    """The result of a search.

    Attributes:
        candidates: node name -> candidate, in the order of the search.
        best: the names of the nodes with the lowest cost.
        reasons: reason -> number of nodes that are no candidates for it.
        errors: messages about nodes on which no pod would have to leave.
    """

    candidates: dict[str, Candidate] = field(default_factory=dict)
    best: list[str] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)


class CandidateSearch:
    """A search that reuses the results of the one before."""

    def __init__(self) -> None:
        self._promising: Rows = np.zeros(0, np.int64)
        self._enough, self._changes, self._version = -1, -1, -1
        self._rows: dict[int, Candidate | None] = {}
        self._names: dict[str, Candidate] = {}
        self._by_cost: dict[Cost, set[int]] = {}
        self._costs: list[Cost] = []
        self._again = False
        self._reasons: Counter[str] = Counter()

    def run(self, promising: Rows, enough: int, select: SelectVictims, snapshot: Snapshot) -> Found:
        """Search the nodes for candidates.

        Args:
            promising: the rows on which preemption may help, in order.
            enough: the number of candidates that ends the search if one of them violates no budget.
            select: the function that selects the victims on a node.
            snapshot: the nodes.
        """
        if not self._follow(promising, enough, select, snapshot):
            found = self._walk(promising, enough, select)
            self._promising, self._enough = promising, enough
            # With violated budgets the row at which the search ends depends on which candidates violate one, and an
            # error ends the cycle: such results are not reused.
            harmless = all(row is None or not row.violations for row in self._rows.values())
            self._again = harmless and not found.errors
            self._reasons = found.reasons
        else:
            found = Found(reasons=self._reasons)
        self._changes, self._version = snapshot.changes, snapshot.version
        found.candidates, found.best = dict(self._names), self._best()
        return found

    def _walk(self, promising: Rows, enough: int, select: SelectVictims) -> Found:
        self._rows, self._names, self._by_cost, self._costs = {}, {}, {}, []
        found, harmless = Found(), False
        for row in promising.tolist():
            one = select(row)
            self._rows[row] = None
            if isinstance(one, Status):
                found.reasons.update(one.reasons)
            elif not one.victims:
                found.errors.append(f'expected at least one victim pod on node "{one.node}"')
            else:
                self._add(row, one)
                harmless = harmless or not one.violations
                if harmless and len(self._names) >= enough:
                    break
        return found

    def _follow(self, promising: Rows, enough: int, select: SelectVictims, snapshot: Snapshot) -> bool:
        """Evaluate the changed nodes again; return False if a whole search is needed."""
        if not self._again or self._changes != snapshot.changes or self._enough != enough:
            return False
        changed = snapshot.changed_since(self._version)
        if changed is None or not np.array_equal(promising, self._promising):
            return False
        again = changed & self._rows.keys()
        if again and not self._names:  # without candidates the reasons are the answer, and these are not updated
            return False
        for row in again:
            old, new = self._rows[row], select(row)
            if old is None and isinstance(new, Status):
                continue
            # the set of candidates changes, so that the search may end at another row
            if old is None or isinstance(new, Status) or not new.victims or new.violations:
                return False
            self._by_cost[old.cost].discard(row)
            self._add(row, new)
        return True

    def _add(self, row: int, candidate: Candidate) -> None:
        self._rows[row] = self._names[candidate.node] = candidate
        rows = self._by_cost.get(candidate.cost)
        if not rows:
            rows = self._by_cost[candidate.cost] = set()
            heappush(self._costs, candidate.cost)
        rows.add(row)

    def _best(self) -> list[str]:
        """Return the names of the nodes with the lowest cost, in the order of the search."""
        while self._costs:
            rows = self._by_cost.get(self._costs[0])
            if rows:
                return [candidate.node for row in sorted(rows) if (candidate := self._rows[row]) is not None]
            # no row has this cost any longer: entries leave the heap only when they reach its top
            self._by_cost.pop(heappop(self._costs), None)
        return []
