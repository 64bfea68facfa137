"""What Node objects say, as columns: labels and lists of taints as numbers, images by node, and the order of search."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from kitlib.api.core import Node, Taint

_ZONES = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
_REGIONS = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
"""Labels of a node's zone and region, in the order in which they are asked. Source: component-helpers GetZoneKey."""


def search_order(nodes: Sequence[Node]) -> NDArray[np.int64]:
    """All rows in the order in which nodes are tried: zone by zone in turn. Source: backend/cache nodeTree.list."""
    zones: dict[tuple[str, str], list[int]] = {}
    for row, node in enumerate(nodes):
        labels = node.metadata.labels
        zone, region = (next((labels[k] for k in keys if k in labels), "") for keys in (_ZONES, _REGIONS))
        zones.setdefault((region, zone), []).append(row)
    rounds = zip_longest(*zones.values(), fillvalue=-1)
    return np.array([row for turn in rounds for row in turn if row >= 0], np.int64)


def label_codes(nodes: Sequence[Node], key: str) -> tuple[NDArray[np.int32], list[str]]:
    """A label as numbers: row -> number of its value (-1 = the node has no such label), and the values."""
    values: dict[str, int] = {}
    codes = np.full(len(nodes), -1, np.int32)
    for row, node in enumerate(nodes):
        value = node.metadata.labels.get(key)
        if value is not None:
            codes[row] = values.setdefault(value, len(values))
    return codes, list(values)


def taint_groups(nodes: Sequence[Node]) -> tuple[NDArray[np.int32], list[tuple[Taint, ...]]]:
    """Nodes by their list of taints: row -> number of the list, and the lists. Few lists serve many nodes."""
    known: dict[tuple[tuple[str, str, str], ...], int] = {}
    lists: list[tuple[Taint, ...]] = []
    codes = np.zeros(len(nodes), np.int32)
    for row, node in enumerate(nodes):
        key = tuple((t.key, t.value, t.effect) for t in node.spec.taints)
        if key not in known:
            known[key] = len(lists)
            lists.append(tuple(node.spec.taints))
        codes[row] = known[key]
    return codes, lists


def image_spread(nodes: Sequence[Node]) -> dict[str, dict[int, int]]:
    """Image name -> row -> bytes; the size is that of the node that reported the image first.

    Source: backend/cache/cache.go addNodeImageStates.
    """
    found: dict[str, dict[int, int]] = defaultdict(dict)
    for row, node in enumerate(nodes):
        for image in node.status.images:
            for name in image.names:
                found[name][row] = next(iter(found[name].values()), image.size_bytes)
    return found
