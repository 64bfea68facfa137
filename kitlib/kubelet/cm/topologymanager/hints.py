"""Where a resource could come from: sets of NUMA nodes, as every resource manager offers them and the topology manager
chooses among them.

Source: kubelet topologymanager.TopologyHint, bitmask.IterateBitMasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

from kitlib.api.errors import KitError


class TopologyHint(NamedTuple):
    """One possible place.

    Attributes:
        nodes: NUMA nodes that together can serve the request; None = any.
        preferred: no smaller set of nodes of this machine could serve it, were it empty.
    """

    nodes: frozenset[int] | None
    preferred: bool

    def __str__(self) -> str:
        return f"[{' '.join(map(str, sorted(self.nodes or ())))}] {str(self.preferred).lower()}"


class EmptyPodSharedPoolError(KitError):
    """A pod's own resources leave nothing to those of its containers that share."""


Hints = dict[str, list[TopologyHint] | None]
"""Resource -> its hints. None: no preference. []: no place at all."""


def node_sets(nodes: Iterable[int]) -> Iterator[frozenset[int]]:
    """All sets of these nodes except the empty one, small ones first. Source: bitmask.IterateBitMasks."""
    ordered = sorted(nodes)
    for size in range(1, len(ordered) + 1):
        for chosen in combinations(ordered, size):
            yield frozenset(chosen)


def narrower(one: frozenset[int], other: frozenset[int]) -> bool:
    """Fewer nodes, or as many with the lower numbers. Source: bitmask.IsNarrowerThan."""
    if len(one) == len(other):
        return _mask(one) < _mask(other)
    return len(one) < len(other)


def _mask(nodes: frozenset[int]) -> int:
    return sum(1 << node for node in nodes)
