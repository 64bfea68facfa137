"""A learner's own cluster in a widget: the argument that names it, and the button that puts a pod on it.

A widget that computes still does so; with a cluster it also shows the cluster's result beside its prediction. The
button waits until the pod runs or is known to wait, on virtual and on real time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets as ipw

from kitlib.api.core import Pod
from kitlib.api.serialize import deepcopy
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.origin import Origin, origin_of
from kitlib.widgets._parts.base import KitWidget

AT_MOST = 30.0
"""Timeout of the button in seconds: a real node starts a pod in less than one, unless its machine is busy."""
_LOOK = 0.25


def live_cluster(given: object) -> Cluster | None:
    """Return the cluster that a widget was given; None for another value."""
    return given if isinstance(given, Cluster) else None


def free_name(cluster: Cluster, wanted: str, namespace: str = "default") -> str:
    """Return a name that no pod has: the wanted one, or that with a number."""
    taken = {pod.name for pod in cluster.pods() if pod.namespace == namespace}
    return next(name for name in (wanted, *(f"{wanted}-{n}" for n in range(2, len(taken) + 3))) if name not in taken)


def computed_of(cluster: Cluster) -> Origin:
    """Return the origin of decisions: computed from the objects of a cluster."""
    return Origin("computed", because=f"the objects are those of {origin_of(cluster).place}")


class OnCluster(ipw.VBox):
    """A button that puts a pod on a cluster, and the outcome.

    Args:
        widget: the widget that contains it.
        cluster: the target cluster of the pod.
        pod: returns the pod.
        predicted: called with the pod before it is applied; its result goes to `told`.
        told: returns HTML: the prediction beside the cluster's result, for the pod in its current state.

    Attributes:
        put: the button.
        result: the last outcome as HTML.
    """

    def __init__(
        self,
        widget: KitWidget,
        cluster: Cluster,
        pod: Callable[[], Pod],
        predicted: Callable[[Pod], Any],
        told: Callable[[Pod, Any], str],
    ) -> None:
        self._cluster, self._pod, self._predicted, self._told = cluster, pod, predicted, told
        self._mine: set[str] = set()
        self.put = widget.button(
            "Put it on the cluster", self._put, "apply the pod to your cluster now", "cloud-upload"
        )
        self.put.add_class("kitlib-main")
        self._result = ipw.HTML()
        for name in ("kitlib-table", "kitlib-outcome"):
            self._result.add_class(name)
        super().__init__([self.put, self._result])

    @property
    def result(self) -> str:
        """The last outcome as HTML."""
        return str(self._result.value)

    def _put(self) -> None:
        made = self._pod()
        key = f"{made.namespace or 'default'}/{made.name}"
        if key in self._mine:  # the widget's own pod of that name makes room for the next try
            self._remove(made)
        predicted = self._predicted(made)
        (applied,) = self._cluster.apply(deepcopy(made))
        self._mine.add(key)
        self._result.value = f'<div role="status">{self._told(self._settled(applied), predicted)}</div>'

    def _remove(self, pod: Pod) -> None:
        key, left = (pod.name, pod.namespace or "default"), AT_MOST
        if self._is_there(key):
            self._cluster.delete("Pod", *key, grace=0)
        while self._is_there(key) and left > 0:
            self._cluster.advance(_LOOK)
            left -= _LOOK

    def _is_there(self, key: tuple[str, str]) -> bool:
        return any((pod.name, pod.namespace) == key for pod in self._cluster.pods())

    def _settled(self, pod: Pod) -> Pod:
        """Return the pod once it runs, has ended, or is known to wait; after a timeout, in its current state."""
        left = AT_MOST
        while True:
            now: Pod = self._cluster.pod(pod.name, pod.namespace)
            if now.status.phase != "Pending" or why_waiting(now) or left <= 0:
                return now
            self._cluster.advance(_LOOK)
            left -= _LOOK


def why_waiting(pod: Pod) -> str:
    """Return why a pod has no node, from its condition; "" = it has one or has not been tried."""
    if pod.spec.node_name:
        return ""
    conditions = [c for c in pod.status.conditions if c.type == "PodScheduled" and c.status == "False"]
    return next((c.message or c.reason for c in conditions), "")
