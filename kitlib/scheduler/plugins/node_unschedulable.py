"""NodeUnschedulable: no new pods run on cordoned nodes.

Source: plugins/nodeunschedulable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kitlib.api.core import Pod, Taint
from kitlib.api.selectors import tolerates_all
from kitlib.scheduler.framework.events import NODE, UNSCHEDULED_POD, ActionType, ClusterEvent, Registered, is_itself
from kitlib.scheduler.framework.plugin import Affected, Context, Plugin, Reads
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Code, Rows, Verdicts

UNSCHEDULABLE_TAINT = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable(Plugin):
    """The plugin that rejects nodes with `spec.unschedulable`, unless the pod tolerates the corresponding taint."""

    name = "NodeUnschedulable"
    reads = Reads.ALL_BUT_AMOUNTS
    depends_on = "node"

    def affected_by_placement(self, info: PodInfo, context: Context) -> Affected:
        return Affected.NOTHING

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return [
            (ClusterEvent(NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT), _uncordoned),
            (ClusterEvent(UNSCHEDULED_POD, ActionType.UPDATE_POD_TOLERATION), is_itself),
        ]

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        closed = context.snapshot.unschedulable[rows]
        if closed.any() and not tolerates_all(info.pod.spec.tolerations, UNSCHEDULABLE_TAINT, context.release):
            found.reject(closed, Code.UnschedulableAndUnresolvable, "node(s) were unschedulable")
        return found


def _uncordoned(pod: Pod, old: Any, new: Any) -> bool:
    """Return whether the node is schedulable and is new or was cordoned before.

    Source: nodeunschedulable isSchedulableAfterNodeChange.
    """
    return not new.spec.unschedulable and (old is None or old.spec.unschedulable)
