"""The pressure conditions of a node, and the events of a starting kubelet, with the kubelet's messages.

Source: kubelet nodestatus.MemoryPressureCondition, DiskPressureCondition, PIDPressureCondition, ReadyCondition;
Kubelet.BirthCry, recordNodeStatusEvent; cm.containerManagerImpl.enforceNodeAllocatableCgroups.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from kitlib.api.meta import Condition
from kitlib.kubelet.cm.cgroup_tree import Version
from kitlib.kubelet.config.settings import KubeletSettings

PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")
_WORDS = {
    "MemoryPressure": {
        True: (
            "KubeletHasInsufficientMemory",
            "kubelet has insufficient memory available",
            "NodeHasInsufficientMemory",
        ),
        False: ("KubeletHasSufficientMemory", "kubelet has sufficient memory available", "NodeHasSufficientMemory"),
    },
    "DiskPressure": {
        True: ("KubeletHasDiskPressure", "kubelet has disk pressure", "NodeHasDiskPressure"),
        False: ("KubeletHasNoDiskPressure", "kubelet has no disk pressure", "NodeHasNoDiskPressure"),
    },
    "PIDPressure": {
        True: ("KubeletHasInsufficientPID", "kubelet has insufficient PID available", "NodeHasInsufficientPID"),
        False: ("KubeletHasSufficientPID", "kubelet has sufficient PID available", "NodeHasSufficientPID"),
    },
}
"""Condition -> its status -> its reason, its message, the reason of the event."""


def pressure_condition(kind: str, holds: bool, now: datetime) -> Condition:
    """Return the condition of one of the `PRESSURES`, with `now` as its transition time."""
    reason, message, _ = _WORDS[kind][holds]
    value = "True" if holds else "False"
    return _dated(Condition(type=kind, status=value, reason=reason, message=message), now)


def event_reason(kind: str, holds: bool) -> str:
    """Return the reason of the condition's event, such as `NodeHasDiskPressure`."""
    return _WORDS[kind][holds][2]


def first_conditions(now: datetime) -> list[Condition]:
    """Return the conditions of a node at its start: no pressure, and ready."""
    return [*(pressure_condition(kind, False, now) for kind in PRESSURES), ready_condition(now)]


def ready_condition(now: datetime, *, shutting_down: bool = False) -> Condition:
    """Return the condition Ready of a node with a running kubelet, with `now` as its transition time."""
    status, reason, message = "True", "KubeletReady", "kubelet is posting ready status"
    if shutting_down:
        status, reason, message = "False", "KubeletNotReady", "node is shutting down"
    return _dated(Condition(type="Ready", status=status, reason=reason, message=message), now)


class NodeEvent(NamedTuple):
    """An event about a node.

    Attributes:
        reason, message: the kubelet's reason and message.
        source: the function of the kubelet that records it.
        kind: the type, Normal or Warning.
    """

    reason: str
    message: str
    source: str
    kind: str = "Normal"


CGROUP_V1 = NodeEvent(
    "CgroupV1",
    "cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to "
    "cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1",
    "app.RunKubelet",
    "Warning",
)
"""The kubelet's warning on a machine with cgroup v1."""


def first_events(name: str, settings: KubeletSettings, version: Version = 2, boot: str = "") -> list[NodeEvent]:
    """Return the events about the node at the kubelet's start, in order; the last one is NodeReady.

    Args:
        name: the node's name.
        settings: the kubelet's settings.
        version: cgroup version of the node, 1 or 2.
        boot: the ID of the machine's boot if it differs from that of the node's status; "" = it does not.
    """
    enforced, source = "NodeAllocatableEnforced", "enforceNodeAllocatableCgroups"
    told = [NodeEvent("Starting", "Starting kubelet.", "BirthCry")]
    told += [CGROUP_V1] if version == 1 else []
    told += [_status(name, event_reason(kind, False), f"nodestatus.{kind}Condition") for kind in PRESSURES]
    if settings.cgroups_per_qos:
        told.append(NodeEvent(enforced, "Updated Node Allocatable limit across pods", source))
    for whose, cgroup in (("system", settings.system_reserved_cgroup), ("kube", settings.kube_reserved_cgroup)):
        if {f"{whose}-reserved", f"{whose}-reserved-compressible"} & set(settings.enforce_node_allocatable):
            told.append(NodeEvent(enforced, f"Updated limits on {whose} reserved cgroup {cgroup}", source))
    if boot:
        text = f"Node {name} has been rebooted, boot id: {boot}"
        told.append(NodeEvent("Rebooted", text, "nodestatus.MachineInfo", "Warning"))
    return [*told, _status(name, "NodeReady", "nodestatus.ReadyCondition")]


def _status(name: str, reason: str, source: str) -> NodeEvent:
    return NodeEvent(reason, status_message(name, reason), source)


def status_message(name: str, reason: str) -> str:
    """Return the message of a node's status event. Source: recordNodeStatusEvent."""
    return f"Node {name} status is now: {reason}"


def _dated(condition: Condition, now: datetime) -> Condition:
    condition.last_heartbeat_time = condition.last_transition_time = now
    return condition
