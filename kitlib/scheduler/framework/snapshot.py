"""The nodes as columns: amounts, labels, taints and pods by row, so that a plugin can judge all nodes at once.

A row is a node. Pods are added and removed in place, nodes are replaced row by row; columns of labels, taints and
images (`NodeColumns`) and counts of pods (`PodCounts`) are made on request. This class is kube-scheduler's snapshot and
its cache in one: between two cycles only the changes are applied.

What stays valid, and why:

* A column of amounts, labels, taints or images follows from the Node objects alone, so `rebuild` computes it only for
  rows with another Node object than before; the other values move to the new rows of their nodes.
* A count of the pods on a row follows from these pods and not from the Node object, so it moves with the node.
  Sums by place also follow from labels and are added up again.
* Values computed from rows and pods together (`kept`, `remembered`, `memo`) are discarded when any node changes.

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
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.scheduler.framework.change_log import ChangeLog
from kitlib.scheduler.framework.counts import MAX_PLACES, Column, Part, PodCounts, StandingTerm, add
from kitlib.scheduler.framework.node_columns import Codes, NodeColumns
from kitlib.scheduler.framework.pod_info import HostPort, PodInfo, amounts
from kitlib.scheduler.framework.row_amounts import RowAmounts

M = TypeVar("M")
MAX_HISTORY = 256
"""The length at which a history ends, or the number of nodes if that is larger: so many changes are repeated at lower
cost than that of a copy of the columns."""
MAX_KINDS = 4096
"""The number of kinds of pods whose parts in columns and counts are kept."""
MAX_KEPT = 512
"""The number of keys that `kept`, `remembered` and `memo` each keep; beyond that all are discarded."""


class Snapshot:
    """Nodes and the pods on them.

    Args:
        nodes: the nodes, in the order of the rows.
        release: the release whose rules pods' requests follow.

    Attributes:
        nodes, names, index: the objects, their names, and name -> row.
        columns: the columns of the Node objects other than amounts.
        allocatable, requested: resource -> column, in milli-CPU or whole units.
        non_zero_cpu, non_zero_memory: the requests that scoring counts, in milli-CPU and bytes.
        pod_count, allowed_pods: the number of pods on each row, and its maximum.
        unschedulable: `spec.unschedulable` of each row.
        pods: row -> its pods, by UID, in the order in which they came.
        changes: the number of changes of nodes; label columns are valid until it grows.
        history: a list of (pod, row, 1 = came or -1 = went) that is continued; None = nothing is recorded.
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
        self.changes = 0
        self.columns = NodeColumns([])
        self._log = ChangeLog()
        self._columns: dict[Hashable, tuple[int, tuple[NDArray[Any], ...]]] = {}
        self._remembered: dict[Hashable, tuple[int, dict[int, Any]]] = {}
        self._memo: dict[Hashable, Any] = {}
        self._extents: dict[str, tuple[int, int]] = {}
        self._counts = PodCounts(self.columns, self.every_pod)
        self._amounts = RowAmounts(self._amounts_now)
        self._parts: dict[Hashable, tuple[int, list[Part]]] = {}
        self._every: Column = np.zeros(0, np.int64)
        self.history: list[tuple[PodInfo, int, int]] | None = None
        self.rebuild(nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def every_row(self) -> Column:
        """Return all row numbers, read-only."""
        if len(self._every) != len(self):
            self._every = np.arange(len(self), dtype=np.int64)
            self._every.setflags(write=False)
        return self._every

    def at(self, rows: Column, column: NDArray[Any]) -> NDArray[Any]:
        """Return a column's values on rows; if these are `every_row()` the column itself, which must not be changed."""
        return column if rows is self._every else column[rows]

    def search_order(self) -> Column:
        """Return all rows in the order in which nodes are tried: zone by zone in turn. Source: nodeTree.list."""
        return self.columns.search_order()

    def name_order(self) -> Column:
        """Return row -> its index among all names in alphabetical order."""
        return self.columns.name_order()

    def rebuild(
        self, nodes: Iterable[Node], elsewhere: Iterable[PodInfo] = (), *, objects_changed: bool = False
    ) -> list[PodInfo]:
        """Replace the nodes; only rows with another Node object than before are read.

        A Node object that was there before must not have changed in fields from which columns are made.

        Args:
            nodes: the nodes now.
            elsewhere: pods without a row, which get one if their node is new.
            objects_changed: whether other objects have changed on which counts may depend.

        Returns:
            The pods of nodes that are gone, whose `row` is -1 now.

        Raises:
            KitError: two nodes have the same name.
        """
        listed = list(nodes)
        names = [node.name for node in listed]
        index = {name: row for row, name in enumerate(names)}
        if len(index) < len(names):
            raise KitError(f"nodes: {len(names) - len(index)} names are used more than once")
        gone = [info for row, name in enumerate(self.names) if name not in index for info in self.pods[row].values()]
        for info in gone:
            self.remove(info)
            info.row = -1
        before = np.array([self.index.get(name, -1) for name in names], np.int64)
        changed = [row for row, old in enumerate(before.tolist()) if old < 0 or self.nodes[old] is not listed[row]]
        in_place = bool((before[before >= 0] == np.flatnonzero(before >= 0)).all())  # a new node may replace one
        self._read(listed, before, changed)
        self.columns = self.columns.replaced(listed, changed) if in_place else NodeColumns(listed)
        self._counts.replace_nodes(self.columns, before, in_place=in_place, keep=not objects_changed)
        pods, ports = self.pods, self.ports
        self.pods = [pods[old] if old >= 0 else {} for old in before.tolist()]
        self.ports = [ports[old] if old >= 0 else set() for old in before.tolist()]
        if not in_place:
            for row, there in enumerate(self.pods):
                for info in there.values():
                    info.row = row
        self.nodes, self.names, self.index = listed, names, index
        self.changes += 1
        self._extents = {}
        self._log, self._columns, self._remembered, self._memo = ChangeLog(), {}, {}, {}
        self._amounts, self._parts, self.history = RowAmounts(self._amounts_now), {}, None
        if (before < 0).any():
            for info in elsewhere:
                row = index.get(info.pod.spec.node_name, -1)
                if row >= 0:
                    self.add(info, row)
        return gone

    def _read(self, nodes: list[Node], before: Column, changed: list[int]) -> None:
        """Move the columns of amounts to the new rows of their nodes, and read the rows that have changed."""
        offered = {row: amounts(nodes[row].status.allocatable) for row in changed}
        resources = {name for one in offered.values() for name in one if name != "pods"}
        for name in (resources | {"cpu", "memory", "ephemeral-storage"}) - self.allocatable.keys():
            self.allocatable[name] = np.zeros(len(self), np.int64)
            self.requested.setdefault(name, np.zeros(len(self), np.int64))
        for columns in (self.allocatable, self.requested):
            for name, column in columns.items():
                columns[name] = np.append(column, 0)[before]  # index -1, a new node, reads the appended 0
        self.non_zero_cpu, self.non_zero_memory, self.pod_count, self.allowed_pods = (
            np.append(one, 0)[before]
            for one in (self.non_zero_cpu, self.non_zero_memory, self.pod_count, self.allowed_pods)
        )
        self.unschedulable = np.append(self.unschedulable, False)[before]
        for row, one in offered.items():
            for name, column in self.allocatable.items():
                column[row] = one.get(name, 0)
            self.allowed_pods[row] = one.get("pods", 0)
            self.unschedulable[row] = nodes[row].spec.unschedulable

    def touch(self, info: PodInfo) -> None:
        """Record a change of a pod that no column shows, so that values computed from its row are recomputed."""
        self._log.append(info.row)

    def add(self, info: PodInfo, row: int | None = None) -> None:
        """Add a pod to a row (by default that of the node it names)."""
        info.row = self.index[info.pod.spec.node_name] if row is None else row
        self._count(info, 1)
        self.pods[info.row][info.uid] = info
        if info.host_ports:
            self.ports[info.row].update(info.host_ports)
        if info.has_affinity:
            self._counts.count_terms(info, 1)
        if self._counts.pods_by_label:
            self._counts.enter(info)

    def remove(self, info: PodInfo) -> None:
        """Remove a pod from its row."""
        del self.pods[info.row][info.uid]
        self._count(info, -1)
        # a set, not a count: the port becomes free even if another pod of the node uses it. Source: HostPortInfo.Remove
        self.ports[info.row].difference_update(info.host_ports)
        if info.has_affinity:
            self._counts.count_terms(info, -1)
        if self._counts.pods_by_label:
            self._counts.leave(info)

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
        self._counts.count(info, sign)

    def _column_of(self, resource: str) -> Column:
        """Return the column of a resource's requests; also of a resource that no node offers."""
        found = self.requested.get(resource)
        if found is None:
            self._counts.version += 1  # parts and amounts that were made without this column are not valid any longer
            found = self.requested[resource] = np.zeros(len(self), np.int64)
            self.allocatable.setdefault(resource, np.zeros(len(self), np.int64))
            self._amounts.forget()
        return found

    def _own_parts(self, info: PodInfo) -> list[Part]:
        return [
            (self.non_zero_cpu.data, None, info.non_zero[0]),
            (self.non_zero_memory.data, None, info.non_zero[1]),
            (self.pod_count.data, None, 1),
            *[(self._column_of(name).data, None, amount) for name, amount in info.requests.items()],
        ]

    def _parts_of(self, info: PodInfo) -> list[Part]:
        """Return what a pod of a kind adds to columns and counts."""
        found = self._parts.get(info.kind)
        if found is not None and found[0] == self._counts.version:
            return found[1]
        parts = self._own_parts(info) + self._counts.parts(info)
        if len(self._parts) >= MAX_KINDS:
            self._parts.clear()
        self._parts[info.kind] = self._counts.version, parts
        return parts

    @property
    def version(self) -> int:
        """A number that grows with every pod that comes, goes or changes; it restarts when `changes` grows."""
        return self._log.position

    def changed_since(self, version: int) -> set[int] | None:
        """Return the rows whose pods have changed since a version; None = the log no longer contains it."""
        return self._log.since(version)

    @property
    def counts(self) -> int:
        """The version of the set of counts and terms; a copy has those that existed when it was made."""
        return self._counts.version

    def amounts_of(self, row: int) -> int:
        """Return a number for what the row offers and its pods request: equal numbers, equal answers."""
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
        """Return a copy of the current columns and counts that shares the nodes and does not know the pods."""
        made = copy(self)
        made.requested = {name: column.copy() for name, column in self.requested.items()}
        made.allocatable = dict(self.allocatable)
        made.non_zero_cpu, made.non_zero_memory = self.non_zero_cpu.copy(), self.non_zero_memory.copy()
        made.pod_count = self.pod_count.copy()
        made.nodes = list(self.nodes)
        made._counts = self._counts.copied()
        made._log, made._columns, made._remembered, made.history = ChangeLog(), {}, {}, None
        made._memo = {}
        made._amounts, made._parts = RowAmounts(made._amounts_now), {}
        return made

    def repeat(self, history: Iterable[tuple[PodInfo, int, int]]) -> None:
        """Apply a history of pods that came and went to the columns and counts."""
        for info, row, sign in history:
            there = info.like(info.pod)
            there.row = row
            self._count(there, sign)
            if there.has_affinity:
                self._counts.count_terms(there, sign)

    def every_pod(self) -> Iterable[PodInfo]:
        """Yield all pods, row by row."""
        for row in self.pods:
            yield from row.values()

    def column(self, resource: str, of: Mapping[str, Column]) -> Column:
        """Return the amounts of a resource; zeros if no node has it."""
        found = of.get(resource)
        return np.zeros(len(self), np.int64) if found is None else found

    def extent(self, resource: str) -> tuple[int, int]:
        """Return the minimum and the maximum that a node offers of a resource; 0, 0 without nodes."""
        found = self._extents.get(resource)
        if found is None:
            column = self.column(resource, self.allocatable)
            found = (int(column.min()), int(column.max())) if len(column) else (0, 0)
            self._extents[resource] = found
        return found

    def label(self, key: str) -> tuple[Codes, list[str]]:
        """Return a label as numbers: row -> number of its value (-1 = no such label), and the values by number."""
        column = self.columns.label(key)
        return column.codes, column.values

    def is_one_to_one(self, key: str) -> bool:
        """Return whether every node has its own value of a label, numbered like the rows, as with host names."""
        return self.columns.is_one_to_one(key)

    def places(self, key: str) -> tuple[Codes | None, int]:
        """Return a label's values as places: row -> place (-1 = none; None = each row its own), and their number."""
        return self.columns.places(key)

    def taint_groups(self) -> tuple[Codes, list[tuple[Taint, ...]]]:
        """Return row -> number of its list of taints, and the lists."""
        return self.columns.taint_groups()

    def image_spread(self) -> dict[str, dict[int, int]]:
        """Return image name -> row -> bytes; the size is that of the node that reported the image first."""
        return self.columns.image_spread()

    def kept(self, key: Hashable, compute: Callable[[NDArray[np.int64]], tuple[NDArray[Any], ...]]) -> Any:
        """Return columns that depend on a row's pods and node alone: only rows that changed are recomputed.

        Args:
            key: the identity of the columns (a kind of pod).
            compute: the function from rows to the columns' values on these rows.

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
        """Return the distinct affinity terms of a kind among the pods; none is removed while nodes stay."""
        return self._counts.standing_terms(kind)

    def terms_about(self, kind: str, labels: Mapping[str, str]) -> Iterable[StandingTerm]:
        """Return the terms of a kind that may select a pod with these labels."""
        return self._counts.terms_about(kind, labels)

    def memo(self, key: Hashable, make: Callable[[], M]) -> M:
        """Return an object that follows the pods by itself; it is made once while the nodes stay the same."""
        found = self._memo.get(key)
        if found is None:
            if len(self._memo) >= MAX_KEPT:
                self._memo.clear()
            found = self._memo[key] = make()
        made: M = found
        return made

    def remembered(self, key: Hashable) -> dict[int, Any]:
        """Return a cache of values by row, without the rows that have changed since the last call."""
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

    def counted(
        self, key: Hashable, matches: Callable[[PodInfo], int], selector: LabelSelectorMatcher | None = None
    ) -> Column:
        """Return the number of pods (or the sum of amounts) that match, by row; it is updated as pods come and go.

        Args:
            key: the identity of the count.
            matches: the function from a pod to its part of the count, 0 = none.
            selector: a selector of every pod for which `matches` is not 0; None = unknown.
        """
        return self._counts.counted(key, matches, selector).column

    def counted_by(
        self,
        key: Hashable,
        matches: Callable[[PodInfo], int],
        places: Hashable,
        codes: Codes | None,
        size: int,
        selector: LabelSelectorMatcher | None = None,
    ) -> Column:
        """Return the sums by place of a count, followed by a 0; by row if `codes` is None.

        Args:
            key: the identity of the count.
            matches: the function from a pod to its part of the count, 0 = none.
            places: the identity of the places.
            codes: row -> place, -1 = none.
            size: the number of places.
            selector: a selector of every pod for which `matches` is not 0; None = unknown.
        """
        found = self._counts.counted(key, matches, selector)
        if codes is None:
            return found.column
        if places not in found.sums:
            self._counts.version += 1
            if len(found.sums) >= MAX_PLACES:
                found.sums.clear()
        return found.by_place(places, codes, size)
