"""The conditions by which a node reports that memory, disk or process ids run short, in the kubelet's words.

Source: kubelet nodestatus.MemoryPressureCondition, DiskPressureCondition, PIDPressureCondition, ReadyCondition.
"""

from __future__ import annotations

from datetime import datetime

from kitlib.api.meta import Condition

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
    ready = Condition(type="Ready", status="True", reason="KubeletReady", message="kubelet is posting ready status")
    return [*(pressure_condition(kind, False, now) for kind in PRESSURES), _dated(ready, now)]


def _dated(condition: Condition, now: datetime) -> Condition:
    condition.last_heartbeat_time = condition.last_transition_time = now
    return condition
