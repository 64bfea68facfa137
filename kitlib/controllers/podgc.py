"""Pod garbage collection: it deletes pods of deleted nodes and terminating pods without a node.

It also deletes terminating pods of a node that is not ready and has the taint `node.kubernetes.io/out-of-service`. An
unfinished pod becomes Failed before its deletion.

At most 12,500 terminated pods are kept (`--terminated-pod-gc-threshold`), checked every 20 s; evicted pods are deleted
first, then the oldest.

A missing node has 40 s to appear. Kubernetes checks every 20 s, so that it may take longer there.

Source: pkg/controller/podgc/gc_controller.go (gcTerminated, gcOrphaned, gcTerminating, gcUnscheduledTerminating,
markFailedAndDeletePodWithCondition).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.core import TERMINAL_PHASES, Node, Pod
from kitlib.api.meta import is_condition_true
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.store.store import age
from kitlib.controllers.controller import Controller, Handler, Key, key_of
from kitlib.controllers.informers import Delta

QUARANTINE = 40.0
"""The seconds in which a missing node may still appear. Source: gc_controller.go quarantineTime."""
CHECK_PERIOD = 20.0
"""The interval in seconds between checks of terminated pods. Source: gc_controller.go gcCheckPeriod."""
TERMINATED_POD_THRESHOLD = 12_500
"""Source: podgc config DefaultTerminatedPodGCThreshold."""
_TERMINATED: Key = ("", "")
"""The key of the check of terminated pods."""
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


class PodGCController(Controller):
    """The garbage collector of pods."""

    name: ClassVar[str] = "pod-garbage-collector-controller"
    account: ClassVar[str] = "pod-garbage-collector"

    def handlers(self) -> Mapping[str, Handler]:
        return {"Node": self._on_node, "Pod": self._on_pod}

    def _on_node(self, change: Delta) -> None:
        node = change.new
        if change.type == "DELETED":
            for pod in self.informers.pods_on(node.name):
                self.queue.add_after(key_of(pod), QUARANTINE)
        elif isinstance(node, Node) and _is_out_of_service(node):
            for pod in self.informers.pods_on(node.name):
                self.enqueue(pod)

    def _on_pod(self, change: Delta) -> None:
        pod = change.new
        if change.type == "DELETED" or not isinstance(pod, Pod):
            return
        if len(self.informers.finished) > TERMINATED_POD_THRESHOLD:
            seconds = self.now().timestamp()
            # at full periods, as upstream's loop, and not once per pod
            self.queue.add_after(_TERMINATED, CHECK_PERIOD - seconds % CHECK_PERIOD)
        old = change.old
        bound = pod.spec.node_name and (not isinstance(old, Pod) or old.spec.node_name != pod.spec.node_name)
        if bound and self._node_of(pod) is None:
            self.queue.add_after(key_of(pod), QUARANTINE)
        elif pod.metadata.deletion_timestamp is not None:
            node = self._node_of(pod)
            if not pod.spec.node_name or (node is not None and _is_out_of_service(node)):
                self.enqueue(pod)

    def _node_of(self, pod: Pod) -> Node | None:
        return self.api.store.find(Node, pod.spec.node_name, copy=False) if pod.spec.node_name else None

    def sync(self, key: Key) -> None:
        """Source: gcOrphaned, gcTerminating, gcUnscheduledTerminating."""
        if key == _TERMINATED:
            self._collect_terminated()
            return
        pod: Pod | None = self.find(Pod, key)
        if pod is None:
            return
        node = self._node_of(pod)
        orphaned = bool(pod.spec.node_name) and node is None
        terminating = pod.metadata.deletion_timestamp is not None
        if orphaned or (terminating and (node is None or _is_out_of_service(node))):
            self._fail(pod, orphaned)
            self.api.delete(Pod, pod.name, pod.namespace)

    def _collect_terminated(self) -> None:
        """Source: gcTerminated, byEvictionAndCreationTimestamp."""
        ended = self.informers.finished.values()
        surplus = len(ended) - TERMINATED_POD_THRESHOLD
        if surplus > 0:
            for pod in sorted(ended, key=lambda one: (one.status.reason != "Evicted", age(one)))[:surplus]:
                self.api.delete(Pod, pod.name, pod.namespace, grace=0)

    def _fail(self, pod: Pod, orphaned: bool) -> None:
        """Set a pod's phase to Failed, as no kubelet will do it. Source: markFailedAndDeletePodWithCondition."""
        if pod.status.phase not in TERMINAL_PHASES:
            failed = deepcopy(pod)
            failed.status.phase = "Failed"
            if orphaned:
                from kitlib.controllers.tainteviction import put_disruption_target

                put_disruption_target(failed, "DeletionByPodGC", "PodGC: node no longer exists", self.now())
            self.api.update_status(failed)


def _is_out_of_service(node: Node) -> bool:
    """Return whether a node that is not ready has an administrator's out-of-service taint. Source: gcTerminating."""
    ready = is_condition_true(node.status.conditions, "Ready")
    return not ready and any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints)
