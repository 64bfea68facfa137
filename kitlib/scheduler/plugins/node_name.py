"""NodeName: a pod with `spec.nodeName` fits only that node.

Source: plugins/nodename.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kitlib.api.core import Pod
from kitlib.scheduler.framework.events import NODE, ActionType, ClusterEvent, Registered
from kitlib.scheduler.framework.plugin import Affected, Context, Plugin, Reads
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Code, Rows, Verdicts


class NodeName(Plugin):
    """The plugin that rejects all nodes other than the one that the pod names."""

    name = "NodeName"
    reads = Reads.ALL_BUT_AMOUNTS
    depends_on = "node"

    def affected_by_placement(self, info: PodInfo, context: Context) -> Affected:
        return Affected.NOTHING

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return [(ClusterEvent(NODE, ActionType.ADD), _is_named)]

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        wanted = info.pod.spec.node_name
        if wanted:
            others = rows != context.snapshot.index.get(wanted, -1)
            found.reject(others, Code.UnschedulableAndUnresolvable, "node(s) didn't match the requested node name")
        return found


def _is_named(pod: Pod, old: Any, new: Any) -> bool:
    """Return whether the node is the one that the pod names. Source: nodename isSchedulableAfterNodeChange."""
    return bool(pod.spec.node_name) and new.name == pod.spec.node_name
