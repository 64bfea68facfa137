"""SchedulingGates: a pod with gates does not enter the queue.

Source: plugins/schedulinggates; KEP-3521.
"""

from __future__ import annotations

from kitlib.api.core import Pod
from kitlib.scheduler.framework.plugin import Plugin
from kitlib.scheduler.framework.status import SUCCESS, Code, Status


class SchedulingGates(Plugin):
    """A pod with scheduling gates does not enter the queue."""

    name = "SchedulingGates"
    feature_gate = "PodSchedulingReadiness"

    def pre_enqueue(self, pod: Pod) -> Status:
        gates = [gate.name for gate in pod.spec.scheduling_gates]
        if not gates:
            return SUCCESS
        reason = f"waiting for scheduling gates: [{' '.join(gates)}]"
        return Status(Code.UnschedulableAndUnresolvable, (reason,), self.name)
