"""DaemonSets: one pod on every eligible node; the scheduler binds each pod to its node.

Imported by the table of controllers and by advisor. Face: `DaemonSetController`, `nodes.node_should_run`.

Source: pkg/controller/daemon/daemon_controller.go (syncDaemonSet, manage, podsShouldBeOnNode, syncNodes,
updateDaemonSetStatus).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from kitlib.api.apps import DaemonSet
from kitlib.api.core import Node, Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject, LabelSelector
from kitlib.apiserver.store.store import age
from kitlib.controllers import history
from kitlib.controllers.controller import Controller, Handler, Key, Retry
from kitlib.controllers.controller_ref_manager import claim_objects, enqueue_orphan, selector_of
from kitlib.controllers.daemon.nodes import Placement, new_pod, node_should_run, target_node
from kitlib.controllers.daemon.update import is_updated, max_surge, rolling_update
from kitlib.controllers.informers import Delta
from kitlib.controllers.pod_control import create_pod, delete_pod, slow_start_batch
from kitlib.controllers.pod_util import available_in, is_available, is_ready
from kitlib.controllers.workload_status import set_status

BURST_REPLICAS = 250
FAILED_PODS_BACKOFF = (1.0, 900.0)
"""The first and the longest delay, in seconds, before another failed pod of a node is replaced."""


class DaemonSetController(Controller):
    """The controller of DaemonSets."""

    name: ClassVar[str] = "daemonset-controller"
    account: ClassVar[str] = "daemon-set-controller"

    def __init__(self, manager: Any) -> None:
        super().__init__(manager)
        self._failed: dict[tuple[str, str], tuple[float, float]] = {}

    def handlers(self) -> Mapping[str, Handler]:
        return {"DaemonSet": self._on_set, "Pod": self._on_pod, "Node": self._on_node}

    def _on_set(self, change: Delta) -> None:
        if change.type != "DELETED":
            self.enqueue(change.new)

    def _on_pod(self, change: Delta) -> None:
        """Source: addPod, updatePod, deletePod."""
        self.enqueue_controllers(change, "DaemonSet")
        enqueue_orphan(self, change, "DaemonSet")

    def _on_node(self, change: Delta) -> None:
        """Queue all DaemonSets for a new, deleted, relabelled or newly tainted node. Source: addNode, updateNode."""
        old, new = change.old, change.new
        modified = change.type == "MODIFIED" and isinstance(old, Node) and isinstance(new, Node)
        if modified and _placement(old) == _placement(new):
            return
        for one in self.api.store.list(DaemonSet, copy=False):
            self.enqueue(one)

    def sync(self, key: Key) -> None:
        """Source: syncDaemonSet."""
        one: DaemonSet | None = self.find(DaemonSet, key)
        if one is None:
            return
        if one.spec.selector is None or one.spec.selector == LabelSelector():
            message = "This daemon set is selecting all pods. A non-empty selector is required."
            self.event(one, "Warning", "SelectingAll", message)
            return
        if one.metadata.deletion_timestamp is not None:
            return
        placements = node_should_run(one, self.api.store.list(Node, copy=False), self.api.release)
        current = history.sync_revision(self, one, history.revisions_of(self, one))
        revision_hash = current.metadata.labels.get(history.REVISION_LABEL, current.name)
        failure: KitError | None = None
        try:
            self._manage(one, placements, revision_hash)
            if one.spec.update_strategy.type != "OnDelete":
                desired = sum(placement.should_run for placement in placements.values())
                by_node = self._pods_by_node(one)
                delete, surge = rolling_update(one, by_node, desired, revision_hash, self.now())
                self._sync_nodes(one, delete, surge, revision_hash)
        except KitError as error:
            failure = error
        one = self.find(DaemonSet, key)
        if one is None:
            return
        by_node = self._pods_by_node(one)
        self._write_status(key, one, placements, by_node, revision_hash)
        # A revision with pods is needed to tell updated pods from others, whatever the history limit.
        live = {f"{one.name}-{pod.metadata.labels.get(history.REVISION_LABEL)}" for p in by_node.values() for pod in p}
        revisions = history.revisions_of(self, one)
        history.truncate(self, revisions, {*live, current.name}, one.spec.revision_history_limit)
        if failure is not None:
            raise Retry(str(failure))

    def _pods_by_node(self, daemon_set: DaemonSet) -> dict[str, list[Pod]]:
        """Source: getNodesToDaemonPods."""
        candidates = self.informers.owned_or_orphaned(daemon_set, "Pod")
        found: dict[str, list[Pod]] = {}
        for pod in claim_objects(self, daemon_set, candidates, selector_of(daemon_set)):
            found.setdefault(target_node(pod), []).append(pod)
        return found

    def _manage(self, daemon_set: DaemonSet, placements: Mapping[str, Placement], revision_hash: str) -> None:
        """Source: manage."""
        by_node = self._pods_by_node(daemon_set)
        missing: list[str] = []
        delete: list[Pod] = []
        for node, placement in placements.items():
            needs, surplus = self._pods_should_be_on_node(daemon_set, node, placement, by_node.get(node), revision_hash)
            missing += [node] if needs else []
            delete += surplus
        for node, pods in by_node.items():  # unbound pods for nodes that do not exist
            if node not in placements:
                delete += [pod for pod in pods if not pod.spec.node_name and pod.metadata.deletion_timestamp is None]
        self._sync_nodes(daemon_set, delete, missing, revision_hash)

    def _pods_should_be_on_node(
        self, daemon_set: DaemonSet, node: str, placement: Placement, pods: Sequence[Pod] | None, revision_hash: str
    ) -> tuple[bool, list[Pod]]:
        """Return whether the node needs a pod, and the pods to delete. Source: podsShouldBeOnNode."""
        if pods is None:
            return placement.should_run, []
        staying = [pod for pod in pods if pod.metadata.deletion_timestamp is None]
        if not placement.should_continue:
            return False, staying
        delete: list[Pod] = []
        running: list[Pod] = []
        for pod in staying:
            if pod.status.phase == "Failed":
                # The kubelet may reject every pod (an admission failure); without a back-off the two would loop.
                if self._in_backoff(daemon_set, node):
                    continue
                message = f"Found failed daemon pod {pod.key} on node {node}, will try to kill it"
                self.event(daemon_set, "Warning", "FailedDaemonPod", message)
                delete.append(pod)
            elif pod.status.phase == "Succeeded":
                message = f"Found succeeded daemon pod {pod.key} on node {node}, will try to delete it"
                self.event(daemon_set, "Normal", "SucceededDaemonPod", message)
                delete.append(pod)
            else:
                running.append(pod)
        running.sort(key=_oldest_bound_first)
        # Without a surge no pod is created while the node has one, even a terminating one.
        if not max_surge(daemon_set, 1):
            return False, delete + running[1:]
        if len(running) <= 1:
            return not running and placement.should_run, delete
        return False, delete + self._surplus_of_surge(daemon_set, running, revision_hash)

    def _surplus_of_surge(self, daemon_set: DaemonSet, running: Sequence[Pod], revision_hash: str) -> list[Pod]:
        """Return the pods to delete with a surge: an old and a new pod may coexist until the new one is available."""
        new_pods = [pod for pod in running if is_updated(pod, revision_hash)]
        old_pods = [pod for pod in running if not is_updated(pod, revision_hash)]
        surplus = new_pods[1:] + old_pods[1:]
        min_ready = daemon_set.spec.min_ready_seconds
        # The old pod remains only while it is ready and the new one is not available. Source: podsShouldBeOnNode.
        if new_pods and old_pods and (not is_ready(old_pods[0]) or is_available(new_pods[0], min_ready, self.now())):
            surplus.append(old_pods[0])
        return surplus

    def _in_backoff(self, daemon_set: DaemonSet, node: str) -> bool:
        """Return whether the node's last failed pod was deleted too recently; then sync again after the back-off."""
        key, now = (daemon_set.metadata.uid, node), self.steady_now().timestamp()
        last, delay = self._failed.get(key, (-1e18, 0.0))
        if delay and now - last > 2 * FAILED_PODS_BACKOFF[1]:
            delay = 0.0
        if now - last < delay:
            self.queue.add_after((daemon_set.namespace, daemon_set.name), delay - (now - last))
            return True
        self._failed[key] = now, min(max(2 * delay, FAILED_PODS_BACKOFF[0]), FAILED_PODS_BACKOFF[1])
        return False

    def _sync_nodes(
        self, daemon_set: DaemonSet, delete: Sequence[Pod], create: Sequence[str], revision_hash: str
    ) -> None:
        """Source: syncNodes."""
        failure: KitError | None = None
        create = create[:BURST_REPLICAS]

        def create_on(i: int) -> None:
            create_pod(self, new_pod(daemon_set, create[i], revision_hash), daemon_set)

        try:
            slow_start_batch(len(create), create_on)
        except KitError as error:
            failure = error
        for pod in delete[:BURST_REPLICAS]:
            delete_pod(self, pod, daemon_set)
        if failure is not None:
            raise failure

    def _write_status(
        self,
        key: Key,
        daemon_set: DaemonSet,
        placements: Mapping[str, Placement],
        by_node: Mapping[str, Sequence[Pod]],
        revision_hash: str,
    ) -> None:
        """Source: updateDaemonSetStatus."""
        counts = dict.fromkeys(("desired", "current", "misscheduled", "ready", "available", "updated"), 0)
        waits: list[float] = []
        for node, placement in placements.items():
            pods = by_node.get(node)
            if not placement.should_run:
                counts["misscheduled"] += bool(pods)
                continue
            counts["desired"] += 1
            if not pods:
                continue
            counts["current"] += 1
            pod = min(pods, key=_oldest_bound_first)
            wait = available_in(pod, daemon_set.spec.min_ready_seconds, self.now())
            counts["ready"] += wait is not None
            counts["available"] += wait == 0
            counts["updated"] += is_updated(pod, revision_hash)
            waits += [wait] if wait else []
        status = {
            "observedGeneration": daemon_set.metadata.generation,
            "desiredNumberScheduled": counts["desired"],
            "currentNumberScheduled": counts["current"],
            "numberMisscheduled": counts["misscheduled"],
            "numberReady": counts["ready"],
            "updatedNumberScheduled": counts["updated"],
            "numberAvailable": counts["available"],
            "numberUnavailable": counts["desired"] - counts["available"],
        }
        set_status(self.api, daemon_set, status)
        if waits:
            self.queue.add_after(key, min(waits))


def _oldest_bound_first(pod: Pod) -> tuple[bool, int]:
    """Source: podByCreationTimestampAndPhase."""
    return not pod.spec.node_name, age(pod)


def _placement(node: KubeObject | None) -> tuple[object, ...]:
    """Return the parts of a node that determine whether a DaemonSet has a pod there."""
    return (node.metadata.labels, node.spec) if isinstance(node, Node) else ()
