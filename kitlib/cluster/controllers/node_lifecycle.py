"""Nodes: their conditions and `spec.unschedulable` become taints, which the scheduler and taint eviction act on.

A node that is not ready gets a NoSchedule and a NoExecute taint; so does one that does not answer.

Source: pkg/controller/nodelifecycle/node_lifecycle_controller.go (doNoScheduleTaintingPass, processTaintBaseEviction,
monitorNodeHealth, nodeConditionToTaintKeyStatusMap).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.core import Node, Taint
from kitlib.api.meta import Condition
from kitlib.api.serialize import deepcopy
from kitlib.cluster.admission.apiserver import APIServer
from kitlib.cluster.controllers.controller import Controller, Handler, Key, Manager
from kitlib.cluster.controllers.informers import Change
from kitlib.cluster.events import record
from kitlib.kubelet.loop.node_conditions import ready_condition, status_message

NODE_MONITOR_PERIOD = 5.0
"""Seconds between two looks at a node's health."""
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_BY_CONDITION = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}
_NO_SCHEDULE = frozenset({*_BY_CONDITION.values(), UNSCHEDULABLE})
_NO_EXECUTE = {"False": NOT_READY, "Unknown": UNREACHABLE}


class NodeLifecycleController(Controller):
    """For the taints that follow from a node's state."""

    name: ClassVar[str] = "node-controller"

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self._recovered: dict[Key, float] = {}

    def handlers(self) -> Mapping[str, Handler]:
        return {"Node": self._on_node}

    def _on_node(self, change: Change) -> None:
        if change.type != "DELETED":
            self.queue.add(("", change.new.name))

    def sync(self, key: Key) -> None:
        """Bring the node's taints in line; those that others set stay."""
        node: Node | None = self.find(Node, key)
        if node is None:
            return
        wanted = {
            _BY_CONDITION[c.type, c.status] for c in node.status.conditions if (c.type, c.status) in _BY_CONDITION
        }
        if node.spec.unschedulable:
            wanted.add(UNSCHEDULABLE)
        ready = next((c.status for c in node.status.conditions if c.type == "Ready"), None)
        executes = _NO_EXECUTE.get(ready or "")
        standing = {t.key for t in node.spec.taints if t.effect == "NoSchedule" and t.key in _NO_SCHEDULE}
        executing = {t.key for t in node.spec.taints if t.effect == "NoExecute" and t.key in _NO_EXECUTE.values()}
        wanted_executing = executing if ready is None else ({executes} if executes else set())
        if executing - wanted_executing and not self._monitored(key):
            wanted_executing |= executing
        if wanted == standing and wanted_executing == executing:
            return
        changed = deepcopy(node)
        kept = [
            t
            for t in node.spec.taints
            if not (t.effect == "NoSchedule" and t.key in _NO_SCHEDULE - wanted)
            and not (t.effect == "NoExecute" and t.key in executing - wanted_executing)
        ]
        now = self.now()
        made = [Taint(key=key, effect="NoSchedule", time_added=now) for key in sorted(wanted - standing)]
        made += [Taint(key=key, effect="NoExecute", time_added=now) for key in sorted(wanted_executing - executing)]
        changed.spec.taints = kept + made
        self.api.store.update(changed)

    def _monitored(self, key: Key) -> bool:
        """Whether a node's health was looked at since its NoExecute taint lost its reason; else it soon will be.

        Source: monitorNodeHealth, markNodeAsReachable, --node-monitor-period.
        """
        now = self.now().timestamp()
        since = self._recovered.setdefault(key, now)
        if now - since < NODE_MONITOR_PERIOD:
            self.queue.add_after(key, NODE_MONITOR_PERIOD - (now - since))
            return False
        del self._recovered[key]
        return True


def put_condition(api: APIServer, node: Node, condition: Condition) -> Node:
    """Write a condition of a node in place of the one of the same type; the node as it then stands."""
    node.status.conditions = [*(c for c in node.status.conditions if c.type != condition.type), condition]
    return api.update_status(node)


def mark_unreachable(api: APIServer, name: str) -> None:
    """The kubelet has stopped posting the node's status: it is not ready, and its pods are to leave in time."""
    unknown = Condition(
        type="Ready",
        status="Unknown",
        reason="NodeStatusUnknown",
        message="Kubelet stopped posting node status.",
        last_transition_time=api.store.now(),
    )
    taints = [Taint(key=UNREACHABLE, effect=effect) for effect in ("NoSchedule", "NoExecute")]
    _write(api, name, unknown, taints, "NodeNotReady", "node-controller")


def mark_ready(api: APIServer, name: str) -> None:
    """The kubelet posts the node's status again."""
    _write(api, name, ready_condition(api.store.now()), [], "NodeReady", "kubelet")


def _write(api: APIServer, name: str, ready: Condition, taints: list[Taint], reason: str, source: str) -> None:
    """A node's condition, the taints that follow from it, and the event; nothing where it has been deleted."""
    node: Node | None = api.store.find(Node, name, "")
    if node is None:
        return
    standing = put_condition(api, node, ready)
    standing.spec.taints = [*(taint for taint in standing.spec.taints if taint.key != UNREACHABLE), *taints]
    api.update(standing)
    record(api, standing, "Normal", reason, status_message(name, reason), source)
