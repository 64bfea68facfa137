"""Taint eviction: a NoExecute taint deletes the node's pods, at once or after their tolerationSeconds.

Source: pkg/controller/tainteviction/taint_eviction.go (processPodOnNode, handleNodeUpdate, getMinTolerationTime,
addConditionAndDeletePod), timed_workers.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import ClassVar

from kitlib.api.clock import duration
from kitlib.api.core import Node, Pod, Taint, Toleration
from kitlib.api.meta import Condition
from kitlib.api.release import Release
from kitlib.api.selectors import tolerates
from kitlib.api.serialize import deepcopy
from kitlib.controllers.controller import Controller, Handler, Key
from kitlib.controllers.informers import Delta


class TaintEvictionController(Controller):
    """The controller of pods on nodes with NoExecute taints; keys are ("Node", name) and ("Pod", namespace, name)."""

    name: ClassVar[str] = "taint-eviction-controller"
    account: ClassVar[str] = "node-controller"

    def __init__(self, manager: object) -> None:
        super().__init__(manager)  # type: ignore[arg-type]
        self._scheduled: dict[str, tuple[datetime, datetime]] = {}

    def handlers(self) -> Mapping[str, Handler]:
        return {"Node": self._on_node, "Pod": self._on_pod}

    def _on_node(self, change: Delta) -> None:
        old, new = change.old, change.new
        before = no_execute(old) if isinstance(old, Node) else []
        after = no_execute(new) if isinstance(new, Node) and change.type != "DELETED" else []
        if before != after:
            self.queue.add(("Node", new.name))

    def _on_pod(self, change: Delta) -> None:
        old, new = change.old, change.new
        if not isinstance(new, Pod):
            return
        if change.type == "DELETED":
            self._scheduled.pop(new.metadata.uid, None)
            return
        bound = not isinstance(old, Pod) or old.spec.node_name != new.spec.node_name
        if new.spec.node_name and (bound or old.spec.tolerations != new.spec.tolerations):  # type: ignore[union-attr]
            node = self.api.store.find(Node, new.spec.node_name, copy=False)
            if new.metadata.uid in self._scheduled or (node is not None and no_execute(node)):
                self.queue.add(("Pod", new.namespace, new.name))

    def sync(self, key: Key) -> None:
        if key[0] == "Node":
            node = self.api.store.find(Node, key[1], copy=False)
            taints = no_execute(node) if node is not None else []
            for pod in self.informers.pods_on(key[1]):
                self._process(pod, taints)
            return
        pod = self.find(Pod, key)
        if pod is not None:
            node = self.api.store.find(Node, pod.spec.node_name, copy=False)
            self._process(pod, no_execute(node) if node is not None else [])

    def _process(self, pod: Pod, taints: Sequence[Taint]) -> None:
        """Source: processPodOnNode."""
        uid = pod.metadata.uid
        if not taints:
            self._cancel(pod)
            return
        used = matching_tolerations(taints, pod.spec.tolerations, self.api.release)
        if used is None:
            self._scheduled.pop(uid, None)
            self._evict(pod)
            return
        seconds = min_toleration_time(used)
        if seconds is None:
            self._cancel(pod)
            return
        now = self.steady_now()
        # A further taint may only bring the eviction forward: the time counts from the first taint, and a longer
        # toleration does not extend a scheduled eviction. Source: processPodOnNode.
        start, fire = self._scheduled.get(uid, (now, now))
        if uid in self._scheduled and (fire - start).total_seconds() <= seconds:
            if now >= fire:
                self._scheduled.pop(uid)
                self._evict(pod)
            else:
                self.queue.add_after(("Pod", pod.namespace, pod.name), (fire - now).total_seconds())
            return
        fire = start + timedelta(seconds=seconds)
        if fire <= now:
            self._scheduled.pop(uid, None)
            self._evict(pod)
            return
        self._scheduled[uid] = start, fire
        self.queue.add_after(("Pod", pod.namespace, pod.name), (fire - now).total_seconds())

    def _cancel(self, pod: Pod) -> None:
        """Source: cancelWorkWithEvent."""
        if self._scheduled.pop(pod.metadata.uid, None) is not None:
            self.event(pod, "Normal", "TaintManagerEviction", f"Cancelling deletion of Pod {pod.key}")

    def _evict(self, pod: Pod) -> None:
        """Source: deletePodHandler, addConditionAndDeletePod."""
        self.event(pod, "Normal", "TaintManagerEviction", f"Marking for deletion Pod {pod.key}")
        message = "Taint manager: deleting due to NoExecute taint"
        mark_disruption_target(self, pod, "DeletionByTaintManager", message)
        if pod.metadata.deletion_timestamp is None:
            self.api.delete(Pod, pod.name, pod.namespace, grace=None)


def mark_disruption_target(controller: Controller, pod: Pod, reason: str, message: str) -> None:
    """Write the reason for a pod's imminent deletion into its condition DisruptionTarget."""
    changed = deepcopy(pod)
    put_disruption_target(changed, reason, message, controller.now())
    controller.api.update_status(changed)


def put_disruption_target(pod: Pod, reason: str, message: str, now: datetime) -> None:
    """Set the condition DisruptionTarget, in place."""
    target = Condition(
        type="DisruptionTarget",
        status="True",
        reason=reason,
        message=message,
        observed_generation=pod.metadata.generation,
        last_transition_time=now,
    )
    pod.status.conditions = [
        *(condition for condition in pod.status.conditions if condition.type != "DisruptionTarget"),
        target,
    ]


def no_execute(node: Node) -> list[Taint]:
    """Return the node's NoExecute taints. Source: getNoExecuteTaints."""
    return [taint for taint in node.spec.taints if taint.effect == "NoExecute"]


def matching_tolerations(
    taints: Sequence[Taint], tolerations: Sequence[Toleration], release: Release
) -> list[Toleration] | None:
    """Return the first toleration of every taint; None if a taint is not tolerated.

    Source: v1helper.GetMatchingTolerations.
    """
    found = []
    for taint in taints:
        match = next((toleration for toleration in tolerations if tolerates(toleration, taint, release)), None)
        if match is None:
            return None
        found.append(match)
    return found


def min_toleration_time(tolerations: Sequence[Toleration]) -> float | None:
    """Return the shortest tolerationSeconds, at least 0; None = forever: no toleration has any, or it wraps below 0.

    Source: getMinTolerationTime; processPodOnNode (a negative time cancels a scheduled eviction).
    """
    limits = [
        max(0, toleration.toleration_seconds) for toleration in tolerations if toleration.toleration_seconds is not None
    ]
    if not limits:
        return None
    seconds = duration(min(limits)).total_seconds()
    return seconds if seconds >= 0 else None
