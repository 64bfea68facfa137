"""What the scheduling loop makes of changes in the cluster: its cache and its queue follow them.

Every change becomes a cluster event; pods that it may help leave the pool of unschedulable pods.

Source: pkg/scheduler/eventhandlers.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kitlib.api.core import TERMINAL_PHASES, Node, Pod
from kitlib.api.devices import DeviceTaintRule
from kitlib.scheduler.framework.dra_manager import Known
from kitlib.scheduler.framework.events import (
    ASSIGNED_POD,
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    NODE_DELETE,
    UNSCHEDULED_POD_DELETE,
    ActionType,
    ClusterEvent,
    is_scaled_down,
    node_change_events,
    pod_change_events,
)
from kitlib.scheduler.queue.queued_pod_info import pod_key, pod_uid
from kitlib.scheduler.queue.scheduling_queue import SchedulingQueue
from kitlib.scheduler.scheduler import Scheduler

Trace = Callable[[str, str, str], None]
"""(reason, what it is about, message) -> a happening in the queue is told."""


class EventHandlers:
    """Follows a cluster's objects.

    Args:
        scheduler: whose cache follows.
        queue: whose pods move.
        trace: is told what happens in the queue.

    Attributes:
        pending: UID -> pod without a node, as last seen.
    """

    def __init__(self, scheduler: Scheduler, queue: SchedulingQueue, trace: Trace) -> None:
        self._scheduler, self._queue, self._trace = scheduler, queue, trace
        self.pending: dict[str, Pod] = {}

    # Pods.

    def add_pod(self, pod: Pod) -> None:
        """A pod has come, with a node or without."""
        if pod.status.phase in TERMINAL_PHASES:
            return
        if pod.spec.node_name:
            self.add_pod_to_cache(pod)
            self._follow_resize(pod, pod)
        elif self._scheduler.responsible_for(pod) and pod.metadata.deletion_timestamp is None:
            self.add_pod_to_scheduling_queue(pod)

    def update_pod(self, old: Pod, new: Pod) -> None:
        """A pod has changed: it may have been bound, ended, or told to end."""
        if new.status.phase in TERMINAL_PHASES:
            if old.status.phase not in TERMINAL_PHASES:
                self.delete_pod(old)
        elif old.spec.node_name:
            self.update_pod_in_cache(old, new)
            self._follow_resize(old, new)
        elif new.spec.node_name:
            self.pending.pop(pod_uid(old), None)
            self._queue.delete(old)
            self.add_pod_to_cache(new)
        elif pod_uid(new) in self.pending:
            self.update_pod_in_scheduling_queue(old, new)

    def delete_pod(self, pod: Pod) -> None:
        """A pod is gone."""
        if pod.spec.node_name:
            self.delete_pod_from_cache(pod)
            if self.pending.pop(pod_uid(pod), None) is not None:
                self._queue.delete(pod)
        elif pod_uid(pod) in self.pending:
            self.delete_pod_from_scheduling_queue(pod)

    def add_pod_to_cache(self, pod: Pod) -> None:
        self._scheduler.add_pod(pod)
        self.move_all(ASSIGNED_POD_ADD, None, pod)

    def update_pod_in_cache(self, old: Pod, new: Pod) -> None:
        self._scheduler.add_pod(new)
        if _is_pod_updated(old, new):
            for event in pod_change_events(new, old):
                self.move_all(event, old, new)
        elif _held(old) != _held(new) and is_scaled_down(new, old):
            self.move_all(ClusterEvent(ASSIGNED_POD, ActionType.UPDATE_POD_SCALE_DOWN), old, new)

    def _follow_resize(self, old: Pod, new: Pod) -> None:
        """A running pod waits in the queue as long as its resize is deferred. Source: KEP-5836."""
        scheduler, waits = self._scheduler, pod_uid(new) in self.pending
        if not waits and not scheduler.makes_room_for(new):
            return
        leaves = new.metadata.deletion_timestamp is not None or not scheduler.makes_room_for(new)
        if leaves and waits:
            del self.pending[pod_uid(new)]
            self._queue.delete(new)
        elif waits:
            self.update_pod_in_scheduling_queue(old, new)
        elif not leaves and scheduler.responsible_for(new):
            self.add_pod_to_scheduling_queue(new)

    def delete_pod_from_cache(self, pod: Pod) -> None:
        self._scheduler.remove_pod(pod)
        self.move_all(ASSIGNED_POD_DELETE, pod, None)

    def add_pod_to_scheduling_queue(self, pod: Pod) -> None:
        self.pending[pod_uid(pod)] = pod
        info = self._queue.add(pod)
        self._trace("Gated" if info.is_gated else "Added", info.key, info.message or "goes to activeQ")

    def update_pod_in_scheduling_queue(self, old: Pod, new: Pod) -> None:
        """A waiting pod has changed. One that is told to end is tried no more.

        A change of nothing but its status, which the loop itself writes, moves no pod.
        """
        self.pending[pod_uid(new)] = new
        if new.metadata.deletion_timestamp is not None and old.metadata.deletion_timestamp is None:
            self.delete_pod_from_scheduling_queue(new)
            return
        # assumed: the queue does not know it; it comes back as it is then
        if pod_uid(new) in self._scheduler.pods and not new.spec.node_name:
            return
        events = pod_change_events(new, old) if _is_pod_updated(old, new) else []
        self._queue.update(new, events, old)
        if events:
            self._trace("Updated", pod_key(new), ", ".join(event.label for event in events))

    def delete_pod_from_scheduling_queue(self, pod: Pod) -> None:
        """A waiting pod is gone, and the place that it held or was promised is free."""
        self.pending.pop(pod_uid(pod), None)
        self._queue.delete(pod)
        held = self._scheduler.bindings.drop(pod)
        if held is not None:
            self._queue.in_flight.done(pod_uid(pod))
            self.move_all(ASSIGNED_POD_DELETE, held, None)
        elif pod.status.nominated_node_name:
            self.move_all(ASSIGNED_POD_DELETE, pod, None)
        else:
            self.move_all(UNSCHEDULED_POD_DELETE, pod, None)

    # Nodes.

    def add_node(self, node: Node) -> None:
        """A node joins."""
        self._scheduler.update_node(node)
        self.move_all(NODE_ADD, None, node, node.name)

    def update_node(self, old: Node, new: Node) -> None:
        """A node has changed. The cache is made anew only if something has changed that a plugin looks at."""
        self._scheduler.update_node(new)
        for event in node_change_events(new, old):
            self.move_all(event, old, new, new.name)

    def delete_node(self, node: Node) -> None:
        """A node is gone."""
        self._scheduler.remove_node(node)
        self.move_all(NODE_DELETE, node, None, node.name)

    # Other objects.

    def put_device_object(self, obj: Known) -> None:
        """A claim, a device class, a slice of devices or a rule about them has come, or has changed."""
        old = self._scheduler.context.claims.put(obj)
        if isinstance(obj, DeviceTaintRule):
            self._slices_changed(obj)
        else:
            self.move_all(
                ClusterEvent(obj.kind, ActionType.ADD if old is None else ActionType.UPDATE), old, obj, obj.name
            )

    def _slices_changed(self, rule: DeviceTaintRule) -> None:
        """A rule changes the slices that it is about. Source: resourceslice/tracker, which the scheduler watches."""
        for one in self._scheduler.context.claims.slices.values():
            if rule.spec.device_selector is None or rule.spec.device_selector.driver in (None, one.spec.driver):
                self.move_all(ClusterEvent(one.kind, ActionType.UPDATE), one, one, one.name)

    def delete_device_object(self, obj: Known) -> None:
        """A claim, a device class, a slice of devices or a rule about them is gone."""
        self._scheduler.context.claims.drop(obj)
        if isinstance(obj, DeviceTaintRule):
            self._slices_changed(obj)
        else:
            self.move_all(ClusterEvent(obj.kind, ActionType.DELETE), obj, None, obj.name)

    def move_all(
        self, event: ClusterEvent, old: Any, new: Any, name: str = "", *, besides: str = "", sit_out: bool = False
    ) -> None:
        """Something has happened: the pods that it may help leave the pool.

        Args:
            name: of the object; "" = the pod's.
            besides: key of a pod that stays where it is.
            sit_out: pods that move wait for the end of their back-off in any case.
        """
        moved = self._queue.move_all(event, old, new, besides=besides)
        for info in moved if sit_out else ():
            info.sits_out = True
        if event.resource != ASSIGNED_POD or moved or event.action is ActionType.DELETE:
            brought = ", ".join(info.key for info in moved)
            about = name or pod_key(new if new is not None else old)
            self._trace(event.label, about, f"may help {brought}" if brought else "helps nobody who waits")


def _held(pod: Pod) -> list[tuple[object, object]]:
    """What the kubelet says that the containers hold: it changes while a pod is resized in place."""
    return [(one.allocated_resources, one.resources) for one in pod.status.container_statuses]


def _is_pod_updated(old: Pod, new: Pod) -> bool:
    """Whether more has changed than a status. Source: backend/queue isPodUpdated."""
    return (
        old.spec != new.spec
        or old.metadata.labels != new.metadata.labels
        or old.metadata.annotations != new.metadata.annotations
        or old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
        or old.status.resource_claim_statuses != new.status.resource_claim_statuses
    )
