"""Small filters of a node's own state: NodeUnschedulable, NodeName, SchedulingGates.

Source: plugins/nodeunschedulable, plugins/nodename, plugins/schedulinggates, plugins/queuesort,
plugins/defaultbinder.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kitlib.api.core import Pod, Taint
from kitlib.api.selectors import tolerates_all
from kitlib.scheduler.plugin import Context, Plugin
from kitlib.scheduler.pod_info import PodInfo
from kitlib.scheduler.status import SUCCESS, Code, Rows, Status, Verdicts

UNSCHEDULABLE_TAINT = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable(Plugin):
    """Keeps pods away from nodes with `spec.unschedulable`, unless they tolerate the taint that goes with it."""

    name = "NodeUnschedulable"

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        closed = context.table.unschedulable[rows]
        if closed.any() and not tolerates_all(info.pod.spec.tolerations, UNSCHEDULABLE_TAINT):
            found.reject(closed, Code.UnschedulableAndUnresolvable, "node(s) were unschedulable")
        return found


class NodeName(Plugin):
    """A pod that names its node runs there or nowhere."""

    name = "NodeName"

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        wanted = info.pod.spec.node_name
        if wanted:
            others = rows != context.table.index.get(wanted, -1)
            found.reject(others, Code.UnschedulableAndUnresolvable, "node(s) didn't match the requested node name")
        return found


class SchedulingGates(Plugin):
    """A pod with scheduling gates does not enter the queue."""

    name = "SchedulingGates"

    def pre_enqueue(self, pod: Pod) -> Status:
        gates = [gate.name for gate in pod.spec.scheduling_gates]
        if not gates:
            return SUCCESS
        reason = f"waiting for scheduling gates: [{' '.join(gates)}]"
        return Status(Code.UnschedulableAndUnresolvable, (reason,), self.name)


class PrioritySort(Plugin):
    """Orders the queue: higher priority first, then who has waited longer."""

    name = "PrioritySort"

    @staticmethod
    def key(priority: int, waiting_since: float) -> tuple[int, float]:
        """Sort key; the smallest comes first."""
        return -priority, waiting_since


class DefaultBinder(Plugin):
    """Binds the pod to its node; the cluster does it."""

    name = "DefaultBinder"


def every_row(size: int) -> Rows:
    """All rows of a table of that size."""
    return np.arange(size, dtype=np.int64)
