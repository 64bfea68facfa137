"""The conditions by which a node reports that memory, disk or process ids run short, and the events of a kubelet that
starts, in the kubelet's words.

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
"""Condition -> whether it holds -> its reason, its message, the reason of the event."""


def pressure_condition(kind: str, holds: bool, now: datetime) -> Condition:
    """One of the `PRESSURES`, true or not, since now."""
    reason, message, _ = _WORDS[kind][holds]
    value = "True" if holds else "False"
    return _dated(Condition(type=kind, status=value, reason=reason, message=message), now)


def event_reason(kind: str, holds: bool) -> str:
    """The reason of the event that tells of it: `NodeHasDiskPressure`."""
    return _WORDS[kind][holds][2]


def first_conditions(now: datetime) -> list[Condition]:
    """What a node reports when it has just started: no pressure, and ready."""
    return [*(pressure_condition(kind, False, now) for kind in PRESSURES), ready_condition(now)]


def ready_condition(now: datetime) -> Condition:
    """That of a node whose kubelet works, since now."""
    ready = Condition(type="Ready", status="True", reason="KubeletReady", message="kubelet is posting ready status")
    return _dated(ready, now)


class NodeEvent(NamedTuple):
    """An event about a node.

    Attributes:
        reason, message: in the kubelet's words.
        source: the function of the kubelet that tells it.
        kind: Normal or Warning.
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
"""What the kubelet warns of on a machine with cgroup v1."""


def first_events(name: str, settings: KubeletSettings, version: Version = 2) -> list[NodeEvent]:
    """What the kubelet tells of its node when it starts, in this order; at last, that the node is ready.

    Args:
        name: of the node.
        settings: the kubelet's.
        version: of its cgroups.
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
    return [*told, _status(name, "NodeReady", "nodestatus.ReadyCondition")]


def _status(name: str, reason: str, source: str) -> NodeEvent:
    return NodeEvent(reason, status_message(name, reason), source)


def status_message(name: str, reason: str) -> str:
    """Source: recordNodeStatusEvent."""
    return f"Node {name} status is now: {reason}"


def _dated(condition: Condition, now: datetime) -> Condition:
    condition.last_heartbeat_time = condition.last_transition_time = now
    return condition
