"""The condition AllContainersRestarting of pods with a rule that restarts all containers.

Source: status.GenerateAllContainersRestartingCondition; KEP-5532.
"""

from __future__ import annotations

from kitlib.api.core import TERMINAL_PHASES
from kitlib.api.meta import Condition
from kitlib.kubelet.loop.status import RESTARTING


def restarting_condition(phase: str, *, restarting: bool) -> Condition:
    """Return the condition AllContainersRestarting. Source: status.GenerateAllContainersRestartingCondition."""
    if phase in TERMINAL_PHASES:
        reason = "PodCompleted" if phase == "Succeeded" else "PodFailed"
        return Condition(type=RESTARTING, status="False", reason=reason)
    if not restarting:
        return Condition(type=RESTARTING, status="False")
    message = "container exited with restart policy rule"
    return Condition(type=RESTARTING, status="True", reason="RestartAllContainersStarted", message=message)
