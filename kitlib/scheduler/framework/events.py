"""Cluster events of the scheduling queue: a resource, and the set of actions on it.

A plugin registers the events that may make a pod schedulable that it rejected; each event that happens is matched
against these registrations.

Source: pkg/scheduler/framework types.go (ClusterEvent, ActionType, MatchClusterEvents) and events.go
(PodSchedulingPropertiesChange, NodeSchedulingPropertiesChange).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntFlag
from typing import Any, NamedTuple

from kitlib.api.core import Node, Pod
from kitlib.api.podresources import pod_requests


class ActionType(IntFlag):
    """The kind of change of an object; `UPDATE` is the union of all kinds of update."""

    ADD = 1
    DELETE = 2
    UPDATE_NODE_ALLOCATABLE = 4
    UPDATE_NODE_LABEL = 8
    UPDATE_NODE_TAINT = 16
    UPDATE_NODE_CONDITION = 32
    UPDATE_NODE_ANNOTATION = 64
    UPDATE_POD_LABEL = 128
    UPDATE_POD_SCALE_DOWN = 256
    UPDATE_POD_TOLERATION = 512
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 1024
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 2048
    UPDATE_NODE_DECLARED_FEATURE = 4096
    UPDATE_NODE_PREEMPTION_POLICY = 8192
    UPDATE = 16380
    ALL = 16383


WILDCARD = "*"
POD = "Pod"
ASSIGNED_POD = "AssignedPod"
UNSCHEDULED_POD = "UnschedulablePod"
NODE = "Node"
PVC = "PersistentVolumeClaim"
PV = "PersistentVolume"
STORAGE_CLASS = "storage.k8s.io/StorageClass"
CSI_NODE = "storage.k8s.io/CSINode"
CSI_DRIVER = "storage.k8s.io/CSIDriver"
CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
RESOURCE_CLAIM, RESOURCE_SLICE, DEVICE_CLASS = "ResourceClaim", "ResourceSlice", "DeviceClass"


class ClusterEvent(NamedTuple):
    """A resource and the kind of its change; `name` replaces the label of special events."""

    resource: str
    action: ActionType
    name: str = ""

    @property
    def label(self) -> str:
        """The name of the event in Kubernetes' logs and metrics: `NodeAdd`, `AssignedPodDelete`."""
        if self.name:
            return self.name
        resource = self.resource.rpartition("/")[2]
        # `UPDATE_NODE_LABEL` is `UpdateNodeLabel`; the name of several actions lists them
        word = (self.action.name or "").title().replace("_", "")
        return f"{resource}{word}"

    @property
    def is_wildcard(self) -> bool:
        return self.resource == WILDCARD and self.action == ActionType.ALL

    def covers(self, happened: ClusterEvent) -> bool:
        """Return whether a registration for this event matches an event that happened.

        A registration for pods matches assigned and unscheduled pods. A general update matches only a registration
        for every kind of update. Source: framework.MatchClusterEvents.
        """
        if self.is_wildcard:
            return True
        same = self.resource in (WILDCARD, happened.resource) or (
            self.resource == POD and happened.resource in (ASSIGNED_POD, UNSCHEDULED_POD)
        )
        # `<=` compares integers, as upstream does: it is not a subset test
        return same and bool(self.action & happened.action) and happened.action <= self.action


Hint = Callable[[Pod, Any, Any], bool]
"""A queueing hint: (pod, object before, object after) -> whether the event may have made the pod schedulable."""
Registered = tuple[ClusterEvent, Hint | None]
"""An event that a plugin registers, with its hint; None = every such event counts."""


ASSIGNED_POD_ADD = ClusterEvent(ASSIGNED_POD, ActionType.ADD)
ASSIGNED_POD_UPDATE = ClusterEvent(ASSIGNED_POD, ActionType.UPDATE)
ASSIGNED_POD_DELETE = ClusterEvent(ASSIGNED_POD, ActionType.DELETE)
UNSCHEDULED_POD_ADD = ClusterEvent(UNSCHEDULED_POD, ActionType.ADD)
UNSCHEDULED_POD_UPDATE = ClusterEvent(UNSCHEDULED_POD, ActionType.UPDATE)
UNSCHEDULED_POD_DELETE = ClusterEvent(UNSCHEDULED_POD, ActionType.DELETE)
NODE_ADD = ClusterEvent(NODE, ActionType.ADD)
NODE_DELETE = ClusterEvent(NODE, ActionType.DELETE)
UNSCHEDULABLE_TIMEOUT = ClusterEvent(WILDCARD, ActionType.ALL, "UnschedulableTimeout")
FORCE_ACTIVATE = ClusterEvent(WILDCARD, ActionType.ALL, "ForceActivate")


EVENTS_BY_LABEL = {
    event.label: event
    for event in (
        ASSIGNED_POD_ADD,
        ASSIGNED_POD_UPDATE,
        ASSIGNED_POD_DELETE,
        UNSCHEDULED_POD_ADD,
        UNSCHEDULED_POD_UPDATE,
        UNSCHEDULED_POD_DELETE,
        NODE_ADD,
        NODE_DELETE,
        UNSCHEDULABLE_TIMEOUT,
        FORCE_ACTIVATE,
        *(
            ClusterEvent(NODE, action)
            for action in (
                ActionType.UPDATE_NODE_ALLOCATABLE,
                ActionType.UPDATE_NODE_LABEL,
                ActionType.UPDATE_NODE_TAINT,
                ActionType.UPDATE_NODE_CONDITION,
                ActionType.UPDATE_NODE_ANNOTATION,
                ActionType.UPDATE_NODE_DECLARED_FEATURE,
                ActionType.UPDATE_NODE_PREEMPTION_POLICY,
            )
        ),
        *(
            ClusterEvent(resource, action)
            for resource in (
                *(PVC, PV, STORAGE_CLASS, CSI_NODE, CSI_DRIVER, CSI_STORAGE_CAPACITY, VOLUME_ATTACHMENT),
                *(RESOURCE_CLAIM, RESOURCE_SLICE, DEVICE_CLASS),
            )
            for action in (ActionType.ADD, ActionType.UPDATE, ActionType.DELETE)
        ),
    )
}


def pod_change_events(new: Pod, old: Pod) -> list[ClusterEvent]:
    """Return the scheduling-relevant events of a pod's update; a general `Update` if nothing relevant changed.

    Source: framework.PodSchedulingPropertiesChange.
    """
    resource = ASSIGNED_POD if new.spec.node_name else UNSCHEDULED_POD
    actions = []
    if new.metadata.labels != old.metadata.labels:
        actions.append(ActionType.UPDATE_POD_LABEL)
    if is_scaled_down(new, old):
        actions.append(ActionType.UPDATE_POD_SCALE_DOWN)
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        actions.append(ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
    if len(new.spec.tolerations) != len(old.spec.tolerations):
        actions.append(ActionType.UPDATE_POD_TOLERATION)
    if claim_statuses(new) != claim_statuses(old):
        actions.append(ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
    return [ClusterEvent(resource, action) for action in actions] or [ClusterEvent(resource, ActionType.UPDATE)]


def claim_statuses(pod: Pod) -> tuple[object, object]:
    """Return the part of the status about the pod's claims, those for extended resources included."""
    return pod.status.resource_claim_statuses, pod.status.extended_resource_claim_status


def is_scaled_down(new: Pod, old: Pod) -> bool:
    """Return whether any request became smaller or was removed; a resize counts once the kubelet has carried it out.

    Source: framework.extractPodScaleDown.
    """
    wanted = pod_requests(new, use_status=True)
    return any(
        name not in wanted or before.milli_value() > wanted[name].milli_value()
        for name, before in pod_requests(old, use_status=True).items()
    )


def node_change_events(new: Node, old: Node) -> list[ClusterEvent]:
    """Return the scheduling-relevant events of a node's update; [] = none.

    Source: framework.NodeSchedulingPropertiesChange.
    """
    actions = []
    if old.spec.unschedulable and not new.spec.unschedulable:
        actions.append(ActionType.UPDATE_NODE_TAINT)
    if new.status.allocatable != old.status.allocatable:
        actions.append(ActionType.UPDATE_NODE_ALLOCATABLE)
    if new.metadata.labels != old.metadata.labels:
        actions.append(ActionType.UPDATE_NODE_LABEL)
    if new.spec.taints != old.spec.taints:
        actions.append(ActionType.UPDATE_NODE_TAINT)
    if {c.type: c.status for c in new.status.conditions} != {c.type: c.status for c in old.status.conditions}:
        actions.append(ActionType.UPDATE_NODE_CONDITION)
    if new.metadata.annotations != old.metadata.annotations:
        actions.append(ActionType.UPDATE_NODE_ANNOTATION)
    if new.status.declared_features != old.status.declared_features:
        actions.append(ActionType.UPDATE_NODE_DECLARED_FEATURE)
    if new.spec.pod_preemption_policy != old.spec.pod_preemption_policy:
        actions.append(ActionType.UPDATE_NODE_PREEMPTION_POLICY)
    return [ClusterEvent(NODE, action) for action in actions]


EVERYTHING: tuple[Registered, ...] = ((ClusterEvent(WILDCARD, ActionType.ALL), None),)
"""The registrations of a plugin that does not declare any."""


def changes_of(*resources: str) -> list[Registered]:
    """Return registrations for additions and updates of some resources, without a hint."""
    return [(ClusterEvent(resource, ActionType.ADD | ActionType.UPDATE), None) for resource in resources]


def uid_of(pod: Pod) -> str:
    """Return the pod's UID, or its key if it has none."""
    return pod.metadata.uid or pod.key


def is_itself(pod: Pod, old: Any, new: Any) -> bool:
    """Return whether the changed object is the pod itself; usable as a hint."""
    return isinstance(new, Pod) and uid_of(new) == uid_of(pod)
