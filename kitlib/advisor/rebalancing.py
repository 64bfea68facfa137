"""The descheduler and the cluster autoscaler's scale-down, carried out on a copy of a cluster.

`spread_evictions` and `removals` decide; the copy's API server answers the evictions, its controllers make the pods
again, and its scheduler places them, so budgets, quotas and all filters have their say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kitlib.api.core import Node, Pod
from kitlib.api.errors import KitError
from kitlib.api.policy import PodDisruptionBudget
from kitlib.study.descheduler import spread_evictions
from kitlib.study.scale_down import removals


def deschedule(copy: Any) -> list[str]:
    """Evict the pods that violate their spread constraints; return the refusals."""
    store, refused = copy.api.store, list[str]()
    for pod in spread_evictions(store.list(Node, copy=False), store.list(Pod, copy=False), release=copy.release):
        try:
            copy.evict(pod.name, pod.namespace)
        except KitError as error:
            refused.append(f"the descheduler does not evict {pod.key}: {error}")
    return refused


def scale_down(copy: Any, empty: Callable[[str], None]) -> list[str]:
    """Remove the nodes that the autoscaler removes; return its verdict on every node.

    Args:
        copy: the copy of the cluster.
        empty: evicts the pods of a node.
    """
    store = copy.api.store
    verdicts = removals(
        store.list(Node, copy=False),
        store.list(Pod, copy=False),
        budgets=store.list(PodDisruptionBudget, copy=False),
        release=copy.release,
    )
    for verdict in verdicts:
        if verdict.possible:
            empty(verdict.node)
            copy.delete("Node", verdict.node)
    return [str(one) for one in verdicts]
