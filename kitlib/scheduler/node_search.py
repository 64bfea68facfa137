"""How many feasible nodes are enough, and in which order nodes are looked at.

Source: schedule_one.go (numFeasibleNodesToFind, findNodesThatPassFilters, evaluateNominatedNode), backend/cache
node_tree.go.
"""

from __future__ import annotations

import numpy as np

from kitlib.scheduler.framework.filter_outcome import FilterOutcome
from kitlib.scheduler.framework.snapshot import Snapshot

MIN_FEASIBLE_NODES_TO_FIND = 100
MIN_FEASIBLE_NODES_PERCENTAGE_TO_FIND = 5


def num_feasible_nodes_to_find(percentage: int | None, num_all_nodes: int) -> int:
    """How many feasible nodes the search stops at.

    Args:
        percentage: `percentageOfNodesToScore`; None = all nodes, 0 = 50 minus one for every 125 nodes, at least 5.
    """
    if num_all_nodes < MIN_FEASIBLE_NODES_TO_FIND or percentage is None:
        return num_all_nodes
    if percentage == 0:
        percentage = max(50 - num_all_nodes // 125, MIN_FEASIBLE_NODES_PERCENTAGE_TO_FIND)
    return max(num_all_nodes * percentage // 100, MIN_FEASIBLE_NODES_TO_FIND)


def keep_to_sample(outcome: FilterOutcome, snapshot: Snapshot, wanted: int, start: int) -> int:
    """End the search where enough nodes are feasible: zone by zone in turn, beginning at `start` and going round.

    Args:
        outcome: of Filter for all nodes; gets the sample.
        wanted: feasible nodes.
        start: place in the order.

    Returns:
        How many nodes were looked at; the next search begins behind them.
    """
    size = len(outcome.rows)
    if wanted >= size or not outcome.status.ok:
        return size
    order = snapshot.search_order()
    listed = order if size == len(order) else order[np.isin(order, outcome.rows)]
    turned = np.roll(listed, -(start % size))
    passing = np.flatnonzero(outcome.codes[turned] == 0)
    if len(passing) <= wanted:
        return size
    evaluated = int(passing[wanted])  # it ends when it meets one more than it needs
    outcome.sample = np.sort(turned[passing[:wanted]])
    outcome.evaluated = np.sort(turned[:evaluated])
    return evaluated


def evaluate_nominated_node(outcome: FilterOutcome, snapshot: Snapshot, nominated_node_name: str) -> bool:
    """Keep only the node that preemption promised the pod, if it fits there; whether that is so."""
    row = snapshot.index.get(nominated_node_name, -1)
    if row < 0 or row not in outcome.feasible:
        return False
    outcome.sample = outcome.evaluated = np.array([row], np.int64)
    return True
