"""Counts of pods by row and by place that are updated with each pod instead of being counted again.

A place is a value of a label. If every node has its own value (host names), the count by row is also the count by
place.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.scheduler.framework.node_columns import Codes, NodeColumns
from kitlib.scheduler.framework.pod_info import PodInfo, Term

T = TypeVar("T")
Column = NDArray[np.int64]
Part = tuple[memoryview, memoryview | None, int]
"""A count, the place of each row in it (None = the row itself), and the amount that a pod adds.

Single numbers are read and written several times as fast through a memoryview as through the array."""
MAX_PLACES = 64
"""The maximum number of sums by place that a count keeps."""
TERM_KINDS = ("required_affinity", "required_anti_affinity", "preferred_affinity", "preferred_anti_affinity")
MIN_COUNTS, MAX_CELLS = 512, 4_000_000
"""The limit of counts that are kept: MIN_COUNTS, or more while they have at most MAX_CELLS rows together."""
MAX_IDLE_TERMS = 4_096
"""The number of terms without a pod beyond which such terms are discarded when nodes change."""


@dataclass
class Counted:
    """A count by row.

    Attributes:
        column: the count of each row.
        matches: the function from a pod to its part of the count, 0 = none.
        selector: a selector of every pod that has a part; None = unknown.
        sums: key of the places -> (row -> place, -1 = none; the sums by place, followed by a 0).
    """

    column: Column
    matches: Callable[[PodInfo], int]
    selector: LabelSelectorMatcher | None = None
    sums: dict[Hashable, tuple[Codes, Column]] = field(default_factory=dict)

    def count(self, info: PodInfo, sign: int) -> None:
        """Add a pod (1) or subtract it (-1)."""
        add(self.parts(info), info.row, sign)

    def parts(self, info: PodInfo) -> list[Part]:
        """Return what a pod adds to the column and to each of the sums."""
        amount = self.matches(info)
        if not amount:
            return []
        found: list[Part] = [(self.column.data, None, amount)]
        return found + [(sums.data, codes.data, amount) for codes, sums in self.sums.values()]

    def by_place(self, key: Hashable, codes: Codes, size: int) -> Column:
        """Return the sums by place, followed by a 0.

        Args:
            key: the identity of the places.
            codes: row -> place, -1 = none.
            size: the number of places.
        """
        found = self.sums.get(key)
        if found is None:
            found = self.sums[key] = codes, sums_of(self.column, codes, size)
        return found[1]


class StandingTerm:
    """An affinity term of pods on the rows, and the number of pods with it on each row.

    If pods differ, few rows have a given term, so the count is a mapping. Columns are made on request and updated with
    each pod until nodes change.

    Args:
        term: the term.
        counts: the counts of the pods, which know the rows.

    Attributes:
        rows: row -> number of its pods with the term; rows without such a pod are missing.
        number: the term's index among the terms of its kind.
    """

    __slots__ = ("_codes", "_column", "_counts", "_nodes", "_sums", "number", "rows", "term")

    def __init__(self, term: Term, counts: PodCounts) -> None:
        self.term, self._counts, self.number = term, counts, -1
        self.rows: dict[int, int] = {}
        self._nodes: NodeColumns | None = None
        self._codes: Codes | None = None
        self._column = self._sums = np.zeros(0, np.int64)

    def count(self, row: int, sign: int) -> None:
        """Count a pod with the term that has come (1) or gone (-1)."""
        number = self.rows.get(row, 0) + sign
        if number:
            self.rows[row] = number
        else:
            self.rows.pop(row, None)
        if self._nodes is self._counts.nodes:
            # the columns are those of the current nodes; after a change of nodes `sums` rebuilds them
            self._column[row] += sign
            if self._codes is not None and self._codes[row] >= 0:
                self._sums[self._codes[row]] += sign

    @property
    def sums(self) -> Column:
        """The number of pods by value of the topology key, followed by a 0; by row where each row has its own value."""
        nodes = self._counts.nodes
        if self._nodes is not nodes:
            self._codes, places = nodes.places(self.term.topology_key)
            self._column = np.zeros(len(nodes.nodes), np.int64)
            self._column[list(self.rows)] = list(self.rows.values())
            self._sums = self._column if self._codes is None else sums_of(self._column, self._codes, places)
            self._nodes = nodes
        return self._sums

    def copied(self, counts: PodCounts) -> StandingTerm:
        """Return a copy of the term and its current count, for a copy of the counts."""
        made = StandingTerm(self.term, counts)
        made.rows, made.number = dict(self.rows), self.number
        return made


def add(parts: Iterable[Part], row: int, sign: int) -> None:
    """Add a pod's parts to counts (1), or subtract them (-1)."""
    for column, codes, amount in parts:
        place = row if codes is None else codes[row]
        if place < 0:
            continue
        try:
            column[place] += sign * amount
        except (OverflowError, ValueError):  # a memoryview does not wrap around, but Go's int64 does
            column[place] = (column[place] + sign * amount + 2**63) % 2**64 - 2**63


def sums_of(column: Column, codes: Codes, size: int) -> Column:
    """Sum up a count by place; the last sum, for rows without a place, stays 0."""
    there = codes >= 0
    sums = np.zeros(size + 1, np.int64)
    # not bincount: its weights are floats, which are exact up to 2**53 only
    np.add.at(sums, codes[there], column[there])
    return sums


class SelectorIndex(Generic[T]):
    """An index of items with a label selector, which are looked up by a pod's labels.

    A pod that a selector selects fulfils each of its requirements, so also the one under which the item is filed: the
    requirement with the operator In and the fewest values. Items without such a requirement are returned for every
    pod. The caller matches the returned items against the pod.
    """

    def __init__(self) -> None:
        self._by_label: dict[tuple[str, str], list[T]] = {}
        self._others: list[T] = []

    def add(self, selector: LabelSelectorMatcher | None, item: T) -> None:
        """File an item.

        Args:
            selector: the selector of the item's pods; None = unknown.
            item: the item.
        """
        found = indexed_requirement(selector)
        if found is None:
            self._others.append(item)
            return
        key, values = found
        for value in values:
            self._by_label.setdefault((key, value), []).append(item)

    def candidates(self, labels: Mapping[str, str]) -> Iterator[T]:
        """Yield the items whose selector may select a pod with these labels, each once."""
        yield from self._others
        known = self._by_label
        if known:
            for label in labels.items():
                yield from known.get(label, ())


def indexed_requirement(selector: LabelSelectorMatcher | None) -> tuple[str, tuple[str, ...]] | None:
    """Return key and values of the requirement under which a selector is filed; None = it has none with In."""
    if selector is None or selector.nothing:
        return None
    listed = [(key, values) for key, operator, values in selector.requirements if operator == "In"]
    return min(listed, key=lambda one: len(one[1])) if listed else None


class PodCounts:
    """The counts of the pods on the rows: matching pods by row and place, and pods by affinity term.

    Args:
        nodes: the columns of the nodes.
        every_pod: the function that returns all pods on the rows.

    Attributes:
        version: a number that grows when a count or a term is added; readers then look up theirs again.
        pods_by_label: label's key -> value -> UID -> pod, for the keys by which pods have been looked up.
    """

    def __init__(self, nodes: NodeColumns, every_pod: Callable[[], Iterable[PodInfo]]) -> None:
        self.nodes, self.version = nodes, 0
        self._every_pod = every_pod
        self._counted: dict[Hashable, Counted] = {}
        self._asking: SelectorIndex[Counted] = SelectorIndex()
        self._terms: dict[str, dict[Hashable, StandingTerm]] = {kind: {} for kind in TERM_KINDS}
        self._listed: dict[str, list[StandingTerm]] = {kind: [] for kind in TERM_KINDS}
        self._meaning: dict[str, SelectorIndex[StandingTerm]] = {kind: SelectorIndex() for kind in TERM_KINDS}
        self.pods_by_label: dict[str, dict[str, dict[str, PodInfo]]] = {}

    def copied(self) -> PodCounts:
        """Return a copy of all counts and terms as they are now."""
        made = PodCounts(self.nodes, self._every_pod)
        made.version = self.version
        for key, counted in self._counted.items():
            made._keep(key, Counted(counted.column.copy(), counted.matches, counted.selector))
        for kind, terms in self._terms.items():
            made._terms[kind] = {key: standing.copied(made) for key, standing in terms.items()}
            made._listed[kind] = list(made._terms[kind].values())
            del made._meaning[kind]  # most copies are never asked for the terms about a pod
        return made

    def replace_nodes(self, nodes: NodeColumns, before: Column, *, in_place: bool, keep: bool) -> None:
        """Move the counts to the rows of other nodes; a new node's row counts 0.

        Args:
            nodes: the columns of the new nodes.
            before: row -> the row that the node had; -1 = the node is new.
            in_place: whether every node that stays has kept its row.
            keep: whether counts stay valid; otherwise they are discarded, and counted again on request.
        """
        self.nodes = nodes
        self.version += 1
        counted, self._counted, self._asking = self._counted, {}, SelectorIndex()
        for key, one in counted.items() if keep else ():
            # index -1, a new node, reads the appended 0; sums by place are rebuilt, since labels may have changed
            self._keep(key, Counted(np.append(one.column, 0)[before], one.matches, one.selector))
        terms = [
            (kind, key, standing_term) for kind, known in self._terms.items() for key, standing_term in known.items()
        ]
        # terms are counted by row: they stay valid if rows do
        if in_place and sum(not standing_term.rows for _, _, standing_term in terms) <= MAX_IDLE_TERMS:
            return
        self._terms = {kind: {} for kind in TERM_KINDS}
        self._listed = {kind: [] for kind in TERM_KINDS}
        self._meaning = {kind: SelectorIndex() for kind in TERM_KINDS}
        now = {old: row for row, old in enumerate(before.tolist()) if old >= 0}
        for kind, key, standing in terms:
            if standing.rows:
                standing.rows = {now[row]: number for row, number in standing.rows.items()}
                self._keep_term(kind, key, standing)

    def enter(self, info: PodInfo) -> None:
        """Add a pod to `pods_by_label`; needed only if that has keys."""
        labels = info.pod.metadata.labels
        for key, pods in self.pods_by_label.items():
            if key in labels:
                pods.setdefault(labels[key], {})[info.uid] = info

    def leave(self, info: PodInfo) -> None:
        """Remove a pod from `pods_by_label`."""
        labels = info.pod.metadata.labels
        for key, pods in self.pods_by_label.items():
            same = pods.get(labels.get(key, ""), {})
            if same.pop(info.uid, None) is not None and not same:
                del pods[labels[key]]  # each Job brings values of its own

    def count(self, info: PodInfo, sign: int) -> None:
        """Add a pod to all counts that match it (1), or subtract it (-1)."""
        for counted in self._asking.candidates(info.pod.metadata.labels):
            counted.count(info, sign)

    def parts(self, info: PodInfo) -> list[Part]:
        """Return what a pod adds to all counts."""
        return [
            part for candidate in self._asking.candidates(info.pod.metadata.labels) for part in candidate.parts(info)
        ]

    def count_terms(self, info: PodInfo, sign: int) -> None:
        """Add the affinity terms of a pod on its row (1), or subtract them (-1)."""
        for kind in TERM_KINDS:
            for term in getattr(info, kind):
                key = (term.topology_key, term.weight, term.key)
                known = self._terms[kind].get(key)
                if known is None:
                    self.version += 1
                    known = StandingTerm(term, self)
                    self._keep_term(kind, key, known)
                known.count(info.row, sign)

    def _keep_term(self, kind: str, key: Hashable, term: StandingTerm) -> None:
        self._terms[kind][key] = term
        term.number = len(self._listed[kind])
        self._listed[kind].append(term)
        if kind in self._meaning:
            self._meaning[kind].add(term.term.selector, term)

    def standing_terms(self, kind: str) -> list[StandingTerm]:
        """Return the distinct affinity terms of a kind among the pods, in the order of their first appearance."""
        return self._listed[kind]

    def terms_about(self, kind: str, labels: Mapping[str, str]) -> Iterator[StandingTerm]:
        """Yield the terms of a kind that may select a pod with these labels."""
        if kind not in self._meaning:
            self._meaning[kind] = SelectorIndex()
            for term in self._listed[kind]:
                self._meaning[kind].add(term.term.selector, term)
        return self._meaning[kind].candidates(labels)

    def counted(
        self, key: Hashable, matches: Callable[[PodInfo], int], selector: LabelSelectorMatcher | None = None
    ) -> Counted:
        """Return a count, which is computed on first request.

        Args:
            key: the identity of the count.
            matches: the function from a pod to its part of the count, 0 = none.
            selector: a selector of every pod for which `matches` is not 0; None = unknown.
        """
        found = self._counted.get(key)
        if found is None:
            size = len(self.nodes.nodes)
            # all of them at once: the new version makes every reader look up its counts again
            if len(self._counted) >= max(MIN_COUNTS, MAX_CELLS // (size + 1)):
                self._counted, self._asking = {}, SelectorIndex()
            self.version += 1
            found = Counted(np.zeros(size, np.int64), matches, selector)
            self._keep(key, found)
            for info in self._pods_of(selector):
                found.count(info, 1)
        return found

    def _keep(self, key: Hashable, counted: Counted) -> None:
        self._counted[key] = counted
        self._asking.add(counted.selector, counted)

    def _pods_of(self, selector: LabelSelectorMatcher | None) -> Iterable[PodInfo]:
        """Return a superset of the pods that a selector selects."""
        found = indexed_requirement(selector)
        if found is None:
            return self._every_pod()
        key, values = found
        if key not in self.pods_by_label:
            by_value: dict[str, dict[str, PodInfo]] = {}
            for info in self._every_pod():
                labels = info.pod.metadata.labels
                if key in labels:
                    by_value.setdefault(labels[key], {})[info.uid] = info
            self.pods_by_label[key] = by_value
        return [info for value in values for info in self.pods_by_label[key].get(value, {}).values()]
