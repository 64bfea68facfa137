"""NodePorts: two pods cannot use the same host port of a node; the address 0.0.0.0 uses it on all addresses.

Source: plugins/nodeports, framework HostPortInfo.CheckConflict.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kitlib.api.core import Pod
from kitlib.scheduler.framework.events import NODE, POD, ActionType, ClusterEvent, Registered
from kitlib.scheduler.framework.plugin import SKIP, Affected, Context, Plugin, PreFilterResult, Reads
from kitlib.scheduler.framework.pod_info import HostPort, PodInfo
from kitlib.scheduler.framework.status import Code, Rows, Verdicts

NOT_FREE = "node(s) didn't have free ports for the requested pod ports"
ANY_ADDRESS = "0.0.0.0"


class NodePorts(Plugin):
    """The plugin that compares the pod's host ports with those in use on each node."""

    name = "NodePorts"
    reads = Reads.ALL_BUT_AMOUNTS
    missing_state = 'reading "PreFilterNodePorts" from cycleState: not found'

    def affected_by_placement(self, info: PodInfo, context: Context) -> Affected | None:
        return None if info.host_ports else Affected.NOTHING

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return [(ClusterEvent(POD, ActionType.DELETE), _ports_freed), (ClusterEvent(NODE, ActionType.ADD), None)]

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        return PreFilterResult(info.host_ports or SKIP)

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        for place, row in enumerate(rows):
            taken = context.snapshot.ports[row]
            if taken and any(_conflicts(port, taken) for port in state):
                found.reject_row(place, Code.Unschedulable, (NOT_FREE,))
        return found


def _conflicts(port: HostPort, taken: set[HostPort]) -> bool:
    address, protocol, number = port
    if address == ANY_ADDRESS:
        return any(other[1:] == (protocol, number) for other in taken)
    return port in taken or (ANY_ADDRESS, protocol, number) in taken


def _ports_freed(pod: Pod, old: Any, new: Any) -> bool:
    """Return whether a pod left a node and freed a port that the pod needs.

    Source: nodeports isSchedulableAfterPodDeleted.
    """
    if not isinstance(old, Pod) or not old.spec.node_name:
        return False
    freed = {(protocol, port) for _, protocol, port in PodInfo(old).host_ports}
    return any((protocol, port) in freed for _, protocol, port in PodInfo(pod).host_ports)
