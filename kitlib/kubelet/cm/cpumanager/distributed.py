"""Processors for a request that no single NUMA node can serve, in equal parts from several (KEP-2902).

The smallest number of nodes that can share the request evenly is used; among the sets of so many nodes the one that
leaves the machine most evenly filled. What does not divide evenly goes to the subset that keeps it so.

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
    """A growing list whose memory may be shared with lists that are made later; see `_choices`."""

    memory: list[int]
    length: int

    @property
    def nodes(self) -> list[int]:
        return self.memory[: self.length]


def take_by_topology_numa_distributed(
    topology: CPUTopology, available: Iterable[int], needed: int, group: int, *, spread: bool = False
) -> frozenset[int]:
    """Processors for a request, distributed over NUMA nodes.

    Args:
        topology: of the machine.
        available: what may be taken.
        needed: how many.
        group: how many are handed out together: the threads of a core with `full-pcpus-only`, else 1.
        spread: single threads are taken socket by socket.

    Raises:
        CPUManagerError: there are too few.
    """
    available = frozenset(available)
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
    return take_by_topology_numa_packed(topology, available, needed, spread=spread)


def _from(found: Accumulator, node: int, count: int, spread: bool) -> frozenset[int]:
    """So many of a node's free processors; none where it has too few."""
    here = found.topology.split("numa", found.free).get(node, ())
    return (
        take_by_topology_numa_packed(found.topology, here, count, spread=spread) if count <= len(here) else frozenset()
    )


def _node_range(topology: CPUTopology, available_nodes: int, needed: int, group: int) -> tuple[int, int]:
    """The least and the greatest number of nodes that are worth trying. Source: rangeNUMANodesNeededToSatisfy."""
    groups = _up(len(topology.cpus), group)
    per_node = _up(groups, len(topology.groups("numa")))
    wanted = _up(needed, group)
    return _up(wanted, per_node), min(wanted, available_nodes)


def _up(amount: int, by: int) -> int:
    return -(-amount // by)


def _best(
    nodes: Sequence[int], free: dict[int, int], size: int, needed: int, group: int
) -> tuple[list[int], list[int]] | None:
    """Of all sets of `size` nodes the best balanced, and the nodes that give what does not divide; None = none can."""
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
    """The best balance that can be reached, and the nodes that give the rest.

    Args:
        after: node -> free processors once the equal shares are taken.
    """
    if not rest:
        return _deviation(after.values()), None
    best, balance = None, math.inf
    able = [node for node in chosen if after[node] >= group]
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
                if left == before:
                    break
            if left <= 0 and (score := _deviation(remaining.values())) < balance:
                best, balance = choice, score
    return balance, best


def _choices(items: Sequence[int], size: int, start: int = 0, held: _Choice | None = None) -> Iterator[_Choice]:
    """Every subset of a size, in the order of the items.

    The kubelet keeps the best one as a Go slice. A slice of four or more nodes that grew by `append` shares its memory
    with the next subsets, so what it remembers as best may have a later subset's last nodes by the time it is used.
    Machines with more than four NUMA nodes get their processors accordingly, and so here.

    Source: cpuAccumulator.iterateCombinations.
    """
    held = held or _Choice([], 0)
    if size == 0:
        yield held
        return
    for index in range(start, len(items) - size + 1):
        yield from _choices(items, size - 1, index + 1, _append(held, items[index]))


def _append(held: _Choice, item: int) -> _Choice:
    """Go's `append`: in place where there is room, else into twice the room."""
    memory, length = held
    if length == len(memory):
        memory = memory + [0] * max(length, 1)
    memory[length] = item
    return _Choice(memory, length + 1)


def _deviation(values: Iterable[int]) -> float:
    """Standard deviation, to three digits. Source: standardDeviation."""
    figures = list(values)
    mean = _rounded(sum(figures) / len(figures))
    return _rounded(math.sqrt(sum((figure - mean) ** 2 for figure in figures) / len(figures)))


def _rounded(value: float) -> float:
    return math.floor(value * 1000 + 0.5) / 1000
