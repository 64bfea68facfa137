"""Nodes with their pods as boxes to scale: what the queue theatre and the preemption stage show of a replay."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kitlib.api.core import Node, Pod
from kitlib.api.podresources import pod_requests
from kitlib.charts.scene import Box, Scale, Token


def cpu_of(pod: Pod) -> int:
    """What a pod requests, milli-CPU."""
    asked = pod_requests(pod).get("cpu")
    return asked.milli_value() if asked is not None else 0


def cpu_text(milli: int) -> str:
    """Milli-CPU as people say it: `500m`, `2 CPU`."""
    return f"{milli // 1000} CPU" if milli and milli % 1000 == 0 else f"{milli}m"


def capacities(nodes: Sequence[Node]) -> dict[str, int]:
    """Node -> milli-CPU that pods may request."""
    found = {}
    for node in nodes:
        amount = node.status.allocatable.get("cpu")
        found[node.name] = amount.milli_value() if amount is not None else 0
    return found


def node_box(
    name: str, capacity: int, pods: Sequence[Pod], token: Callable[[Pod, float], Token], promised: Sequence[Token] = ()
) -> Box:
    """A node whose pods take the part of it that they request."""
    used = sum(cpu_of(pod) for pod in pods)
    scale = Scale(capacity, used)
    tokens = [token(pod, max(scale.of(cpu_of(pod)), 0.04)) for pod in pods]
    note = f"{cpu_text(used)} of {cpu_text(capacity)} requested"
    return Box(name, name, [*tokens, *promised], note, "bar", words=note)


def by_priority(pods: Sequence[Pod]) -> list[Pod]:
    """The most important first."""
    return sorted(pods, key=lambda pod: (-(pod.spec.priority or 0), pod.name))


def promised_tokens(names: Sequence[str], node: str, sizes: Mapping[str, float]) -> list[Token]:
    """Pods that are nominated to a node and wait for their room."""
    return [
        Token(
            name,
            name,
            "promised",
            "new",
            "promised",
            sizes.get(name, 0.1),
            f"{name} is nominated to {node}: its room is kept",
        )
        for name in names
    ]
