"""Pod garbage collection: pods of nodes that are gone are deleted; so are terminating pods without a node.

The kit deletes the pods of a deleted node at once; upstream waits for 40 s to be sure that the node is gone. A pod that
names a node which was never there has these 40 s here too, or its controller would make the next one without end.

Source: pkg/controller/podgc/gc_controller.go (gcOrphaned, gcUnscheduledTerminating).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.core import TERMINAL_PHASES, Node, Pod
from kitlib.cluster.controllers.controller import Controller, Handler, Key, key_of
from kitlib.cluster.controllers.informers import Change
from kitlib.cluster.controllers.tainteviction import mark_disruption_target

QUARANTINE = 40.0
"""Seconds that a missing node may still come. Source: gc_controller.go quarantineTime."""


class PodGCController(Controller):
    """For pods without a node."""

    name: ClassVar[str] = "pod-garbage-collector-controller"

    def handlers(self) -> Mapping[str, Handler]:
        return {"Node": self._on_node, "Pod": self._on_pod}

    def _on_node(self, change: Change) -> None:
        if change.type == "DELETED":
            for pod in self.informers.pods_on(change.new.name):
                self.enqueue(pod)

    def _on_pod(self, change: Change) -> None:
        pod = change.new
        if change.type == "DELETED" or not isinstance(pod, Pod):
            return
        old = change.old
        bound = pod.spec.node_name and (not isinstance(old, Pod) or old.spec.node_name != pod.spec.node_name)
        orphaned = bound and self.api.store.find(Node, pod.spec.node_name, copy=False) is None
        if orphaned:
            self.queue.add_after(key_of(pod), QUARANTINE)
        elif not pod.spec.node_name and pod.metadata.deletion_timestamp is not None:
            self.enqueue(pod)

    def sync(self, key: Key) -> None:
        """Source: gcOrphaned, gcUnscheduledTerminating."""
        pod: Pod | None = self.find(Pod, key)
        if pod is None:
            return
        if not pod.spec.node_name:
            if pod.metadata.deletion_timestamp is not None:
                self.api.delete(Pod, pod.name, pod.namespace)
            return
        if self.api.store.find(Node, pod.spec.node_name, copy=False) is not None:
            return
        if pod.status.phase not in TERMINAL_PHASES:
            mark_disruption_target(self, pod, "DeletionByPodGC", "PodGC: node no longer exists")
        self.api.delete(Pod, pod.name, pod.namespace)
