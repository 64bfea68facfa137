"""A node that nothing is heard of: what the cluster then says of it, and what when it is heard again.

Source: pkg/controller/nodelifecycle (monitorNodeHealth, processTaintBaseEviction); `docker pause` shows it.
"""

from __future__ import annotations

from kitlib.api.core import Node, Taint
from kitlib.api.meta import Condition
from kitlib.cluster.apiserver import APIServer
from kitlib.cluster.controllers.pods import record
from kitlib.kubelet.node_conditions import ready_condition, status_message

_UNREACHABLE = "node.kubernetes.io/unreachable"


def lost(api: APIServer, name: str) -> None:
    """The kubelet has stopped posting the node's status: it is not ready, and its pods are to leave in time."""
    node: Node | None = api.store.find(Node, name, "")
    if node is None:
        return
    unknown = Condition(
        type="Ready",
        status="Unknown",
        reason="NodeStatusUnknown",
        message="Kubelet stopped posting node status.",
        last_transition_time=api.store.now(),
    )
    _write(api, node, unknown)
    standing: Node = api.store.get(Node, name, "")
    for effect in ("NoSchedule", "NoExecute"):
        standing.spec.taints.append(Taint(key=_UNREACHABLE, effect=effect))
    api.update(standing)
    record(api, standing, "Normal", "NodeNotReady", status_message(name, "NodeNotReady"))


def back(api: APIServer, name: str) -> None:
    """The kubelet posts the node's status again."""
    node: Node | None = api.store.find(Node, name, "")
    if node is None:
        return
    _write(api, node, ready_condition(api.store.now()))
    standing: Node = api.store.get(Node, name, "")
    standing.spec.taints = [taint for taint in standing.spec.taints if taint.key != _UNREACHABLE]
    api.update(standing)
    record(api, standing, "Normal", "NodeReady", status_message(name, "NodeReady"))


def _write(api: APIServer, node: Node, ready: Condition) -> None:
    node.status.conditions = [*(c for c in node.status.conditions if c.type != "Ready"), ready]
    api.update_status(node)
