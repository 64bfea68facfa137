"""Topology hints: the sets of NUMA nodes that can serve a resource, from the resource managers.

The topology manager combines the hints of all resource managers and selects the best combination.

Source: kubelet topologymanager.TopologyHint, bitmask.IterateBitMasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

from kitlib.api.errors import KitError


class TopologyHint(NamedTuple):
    """A set of NUMA nodes that can serve a request.

    Attributes:
        nodes: the NUMA nodes that together can serve the request; None = any.
        preferred: whether no smaller set of nodes could serve it on the empty machine.
    """

    nodes: frozenset[int] | None
    preferred: bool

    def __str__(self) -> str:
        return f"[{' '.join(map(str, sorted(self.nodes or ())))}] {str(self.preferred).lower()}"


class EmptyPodSharedPoolError(KitError):
    """Pod-level resources of which nothing is left for the containers without an exclusive part."""


Hints = dict[str, list[TopologyHint] | None]
"""Resource -> its hints. None: no preference. []: no set of nodes can serve it."""


def node_sets(nodes: Iterable[int]) -> Iterator[frozenset[int]]:
    """Yield all non-empty sets of these nodes, small ones first. Source: bitmask.IterateBitMasks."""
    ordered = sorted(nodes)
    for size in range(1, len(ordered) + 1):
        for chosen in combinations(ordered, size):
            yield frozenset(chosen)


def narrower(one: frozenset[int], other: frozenset[int]) -> bool:
    """Return whether `one` has fewer nodes than `other`, or as many with lower numbers.

    Source: bitmask.IsNarrowerThan.
    """
    if len(one) == len(other):
        return _mask(one) < _mask(other)
    return len(one) < len(other)


def _mask(nodes: frozenset[int]) -> int:
    return sum(1 << node for node in nodes)
