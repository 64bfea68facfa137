"""Nodes with their pods as boxes to scale, for the queue theatre and the preemption stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kitlib.api.core import Node, Pod
from kitlib.api.podresources import pod_requests
from kitlib.charts.scene import BarScale, Box, Line, Token


def cpu_of(pod: Pod) -> int:
    """Return a pod's CPU request in milli-CPU."""
    asked = pod_requests(pod).get("cpu")
    return asked.milli_value() if asked is not None else 0


def cpu_text(milli: int) -> str:
    """Return milli-CPU as text: `500m`, `2 CPU`."""
    return f"{milli // 1000} CPU" if milli and milli % 1000 == 0 else f"{milli}m"


def capacities(nodes: Sequence[Node]) -> dict[str, int]:
    """Return node -> allocatable milli-CPU."""
    found = {}
    for node in nodes:
        amount = node.status.allocatable.get("cpu")
        found[node.name] = amount.milli_value() if amount is not None else 0
    return found


def node_box(
    name: str,
    capacity: int,
    pods: Sequence[Pod],
    token: Callable[[Pod, float], Token],
    promised: Mapping[str, int] | None = None,
) -> Box:
    """Return a node as a box in which pods occupy the part that they request.

    Args:
        name: the node's name.
        capacity: allocatable milli-CPU.
        pods: pods on the node, in display order.
        token: returns a pod's token for a size.
        promised: pod nominated to the node -> milli-CPU that it requests.
    """
    used = sum(cpu_of(pod) for pod in pods)
    coming = dict(promised or {})
    scale = BarScale(capacity, used + sum(coming.values()))
    tokens = [token(pod, max(scale.of(cpu_of(pod)), 0.04)) for pod in pods]
    for other, milli in coming.items():
        words = f"nominated to {name}: its room is kept"
        tokens.append(Token(other, other, "promised", "new", "promised", scale.of(milli), words, True))
    note = f"{cpu_text(used)} of {cpu_text(capacity)} requested"
    marks = [Line(scale.of(capacity), f"{cpu_text(capacity)}: the node")] if scale.over else []
    return Box(name, name, tokens, note, "bar", marks=marks, words=note)


def by_priority(pods: Sequence[Pod]) -> list[Pod]:
    """Return the pods by descending priority, then by name."""
    return sorted(pods, key=lambda pod: (-(pod.spec.priority or 0), pod.name))
