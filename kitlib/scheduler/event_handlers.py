"""Event handlers of the scheduling loop: its cache and its queue follow the cluster's objects.

Every change becomes a cluster event; pods that it may help leave the pool of unschedulable pods.

Source: pkg/scheduler/eventhandlers.go.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any

from kitlib.api.core import TERMINAL_PHASES, Node, Pod
from kitlib.scheduler.framework.events import (
    ASSIGNED_POD,
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    NODE_DELETE,
    ActionType,
    ClusterEvent,
    claim_statuses,
    is_scaled_down,
    node_change_events,
    pod_change_events,
)
from kitlib.scheduler.queue.queued_pod_info import pod_key, pod_uid
from kitlib.scheduler.queue.scheduling_queue import SchedulingQueue
from kitlib.scheduler.scheduler import Scheduler

if TYPE_CHECKING:  # loaded with the first of these objects
    from kitlib.api.devices import DeviceTaintRule
    from kitlib.scheduler.framework.dra_manager import Known

Trace = Callable[[str, str, str], None]
"""A function (reason, name of the object, message) that records an event of the queue."""


class EventHandlers:
    """Handlers that update one scheduler's cache and queue.

    Args:
        scheduler: the scheduler with the cache.
        queue: the queue of its pending pods.
        trace: the function that records the queue's events.

    Attributes:
        pending: UID -> pod in the queue or in a cycle, as last seen; running pods with a deferred resize included.
    """

    def __init__(self, scheduler: Scheduler, queue: SchedulingQueue, trace: Trace) -> None:
        self._scheduler, self._queue, self._trace = scheduler, queue, trace
        self.pending: dict[str, Pod] = {}

    # Pods.

    def add_pod(self, pod: Pod) -> None:
        """Add a new pod to the cache if it has a node, else to the queue."""
        if pod.status.phase in TERMINAL_PHASES:
            return
        if pod.spec.node_name:
            self.add_pod_to_cache(pod)
            self._follow_resize(pod, pod)
        elif self._scheduler.responsible_for(pod) and pod.metadata.deletion_timestamp is None:
            self.add_pod_to_scheduling_queue(pod)

    def update_pod(self, old: Pod, new: Pod) -> None:
        """Follow a pod's update: a pod that has ended is removed, a pod that was bound moves to the cache."""
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
        """Remove a deleted pod from the cache or the queue."""
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
        """Keep a running pod in the queue as long as its resize is deferred. Source: KEP-5836."""
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
        """Update a waiting pod; remove it from the queue if its deletion has begun."""
        self.pending[pod_uid(new)] = new
        if new.metadata.deletion_timestamp is not None and old.metadata.deletion_timestamp is None:
            self.delete_pod_from_scheduling_queue(new)
            return
        # an assumed pod is not in the queue; if its binding fails, it returns in the version of `pending`
        if pod_uid(new) in self._scheduler.pods and not new.spec.node_name:
            return
        events = pod_change_events(new, old) if _is_pod_updated(old, new) else []
        self._queue.update(new, events, old)
        if events:
            self._trace("Updated", pod_key(new), ", ".join(event.label for event in events))
        if old.status.nominated_node_name not in ("", new.status.nominated_node_name):
            self._nomination_ends(old, sit_out=True)  # the pod itself too, but not again and again at one moment

    def delete_pod_from_scheduling_queue(self, pod: Pod) -> None:
        """Remove a waiting pod, and free the node that it was assumed on or nominated to."""
        self.pending.pop(pod_uid(pod), None)
        self._queue.delete(pod)
        held = self._scheduler.bindings.drop(pod)
        if held is not None:
            self._queue.in_flight.done(pod_uid(pod))
            self.move_all(ASSIGNED_POD_DELETE, held, None)
        elif pod.status.nominated_node_name:
            self._nomination_ends(pod)

    def _nomination_ends(self, pod: Pod, sit_out: bool = False) -> None:
        """Report a nomination as a deleted pod: the others counted it so. Source: getLEPriorityPreCheck."""
        higher = {one.key for one in self._queue.unschedulable() if one.priority > (pod.spec.priority or 0)}
        self.move_all(ASSIGNED_POD_DELETE, pod, None, besides=higher, sit_out=sit_out)

    # Nodes.

    def add_node(self, node: Node) -> None:
        self._scheduler.update_node(node)
        self.move_all(NODE_ADD, None, node, node.name)

    def update_node(self, old: Node, new: Node) -> None:
        """Update a node; the cache is rebuilt only if a field changed that a plugin reads."""
        self._scheduler.update_node(new)
        for event in node_change_events(new, old):
            self.move_all(event, old, new, new.name)

    def delete_node(self, node: Node) -> None:
        self._scheduler.remove_node(node)
        self.move_all(NODE_DELETE, node, None, node.name)

    # Other objects.

    def put_device_object(self, obj: Known) -> None:
        """Add or replace a claim, a device class, a resource slice or a device taint rule."""
        from kitlib.api.devices import DeviceTaintRule

        old = self._scheduler.context.claims.put(obj)
        if isinstance(obj, DeviceTaintRule):
            self._slices_changed(obj)
        else:
            self.move_all(
                ClusterEvent(obj.kind, ActionType.ADD if old is None else ActionType.UPDATE), old, obj, obj.name
            )

    def _slices_changed(self, rule: DeviceTaintRule) -> None:
        """Report a rule's slices as updated. Source: resourceslice/tracker, which the scheduler watches."""
        for slice_ in self._scheduler.context.claims.slices.values():
            if rule.spec.device_selector is None or rule.spec.device_selector.driver in (None, slice_.spec.driver):
                self.move_all(ClusterEvent(slice_.kind, ActionType.UPDATE), slice_, slice_, slice_.name)

    def delete_device_object(self, obj: Known) -> None:
        """Remove a claim, a device class, a resource slice or a device taint rule."""
        from kitlib.api.devices import DeviceTaintRule

        self._scheduler.context.claims.drop(obj)
        if isinstance(obj, DeviceTaintRule):
            self._slices_changed(obj)
        else:
            self.move_all(ClusterEvent(obj.kind, ActionType.DELETE), obj, None, obj.name)

    def move_all(
        self,
        event: ClusterEvent,
        old: Any,
        new: Any,
        name: str = "",
        *,
        besides: Container[str] = (),
        sit_out: bool = False,
    ) -> None:
        """Move the pods that an event may help out of the unschedulable pool.

        Args:
            event: the event.
            old: the object before; None = it was created.
            new: the object after; None = it was deleted.
            name: the object's name for the trace; "" = that of the pod.
            besides: the keys of pods that stay where they are.
            sit_out: whether pods that move wait until their back-off is over, even if activeQ is empty.
        """
        moved = self._queue.move_all(event, old, new, besides=besides)
        for info in moved if sit_out else ():
            info.sits_out = True
        if event.resource != ASSIGNED_POD or moved or event.action is ActionType.DELETE:
            brought = ", ".join(info.key for info in moved)
            about = name or pod_key(new if new is not None else old)
            self._trace(event.label, about, f"may help {brought}" if brought else "helps nobody who waits")


def _held(pod: Pod) -> list[tuple[object, object]]:
    """Return the resources that the kubelet reports for the containers; they change during an in-place resize."""
    return [(status.allocated_resources, status.resources) for status in pod.status.container_statuses]


def _is_pod_updated(old: Pod, new: Pod) -> bool:
    """Return whether more than the status has changed. Source: backend/queue isPodUpdated."""
    return (
        old.spec != new.spec
        or old.metadata.labels != new.metadata.labels
        or old.metadata.annotations != new.metadata.annotations
        or old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
        or old.metadata.owner_references != new.metadata.owner_references
        or claim_statuses(old) != claim_statuses(new)
    )
