"""SchedulingGates: a pod with gates does not enter the queue.

Source: plugins/schedulinggates; KEP-3521.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kitlib.api.core import Pod
from kitlib.scheduler.framework.events import UNSCHEDULED_POD, ActionType, ClusterEvent, Registered, is_itself
from kitlib.scheduler.framework.plugin import Context, Plugin
from kitlib.scheduler.framework.status import SUCCESS, Code, Status


class SchedulingGates(Plugin):
    """The plugin that keeps pods with scheduling gates out of the queue."""

    name = "SchedulingGates"
    feature_gate = "PodSchedulingReadiness"

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return [(ClusterEvent(UNSCHEDULED_POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED), _gates_gone)]

    def pre_enqueue(self, pod: Pod) -> Status:
        gates = [gate.name for gate in pod.spec.scheduling_gates]
        if not gates:
            return SUCCESS
        reason = f"waiting for scheduling gates: [{' '.join(gates)}]"
        return Status(Code.UnschedulableAndUnresolvable, (reason,), self.name)


def _gates_gone(pod: Pod, old: Any, new: Any) -> bool:
    """Return whether the change is the pod's own and no gate is left.

    Source: schedulinggates isSchedulableAfterUpdatePodSchedulingGatesEliminated.
    """
    return is_itself(pod, old, new) and not new.spec.scheduling_gates
