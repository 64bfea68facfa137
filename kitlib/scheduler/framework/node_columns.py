"""Columns of Node objects: labels and lists of taints as numbers, images by node, and the search order.

A requirement on a label is evaluated once per value, not once per node: nodes with equal values get equal answers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from kitlib.api.core import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Taint
from kitlib.api.selectors import requirement_holds

Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]
MAX_MASKS = 512
"""The number of requirements whose masks are kept; beyond that all masks are discarded."""
_ZONES = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
_REGIONS = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
"""The labels of a node's zone and region; the first one that the node has counts.

Source: component-helpers GetZoneKey.
"""


@dataclass(frozen=True)
class LabelColumn:
    """A label of all nodes.

    Attributes:
        codes: row -> number of the value; -1 = the node has no such label.
        numbers: value -> its number, in the order in which the values appear.
        values: the values by number.
    """

    codes: Codes
    numbers: dict[str, int]
    values: list[str]

    def fulfils(self, key: str, operator: str, values: Sequence[str]) -> Mask:
        """Return which rows fulfil a requirement on the label. Source: nodeaffinity.nodeSelectorTerm.match."""
        good = np.zeros(len(self.values) + 1, np.bool_)  # the last one is that of nodes without the label, code -1
        if operator in ("In", "NotIn"):
            for value in values:
                good[self.numbers.get(value, -1)] = True
            good[-1] = False
            good = good if operator == "In" else ~good
        else:
            listed = tuple(values)
            good[:-1] = [requirement_holds({key: value}, key, operator, listed) for value in self.values]
            good[-1] = requirement_holds({}, key, operator, listed)
        found: Mask = good[self.codes]
        return found


class NodeColumns:
    """The columns of a list of nodes, each made on first request.

    The nodes never change: another list of nodes has its own columns (`replaced`).

    Args:
        nodes: the nodes, in the order of the rows.
    """

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self._labels: dict[str, LabelColumn] = {}
        self._one_to_one: dict[str, bool] = {}
        self._masks: dict[tuple[str, str, tuple[str, ...]], Mask] = {}
        self._names: LabelColumn | None = None
        self._taints: tuple[Codes, list[tuple[Taint, ...]]] | None = None
        self._images: dict[str, dict[int, int]] | None = None
        self._search_order: NDArray[np.int64] | None = None
        self._name_order: NDArray[np.int64] | None = None

    def replaced(self, nodes: list[Node], changed: Sequence[int]) -> NodeColumns:
        """Return the columns of other nodes, of which those that stay have kept their rows.

        Args:
            nodes: the nodes now; fewer than before = the last ones are gone.
            changed: the rows that are new or have another node than before.
        """
        # masks are not taken over: they have one value per row
        made, size, before = NodeColumns(nodes), len(nodes), len(self.nodes)
        for key, column in self._labels.items():
            old = [row for row in changed if row < before]
            if all(nodes[row].metadata.labels.get(key) == self.nodes[row].metadata.labels.get(key) for row in old):
                made._labels[key] = _resized(column, nodes, key)
        if self._taints is not None:
            codes, lists = self._taints
            made._taints = _taint_groups(nodes, changed, np.resize(codes, size), list(lists))
        pictured = (*(nodes[row] for row in changed), *(self.nodes[row] for row in changed if row < before))
        if not any(node.status.images for node in (*pictured, *self.nodes[size:])):
            made._images = self._images
        if size == before and all(nodes[row].name == self.nodes[row].name for row in changed):
            made._name_order, made._names = self._name_order, self._names
        return made

    def label(self, key: str) -> LabelColumn:
        """Return a label's column."""
        found = self._labels.get(key)
        if found is None:
            empty = LabelColumn(np.zeros(0, np.int32), {}, [])
            found = self._labels[key] = _resized(empty, self.nodes, key)
        return found

    def is_one_to_one(self, key: str) -> bool:
        """Return whether every node has a value of its own, numbered like the rows, as with host names."""
        found = self._one_to_one.get(key)
        if found is None:
            column = self.label(key)
            found = len(column.values) == len(self.nodes) and bool((column.codes == np.arange(len(self.nodes))).all())
            self._one_to_one[key] = found
        return found

    def places(self, key: str) -> tuple[Codes | None, int]:
        """Return a label's values as places: row -> place (-1 = none; None = each row its own), and their number."""
        column = self.label(key)
        return None if self.is_one_to_one(key) else column.codes, len(column.values)

    def selected_by(self, selector: NodeSelector) -> Mask:
        """Return which rows any of the terms matches. Source: nodeaffinity.NodeSelector.Match."""
        found = np.zeros(len(self.nodes), np.bool_)
        for term in selector.node_selector_terms:
            found |= self.matched_by(term)
        return found

    def matched_by(self, term: NodeSelectorTerm) -> Mask:
        """Return which rows fulfil all of a term; an empty term matches none. Source: nodeaffinity.nodeSelectorTerm."""
        fulfilled = [
            *(self._fulfilling(expression, "labels") for expression in term.match_expressions),
            *(self._fulfilling(field, "fields") for field in term.match_fields),
        ]
        found = fulfilled[0].copy() if fulfilled else np.zeros(len(self.nodes), np.bool_)
        for one in fulfilled[1:]:
            found &= one
        return found

    def _fulfilling(self, requirement: NodeSelectorRequirement, of: str) -> Mask:
        key, operator, values = requirement.key, requirement.operator, requirement.values
        if of == "fields":
            named = key == "metadata.name"
            column = self._name_column() if named else LabelColumn(np.full(len(self.nodes), -1, np.int32), {}, [])
            return column.fulfils(key, operator, values)
        known = key, operator, tuple(values)
        found = self._masks.get(known)
        if found is None:
            if len(self._masks) >= MAX_MASKS:
                self._masks.clear()
            found = self._masks[known] = self.label(key).fulfils(key, operator, values)
        return found

    def _name_column(self) -> LabelColumn:
        if self._names is None:
            names = [node.name for node in self.nodes]
            numbers = {name: row for row, name in enumerate(names)}
            self._names = LabelColumn(np.arange(len(names), dtype=np.int32), numbers, names)
        return self._names

    def taint_groups(self) -> tuple[Codes, list[tuple[Taint, ...]]]:
        """Return row -> number of its list of taints, and the lists. Few lists serve many nodes."""
        if self._taints is None:
            codes = np.zeros(len(self.nodes), np.int32)
            self._taints = _taint_groups(self.nodes, range(len(self.nodes)), codes, [])
        return self._taints

    def image_spread(self) -> dict[str, dict[int, int]]:
        """Return image name -> row -> bytes; the size is that of the node that reported the image first."""
        if self._images is None:
            self._images = image_spread(self.nodes)
        return self._images

    def search_order(self) -> NDArray[np.int64]:
        """Return all rows in the order in which nodes are tried, zone by zone in turn. Source: nodeTree.list."""
        if self._search_order is None:
            self._search_order = search_order(self.nodes)
        return self._search_order

    def name_order(self) -> NDArray[np.int64]:
        """Return row -> its place among all names in alphabetical order."""
        if self._name_order is None:
            names = np.array([node.name for node in self.nodes], dtype=object)
            self._name_order = np.empty(len(names), np.int64)
            self._name_order[np.argsort(names, kind="stable")] = np.arange(len(names))
        return self._name_order


def _resized(column: LabelColumn, nodes: Sequence[Node], key: str) -> LabelColumn:
    """Return the column of more or fewer nodes; the first ones are those of the column."""
    known, size = len(column.codes), len(nodes)
    if size == known:
        return column
    if size < known:  # values are numbered as they appear, so the ones that stay are the first
        codes = column.codes[:size]
        left = int(codes.max()) + 1 if size else 0
        return LabelColumn(codes, dict(list(column.numbers.items())[:left]), column.values[:left])
    codes, numbers = np.append(column.codes, np.full(size - known, -1, np.int32)), dict(column.numbers)
    for row in range(known, size):
        value = nodes[row].metadata.labels.get(key)
        if value is not None:
            codes[row] = numbers.setdefault(value, len(numbers))
    return LabelColumn(codes, numbers, list(numbers))


def _taint_groups(
    nodes: Sequence[Node], changed: Iterable[int], codes: Codes, lists: list[tuple[Taint, ...]]
) -> tuple[Codes, list[tuple[Taint, ...]]]:
    """Assign numbers to the lists of taints of changed rows; a list without a row keeps its number."""
    known = {_taint_key(one): number for number, one in enumerate(lists)}
    for row in changed:
        taints = nodes[row].spec.taints
        number = known.setdefault(_taint_key(taints), len(lists))
        if number == len(lists):
            lists.append(tuple(taints))
        codes[row] = number
    return codes, lists


def _taint_key(taints: Iterable[Taint]) -> tuple[tuple[str, str, str], ...]:
    return tuple((taint.key, taint.value, taint.effect) for taint in taints)


def search_order(nodes: Sequence[Node]) -> NDArray[np.int64]:
    """Return all rows in the order in which nodes are tried: one node of each zone in turn.

    Source: backend/cache nodeTree.list.
    """
    zones: dict[tuple[str, str], list[int]] = {}
    for row, node in enumerate(nodes):
        labels = node.metadata.labels
        zone, region = (next((labels[k] for k in keys if k in labels), "") for keys in (_ZONES, _REGIONS))
        zones.setdefault((region, zone), []).append(row)
    rounds = zip_longest(*zones.values(), fillvalue=-1)
    return np.array([row for turn in rounds for row in turn if row >= 0], np.int64)


def image_spread(nodes: Sequence[Node]) -> dict[str, dict[int, int]]:
    """Return image name -> row -> bytes; the size is that of the node that reported the image first.

    Source: backend/cache/cache.go addNodeImageStates.
    """
    found: dict[str, dict[int, int]] = defaultdict(dict)
    for row, node in enumerate(nodes):
        for image in node.status.images:
            for name in image.names:
                found[name][row] = next(iter(found[name].values()), image.size_bytes)
    return found
