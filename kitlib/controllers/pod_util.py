"""States of pods as controllers see them: active, terminating, ready, available.

Source: pkg/api/v1/pod/util.go (IsPodReady, IsPodAvailable); pkg/controller/controller_utils.go (IsPodActive).
"""

from __future__ import annotations

from datetime import datetime

from kitlib.api.core import TERMINAL_PHASES, Pod
from kitlib.api.meta import Condition


def is_active(pod: Pod) -> bool:
    """Return whether the pod is neither finished nor being deleted. Source: IsPodActive."""
    return pod.status.phase not in TERMINAL_PHASES and pod.metadata.deletion_timestamp is None


def is_terminating(pod: Pod) -> bool:
    """Return whether the pod is being deleted and has not finished. Source: IsPodTerminating."""
    return pod.status.phase not in TERMINAL_PHASES and pod.metadata.deletion_timestamp is not None


def condition_of(pod: Pod, kind: str) -> Condition | None:
    """Return a pod's condition of a type; None without one."""
    for condition in pod.status.conditions:
        if condition.type == kind:
            return condition
    return None


def is_ready(pod: Pod) -> bool:
    """Return whether the pod's condition Ready is true. Source: IsPodReady."""
    ready = condition_of(pod, "Ready")
    return ready is not None and ready.status == "True"


def available_in(pod: Pod, min_ready_seconds: int, now: datetime) -> float | None:
    """Return the seconds until a ready pod is available, 0 if it is; None if not ready. Source: IsPodAvailable."""
    ready = condition_of(pod, "Ready")
    if ready is None or ready.status != "True":
        return None
    if min_ready_seconds == 0:
        return 0.0
    if ready.last_transition_time is None:
        return None
    return max(0.0, min_ready_seconds - (now - ready.last_transition_time).total_seconds())


def is_available(pod: Pod, min_ready_seconds: int, now: datetime) -> bool:
    """Return whether the pod has been ready for `minReadySeconds`. Source: IsPodAvailable."""
    return available_in(pod, min_ready_seconds, now) == 0
