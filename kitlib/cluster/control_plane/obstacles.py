"""The reasons why a cluster may not reach a state: nodes that are not ready, pods that do not run, warnings."""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.api.core import Event, Node, Pod
from kitlib.cluster.nodes.room import shortage

_SHOWN = 5
"""Maximum number of pods, and of warnings."""


def obstacles(nodes: Sequence[Node], pods: Sequence[Pod], events: Sequence[Event]) -> list[str]:
    """Return the nodes that are not ready, the pods that neither run nor have succeeded, and the newest warnings.

    Args:
        nodes: the cluster's nodes.
        pods: the pods of all namespaces.
        events: the events in order.
    """
    said = []
    for node in nodes:
        unready = [c for c in node.status.conditions if c.type == "Ready" and c.status != "True"]
        said += [f"node {node.name} is not ready: {condition.message}" for condition in unready]
        said += filter(None, [shortage(node)])
    idle = [pod for pod in pods if pod.status.phase not in ("Running", "Succeeded")]
    said += [_state(pod) for pod in idle[:_SHOWN]]
    if len(idle) > _SHOWN:
        said.append(f"{len(idle) - _SHOWN} more pods do not run")
    warnings = [event for event in events if event.type == "Warning"]
    keys = {(pod.metadata.namespace, pod.name) for pod in idle}
    # Warnings of these pods first: a node's, as of cgroup v1 at its start, may have nothing to do with them.
    warnings.sort(key=lambda e: e.involved_object.kind == "Pod" and _key(e) in keys)
    return said + [f"{e.reason} ({e.involved_object.name}): {e.message}" for e in warnings[: -_SHOWN - 1 : -1]]


def _key(event: Event) -> tuple[str, str]:
    return event.involved_object.namespace, event.involved_object.name


def _state(pod: Pod) -> str:
    waiting = [s.state["waiting"] for s in pod.status.container_statuses if "waiting" in s.state]
    reasons = [pod.status.reason, *(w.get("message") or w.get("reason", "") for w in waiting)]
    reasons += [c.message for c in pod.status.conditions if c.type == "PodScheduled" and c.status == "False"]
    where = f" on {pod.spec.node_name}" if pod.spec.node_name else ""
    return f"{pod.key} is {pod.status.phase}{where}: {', '.join(filter(None, reasons))}"
