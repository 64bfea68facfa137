"""Distribution of a request that no single NUMA node can serve over several nodes, in equal parts (KEP-2902).

The policy uses the smallest number of nodes that can share the request evenly. Among the sets of this size it selects
the one after which the free processors are distributed most evenly over all nodes (the standard deviation is lowest).
The remainder of the division goes to the subset of these nodes with the lowest standard deviation.

Source: kubelet cpumanager takeByTopologyNUMADistributed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kitlib.kubelet.cm.cpumanager.packed import Accumulator, take_by_topology_numa_packed, too_few
from kitlib.kubelet.cm.cpumanager.state import CPUManagerError
from kitlib.kubelet.cm.cpumanager.topology import CPUTopology


class _Choice(NamedTuple):
    """A list that grows like a Go slice: later lists may share its memory; see `_choices`."""

    memory: list[int]
    length: int

    @property
    def nodes(self) -> list[int]:
        return self.memory[: self.length]


def take_by_topology_numa_distributed(
    topology: CPUTopology, available: Iterable[int], needed: int, group: int, *, spread: bool = False
) -> frozenset[int]:
    """Return processors for a request, distributed over NUMA nodes.

    Args:
        topology: the machine's topology.
        available: the processors that can be assigned.
        needed: the number of processors, 0 or more.
        group: the number of processors assigned together: the threads of a core with `full-pcpus-only`, else 1.
        spread: whether single threads are taken socket by socket.

    Raises:
        CPUManagerError: fewer processors are available than needed.
    """
    available = frozenset(available)
    # Such a request cannot be assigned in whole groups; upstream falls back to packing.
    if needed % group:
        return take_by_topology_numa_packed(topology, available, needed, spread=spread)
    found = Accumulator(topology, available, needed)
    if found.done:
        return frozenset()
    if needed > len(available):
        raise too_few(needed, len(available))
    nodes = found.ordered("numa")
    free = {node: len(cpus) for node, cpus in topology.split("numa", available).items()}
    least, most = _node_range(topology, len(nodes), needed, group)
    for size in range(least, most + 1):
        chosen = _best(nodes, free, size, needed, group)
        if chosen is None:
            continue
        best, rest_from = chosen
        share = needed // len(best) // group * group
        for node in best:
            found.take(_from(found, node, share, spread))
        rest = needed - share * len(best)
        while rest > 0:
            for node in rest_from:
                if rest and len(topology.split("numa", found.free).get(node, ())) >= group:
                    found.take(_from(found, node, group, spread))
                    rest -= group
        if found.needed:
            what = "not enough" if found.needed > 0 else "too many"
            raise CPUManagerError(f"accounting error, {what} CPUs allocated, remaining: {found.needed}")
        return frozenset(found.taken)
    # No set of nodes can share the request evenly: upstream falls back to packing.
    return take_by_topology_numa_packed(topology, available, needed, spread=spread)


def _from(found: Accumulator, node: int, count: int, spread: bool) -> frozenset[int]:
    """Return `count` of a node's free processors; none if it has fewer."""
    here = found.topology.split("numa", found.free).get(node, ())
    return (
        take_by_topology_numa_packed(found.topology, here, count, spread=spread) if count <= len(here) else frozenset()
    )


def _node_range(topology: CPUTopology, available_nodes: int, needed: int, group: int) -> tuple[int, int]:
    """Return the minimum and the maximum size of the sets of nodes to try. Source: rangeNUMANodesNeededToSatisfy."""
    groups = _up(len(topology.cpus), group)
    per_node = _up(groups, len(topology.groups("numa")))
    wanted = _up(needed, group)
    return _up(wanted, per_node), min(wanted, available_nodes)


def _up(amount: int, by: int) -> int:
    return -(-amount // by)


def _best(
    nodes: Sequence[int], free: dict[int, int], size: int, needed: int, group: int
) -> tuple[list[int], list[int]] | None:
    """Return the best balanced set of `size` nodes and the nodes that serve the remainder; None = no set can."""
    best, best_rest, best_balance = None, None, math.inf
    for choice in _choices(nodes, size):
        if best_balance == 0:
            break
        chosen = choice.nodes
        share = needed // size // group * group
        if sum(free[node] for node in chosen) < needed:
            continue
        if sum(free[node] // group for node in chosen) * group < needed or any(free[n] < share for n in chosen):
            continue
        after = {node: free[node] - (share if node in chosen else 0) for node in nodes}
        balance, rest_from = _rest(after, chosen, needed - share * size, group)
        if balance < best_balance:
            best, best_rest, best_balance = choice, rest_from, balance
    return None if best is None else (best.nodes, best_rest.nodes if best_rest else [])


def _rest(after: dict[int, int], chosen: Sequence[int], rest: int, group: int) -> tuple[float, _Choice | None]:
    """Return the best balance and the nodes that serve the remainder.

    Args:
        after: node -> free processors without the equal shares, for all nodes of the machine.
        chosen: the nodes that give the equal shares.
        rest: the number of processors in the remainder.
        group: the number of processors that are assigned together.
    """
    if not rest:
        return _deviation(after.values()), None
    best, balance = None, math.inf
    able = [node for node in chosen if after[node] >= group]
    # Upstream tries the largest subsets first and replaces the best one only by a better one, so that equally balanced
    # remainders are distributed over as many nodes as possible.
    for size in range(len(able), 0, -1):
        for choice in _choices(able, size):
            left, remaining = rest, dict(after)
            if sum(remaining[node] for node in choice.nodes) < left:
                continue
            while left > 0:
                before = left
                for node in choice.nodes:
                    if left and remaining[node] >= group:
                        remaining[node] -= group
                        left -= group
                # Upstream has no such test: its loop does not end if no node of the subset has a whole group left.
                if left == before:
                    break
            if left <= 0 and (score := _deviation(remaining.values())) < balance:
                best, balance = choice, score
    return balance, best


def _choices(items: Sequence[int], size: int, start: int = 0, held: _Choice | None = None) -> Iterator[_Choice]:
    """Yield every subset of a size, in the order of the items.

    The kubelet stores the best subset as a Go slice. A slice of four or more nodes that grew by `append` shares its
    memory with the next subsets, so the stored subset may contain a later subset's last nodes when it is used. This
    changes the assignment on machines with more than four NUMA nodes, and `_Choice` reproduces it.

    Source: cpuAccumulator.iterateCombinations.
    """
    held = held or _Choice([], 0)
    if size == 0:
        yield held
        return
    for index in range(start, len(items) - size + 1):
        yield from _choices(items, size - 1, index + 1, _append(held, items[index]))


def _append(held: _Choice, item: int) -> _Choice:
    """Append an item like Go's `append`: in place if the capacity allows, else in a copy with twice the capacity."""
    memory, length = held
    if length == len(memory):
        memory = memory + [0] * max(length, 1)
    memory[length] = item
    return _Choice(memory, length + 1)


def _deviation(values: Iterable[int]) -> float:
    """Return the standard deviation. Source: standardDeviation."""
    # Upstream rounds the mean and the result to three decimal places; without it another set of nodes could win.
    figures = list(values)
    mean = _rounded(sum(figures) / len(figures))
    return _rounded(math.sqrt(sum((figure - mean) ** 2 for figure in figures) / len(figures)))


def _rounded(value: float) -> float:
    return math.floor(value * 1000 + 0.5) / 1000
