"""A node that nothing is heard of: what the cluster then says of it, and what when it is heard again.

Source: pkg/controller/nodelifecycle (monitorNodeHealth, processTaintBaseEviction); `docker pause` shows it.
"""

from __future__ import annotations

from kitlib.api.core import Node, Taint
from kitlib.api.meta import Condition
from kitlib.cluster.admission.apiserver import APIServer
from kitlib.cluster.controllers.pods import record
from kitlib.kubelet.loop.node_conditions import ready_condition, status_message

_UNREACHABLE = "node.kubernetes.io/unreachable"


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
    taints = [Taint(key=_UNREACHABLE, effect=effect) for effect in ("NoSchedule", "NoExecute")]
    _write(api, name, unknown, taints, "NodeNotReady")


def mark_ready(api: APIServer, name: str) -> None:
    """The kubelet posts the node's status again."""
    _write(api, name, ready_condition(api.store.now()), [], "NodeReady")


def _write(api: APIServer, name: str, ready: Condition, taints: list[Taint], reason: str) -> None:
    """A node's condition, the taints that follow from it, and the event; nothing where it has been deleted."""
    node: Node | None = api.store.find(Node, name, "")
    if node is None:
        return
    standing = put_condition(api, node, ready)
    standing.spec.taints = [*(taint for taint in standing.spec.taints if taint.key != _UNREACHABLE), *taints]
    api.update(standing)
    record(api, standing, "Normal", reason, status_message(name, reason))
