"""The search for feasible nodes: the number that is enough, and the order in which nodes are evaluated.

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
    """Return the number of feasible nodes at which the search stops.

    Args:
        percentage: `percentageOfNodesToScore`; None = all nodes, 0 = 50 minus one for every 125 nodes, at least 5.
        num_all_nodes: the number of nodes.
    """
    if num_all_nodes < MIN_FEASIBLE_NODES_TO_FIND or percentage is None:
        return num_all_nodes
    if percentage == 0:
        percentage = max(50 - num_all_nodes // 125, MIN_FEASIBLE_NODES_PERCENTAGE_TO_FIND)
    return max(num_all_nodes * percentage // 100, MIN_FEASIBLE_NODES_TO_FIND)


def keep_to_sample(outcome: FilterOutcome, snapshot: Snapshot, wanted: int, start: int) -> int:
    """Restrict a result to the nodes that kube-scheduler's search finds before it stops.

    The search goes round the nodes once, zone by zone in turn.

    Args:
        outcome: the result of Filter for all nodes; its sample is set.
        snapshot: the nodes.
        wanted: the number of feasible nodes that is enough.
        start: the index in the search order at which the search begins.

    Returns:
        The number of nodes evaluated; the next search begins after them.
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
    # The search is cancelled by the first feasible node beyond the wanted ones. Source: findNodesThatPassFilters
    evaluated = int(passing[wanted])
    outcome.sample = np.sort(turned[passing[:wanted]])
    outcome.evaluated = np.sort(turned[:evaluated])
    return evaluated


def evaluate_nominated_node(outcome: FilterOutcome, snapshot: Snapshot, nominated_node_name: str) -> bool:
    """Restrict a result to the pod's nominated node if the pod fits there; return whether it does."""
    row = snapshot.index.get(nominated_node_name, -1)
    if row < 0 or row not in outcome.feasible:
        return False
    outcome.sample = outcome.evaluated = np.array([row], np.int64)
    return True
