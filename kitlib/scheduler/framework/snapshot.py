"""The nodes as columns: amounts, labels, taints and pods by row, so that a plugin can judge all nodes at once.

A row is a node. Pods are added and removed in place; labels are numbered once a key is asked for. This is the
scheduler's snapshot and its cache in one: between two cycles only what changed is touched.

Source: kube-scheduler framework NodeInfo, backend/cache.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from copy import copy
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kitlib.api.core import Node, Taint
from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.scheduler.framework import node_columns
from kitlib.scheduler.framework.change_log import ChangeLog
from kitlib.scheduler.framework.counts import MAX_PLACES, Codes, Column, Counted, Part, StandingTerm, add
from kitlib.scheduler.framework.pod_info import HostPort, PodInfo, amounts
from kitlib.scheduler.framework.row_amounts import RowAmounts

M = TypeVar("M")
TERM_KINDS = ("required_affinity", "required_anti_affinity", "preferred_affinity", "preferred_anti_affinity")
MAX_HISTORY = 256
"""Changes after which nothing is written down any more until a new history is begun; as many as nodes, if these are
more: then a copy of the columns costs more than to repeat them."""
MAX_KINDS = 4096
"""Kinds of pods of which it is known at once what they are part of."""
MAX_KEPT = 512
"""Kinds of columns that are kept at once; beyond that all are forgotten and made anew."""


class Snapshot:
    """Nodes and the pods on them.

    Args:
        nodes: in the order in which they are looked at.
        release: whose rules pods' requests follow.

    Attributes:
        nodes, names, index: the objects, their names, and name -> row.
        allocatable, requested: resource -> column, milli-CPU and whole units.
        non_zero_cpu, non_zero_memory: what scoring counts as requested.
        pod_count, allowed_pods: columns.
        unschedulable: `spec.unschedulable`.
        pods: row -> its pods, by UID, in the order in which they came.
        changes: counts changes of nodes; label columns are kept until it moves.
        history: where the pods that come (1) and go (-1) are written down with their rows; None = nowhere.
    """

    def __init__(self, nodes: Iterable[Node] = (), release: Release | None = None) -> None:
        self.release = release or Release.followed()
        self.nodes: list[Node] = []
        self.names: list[str] = []
        self.index: dict[str, int] = {}
        self.allocatable: dict[str, Column] = {}
        self.requested: dict[str, Column] = {}
        self.non_zero_cpu: Column = np.zeros(0, np.int64)
        self.non_zero_memory: Column = np.zeros(0, np.int64)
        self.pod_count: Column = np.zeros(0, np.int64)
        self.allowed_pods: Column = np.zeros(0, np.int64)
        self.unschedulable: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.pods: list[dict[str, PodInfo]] = []
        self.ports: list[set[HostPort]] = []
        self._terms: dict[str, dict[Hashable, StandingTerm]] = {}
        self.changes = 0
        self._labels: dict[str, tuple[NDArray[np.int32], list[str]]] = {}
        self._one_to_one: dict[str, bool] = {}
        self._taints: tuple[NDArray[np.int32], list[tuple[Taint, ...]]] | None = None
        self._images: dict[str, dict[int, int]] | None = None
        self._order: Column = np.zeros(0, np.int64)
        self._search_order: Column = np.zeros(0, np.int64)
        self._log = ChangeLog()
        self._columns: dict[Hashable, tuple[int, tuple[NDArray[Any], ...]]] = {}
        self._counted: dict[Hashable, Counted] = {}
        self._remembered: dict[Hashable, tuple[int, dict[int, Any]]] = {}
        self._memo: dict[Hashable, Any] = {}
        self._extents: dict[str, tuple[int, int]] = {}
        self._counts = 0
        self._amounts = RowAmounts(self._amounts_now)
        self._parts: dict[Hashable, tuple[int, list[Part]]] = {}
        self._every: Column = np.zeros(0, np.int64)
        self.history: list[tuple[PodInfo, int, int]] | None = None
        self._build(list(nodes))

    def __len__(self) -> int:
        return len(self.nodes)

    def every_row(self) -> Column:
        """All row numbers; not to be changed."""
        if len(self._every) != len(self):
            self._every = np.arange(len(self), dtype=np.int64)
            self._every.setflags(write=False)
        return self._every

    def at(self, rows: Column, column: NDArray[Any]) -> NDArray[Any]:
        """A column's values on rows; the column itself, which must not be changed, where these are `every_row()`."""
        return column if rows is self._every else column[rows]

    def search_order(self) -> Column:
        """All rows in the order in which nodes are tried: zone by zone in turn. Source: backend/cache nodeTree.list."""
        if len(self._search_order) != len(self):
            self._search_order = node_columns.search_order(self.nodes)
        return self._search_order

    def name_order(self) -> Column:
        """Row -> its place among all names in alphabetical order."""
        if len(self._order) != len(self):
            self._order = np.empty(len(self), np.int64)
            self._order[np.argsort(np.array(self.names, dtype=object), kind="stable")] = np.arange(len(self))
        return self._order

    def _build(self, nodes: list[Node]) -> None:
        twice = len(nodes) - len({node.name for node in nodes})
        if twice:
            raise KitError(f"nodes: {twice} names are used more than once")
        self.nodes, self.names = nodes, [node.name for node in nodes]
        self.index = {name: row for row, name in enumerate(self.names)}
        size = len(nodes)
        listed = [amounts(node.status.allocatable) for node in nodes]
        resources = {name for one in listed for name in one if name != "pods"} | {"cpu", "memory", "ephemeral-storage"}
        self.allocatable = {name: np.array([one.get(name, 0) for one in listed], np.int64) for name in resources}
        self.requested = {name: np.zeros(size, np.int64) for name in resources}
        self.allowed_pods = np.array([one.get("pods", 0) for one in listed], np.int64)
        self.non_zero_cpu, self.non_zero_memory = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self.pod_count = np.zeros(size, np.int64)
        self.unschedulable = np.array([node.spec.unschedulable for node in nodes], np.bool_)
        self.pods, self.ports = [{} for _ in nodes], [set() for _ in nodes]
        self._terms = {kind: {} for kind in TERM_KINDS}
        self.changes += 1
        self._labels, self._one_to_one, self._extents, self._taints, self._images = {}, {}, {}, None, None
        self._order = self._search_order = np.zeros(0, np.int64)
        self._log, self._columns, self._counted, self._remembered, self._memo = ChangeLog(), {}, {}, {}, {}
        self._amounts, self._parts, self.history = RowAmounts(self._amounts_now), {}, None

    def rebuild(self, nodes: Iterable[Node], pods: Iterable[PodInfo]) -> None:
        """Other nodes, or the same ones changed, with these pods on them; pods of unknown nodes are left out.

        What the pods of a node that stays take of it is not added up anew, so these must be the same pods as before.
        """
        index, requested = self.index, self.requested
        columns = self.non_zero_cpu, self.non_zero_memory, self.pod_count
        self._build(list(nodes))
        before = [index.get(name, -1) for name in self.names]  # -1: the 0 at the end
        for name, column in requested.items():
            if column.any():
                self._column_of(name)[:] = np.append(column, 0)[before]
        self.non_zero_cpu, self.non_zero_memory, self.pod_count = (np.append(one, 0)[before] for one in columns)
        for info in pods:
            row = self.index.get(info.pod.spec.node_name, -1)
            if row >= 0:
                info.row = row
                self._stand(info, row)
                if before[row] < 0:
                    self._count(info, 1)

    def touch(self, info: PodInfo) -> None:
        """A pod has changed in a way that no column shows: what was computed from its row is computed anew."""
        self._log.append(info.row)

    def add(self, info: PodInfo, row: int | None = None) -> None:
        """Put a pod on a row (by default that of the node it names)."""
        info.row = self.index[info.pod.spec.node_name] if row is None else row
        self._count(info, 1)
        self._stand(info, info.row)

    def _stand(self, info: PodInfo, row: int) -> None:
        self.pods[row][info.uid] = info
        if info.host_ports:
            self.ports[row].update(info.host_ports)
        if info.has_affinity:
            self._count_terms(info, 1)

    def remove(self, info: PodInfo) -> None:
        """Take a pod off its row."""
        del self.pods[info.row][info.uid]
        self._count(info, -1)
        # a set, not a count: the port is free then, even if another pod of the node has it. Source: HostPortInfo.Remove
        self.ports[info.row].difference_update(info.host_ports)
        if info.has_affinity:
            self._count_terms(info, -1)

    def _count(self, info: PodInfo, sign: int) -> None:
        row = info.row
        self._log.append(row)
        if self.history is not None:
            self.history.append((info, row, sign))
            if len(self.history) >= max(MAX_HISTORY, len(self)):
                self.history = None
        self._amounts.changed(row, info.kind, sign)
        if info.kind is not None:
            add(self._parts_of(info), row, sign)
            return
        add(self._own_parts(info), row, sign)
        for counted in self._counted.values():
            counted.count(info, sign)

    def _column_of(self, resource: str) -> Column:
        """What is requested of a resource, which no node need have."""
        found = self.requested.get(resource)
        if found is None:
            self._counts += 1
            found = self.requested[resource] = np.zeros(len(self), np.int64)
            self.allocatable.setdefault(resource, np.zeros(len(self), np.int64))
            self._amounts = RowAmounts(self._amounts_now)
        return found

    def _own_parts(self, info: PodInfo) -> list[Part]:
        """What a pod takes of its node."""
        return [
            (self.non_zero_cpu.data, None, info.non_zero[0]),
            (self.non_zero_memory.data, None, info.non_zero[1]),
            (self.pod_count.data, None, 1),
            *[(self._column_of(name).data, None, amount) for name, amount in info.requests.items()],
        ]

    def _parts_of(self, info: PodInfo) -> list[Part]:
        """What a pod of a kind adds to columns and counts."""
        found = self._parts.get(info.kind)
        if found is not None and found[0] == self._counts:
            return found[1]
        parts = self._own_parts(info)
        for one in self._counted.values():
            parts += one.parts(info)
        if len(self._parts) >= MAX_KINDS:
            self._parts.clear()
        self._parts[info.kind] = self._counts, parts
        return parts

    @property
    def version(self) -> int:
        """Grows with every pod that comes, goes or changes; begins anew when `changes` moves."""
        return self._log.position

    def changed_since(self, version: int) -> set[int] | None:
        """The rows whose pods have changed since; None where that is too long ago to be known."""
        return self._log.since(version)

    @property
    def counts(self) -> int:
        """Version of the set of counts and terms that follow the pods: a copy has those that there were."""
        return self._counts

    def amounts_of(self, row: int) -> int:
        """A number for all that the row offers and what the pods on it take of it: equal amounts, equal answers."""
        return self._amounts.of(row)

    def _amounts_now(self, row: int) -> tuple[int, ...]:
        have, taken = self.allocatable.values(), self.requested.values()
        return (
            *[column.item(row) for column in have],
            *[column.item(row) for column in taken],
            self.non_zero_cpu.item(row),
            self.non_zero_memory.item(row),
            self.pod_count.item(row),
            self.allowed_pods.item(row),
        )

    def columns_only(self) -> Snapshot:
        """A copy as it stands now that shares the nodes. It does not know the pods, only what is counted of them."""
        made = copy(self)
        made.requested = {name: column.copy() for name, column in self.requested.items()}
        made.allocatable = dict(self.allocatable)
        made.non_zero_cpu, made.non_zero_memory = self.non_zero_cpu.copy(), self.non_zero_memory.copy()
        made.pod_count = self.pod_count.copy()
        made.nodes = list(self.nodes)
        made._terms = {
            kind: {key: standing.copied() for key, standing in terms.items()} for kind, terms in self._terms.items()
        }
        made._counted = {key: Counted(one.column.copy(), one.matches) for key, one in self._counted.items()}
        made._log, made._columns, made._remembered, made.history = ChangeLog(), {}, {}, None
        made._memo = {}
        made._amounts, made._parts = RowAmounts(made._amounts_now), {}
        return made

    def repeat(self, history: Iterable[tuple[PodInfo, int, int]]) -> None:
        """Count what came and went."""
        for info, row, sign in history:
            there = info.like(info.pod)
            there.row = row
            self._count(there, sign)
            if there.has_affinity:
                self._count_terms(there, sign)

    def every_pod(self) -> Iterable[PodInfo]:
        """All pods, row by row."""
        for row in self.pods:
            yield from row.values()

    def column(self, resource: str, of: Mapping[str, Column]) -> Column:
        """Amounts of a resource; zeros where no node has it."""
        found = of.get(resource)
        return np.zeros(len(self), np.int64) if found is None else found

    def extent(self, resource: str) -> tuple[int, int]:
        """The least and the most that a node offers of a resource; 0, 0 without nodes."""
        found = self._extents.get(resource)
        if found is None:
            column = self.column(resource, self.allocatable)
            found = (int(column.min()), int(column.max())) if len(column) else (0, 0)
            self._extents[resource] = found
        return found

    def label(self, key: str) -> tuple[NDArray[np.int32], list[str]]:
        """A label as numbers: row -> number of its value (-1 = the node has no such label), and the values."""
        found = self._labels.get(key)
        if found is None:
            found = self._labels[key] = node_columns.label_codes(self.nodes, key)
        return found

    def is_one_to_one(self, key: str) -> bool:
        """Whether every node has a value of a label of its own, numbered like the rows, as with host names."""
        found = self._one_to_one.get(key)
        if found is None:
            codes, values = self.label(key)
            found = len(values) == len(self) and bool((codes == self.every_row()).all())
            self._one_to_one[key] = found
        return found

    def places(self, key: str) -> tuple[Codes | None, int]:
        """A label's values as places: row -> number of the place (-1 = none; None = every row's own), and how many."""
        codes, values = self.label(key)
        return None if self.is_one_to_one(key) else codes, len(values)

    def taint_groups(self) -> tuple[NDArray[np.int32], list[tuple[Taint, ...]]]:
        """Nodes by their list of taints: row -> number of the list, and the lists. Few lists serve many nodes."""
        if self._taints is None:
            self._taints = node_columns.taint_groups(self.nodes)
        return self._taints

    def image_spread(self) -> dict[str, dict[int, int]]:
        """Image name -> row -> bytes; the size is that of the node that reported the image first."""
        if self._images is None:
            self._images = node_columns.image_spread(self.nodes)
        return self._images

    def kept(self, key: Hashable, compute: Callable[[NDArray[np.int64]], tuple[NDArray[Any], ...]]) -> Any:
        """Columns that depend on nothing but a row's pods and node: only rows that changed are computed anew.

        Args:
            key: what they depend on besides the row (a kind of pod).
            compute: rows -> columns of these rows.

        Returns:
            The columns, which must not be changed.
        """
        found = self._columns.get(key)
        if found is None:
            if len(self._columns) >= MAX_KEPT:
                self._columns.clear()
            made = compute(self.every_row())
        else:
            position, made = found
            if position < self._log.position:
                changed = self._log.since(position)
                rows = np.array(range(len(self)) if changed is None else sorted(changed), np.int64)
                for column, part in zip(made, compute(rows), strict=True):
                    column[rows] = part
        self._columns[key] = self._log.position, made
        return made

    def standing_terms(self, kind: str) -> list[StandingTerm]:
        """The different affinity terms of a kind among the pods that stand; none is taken away while nodes stay."""
        return list(self._terms[kind].values())

    def _count_terms(self, info: PodInfo, sign: int) -> None:
        for kind in TERM_KINDS:
            for term in getattr(info, kind):
                key = (term.topology_key, term.weight, term.key)
                known = self._terms[kind].get(key)
                if known is None:
                    self._counts += 1
                    codes, places = self.places(term.topology_key)
                    column = np.zeros(len(self), np.int64)
                    sums = column if codes is None else np.zeros(places + 1, np.int64)
                    known = self._terms[kind][key] = StandingTerm(term, column, codes, sums)
                known.count(info.row, sign)

    def memo(self, key: Hashable, make: Callable[[], M]) -> M:
        """Whatever follows the pods by itself, made once while the nodes stay the same."""
        found = self._memo.get(key)
        if found is None:
            if len(self._memo) >= MAX_KEPT:
                self._memo.clear()
            found = self._memo[key] = make()
        made: M = found
        return made

    def remembered(self, key: Hashable) -> dict[int, Any]:
        """A cache of values by row; rows that changed since are dropped."""
        found = self._remembered.get(key)
        if found is None:
            if len(self._remembered) >= MAX_KEPT:
                self._remembered.clear()
            kept: dict[int, Any] = {}
        else:
            position, kept = found
            changed = self._log.since(position)
            if changed is None:
                kept.clear()
            else:
                for row in changed:
                    kept.pop(row, None)
        self._remembered[key] = self._log.position, kept
        return kept

    def counted(self, key: Hashable, matches: Callable[[PodInfo], int]) -> Column:
        """How many pods (or how much of them) match, by row; kept up to date as pods come and go.

        Args:
            key: what is counted.
            matches: pod -> its part of the count, 0 for nothing.
        """
        return self._count_of(key, matches).column

    def counted_by(
        self, key: Hashable, matches: Callable[[PodInfo], int], places: Hashable, codes: Codes | None, size: int
    ) -> Column:
        """The same by place, followed by a 0; by row where `codes` is None.

        Args:
            key, matches: as of `counted`.
            places: what the places are.
            codes: row -> place, -1 = none.
            size: how many places there are.
        """
        found = self._count_of(key, matches)
        if codes is None:
            return found.column
        if places not in found.sums:
            self._counts += 1
            if len(found.sums) >= MAX_PLACES:
                found.sums.clear()
        return found.by_place(places, codes, size)

    def _count_of(self, key: Hashable, matches: Callable[[PodInfo], int]) -> Counted:
        found = self._counted.get(key)
        if found is None:
            if len(self._counted) >= MAX_KEPT:
                self._counted.clear()
            self._counts += 1
            found = self._counted[key] = Counted(np.zeros(len(self), np.int64), matches)
            for info in self.every_pod():
                found.count(info, 1)
        return found
