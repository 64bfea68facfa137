"""Capacity, requests, limits and usage of each node of a dump, as plain numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kitlib.advisor.dump import Dump
from kitlib.advisor.pod_usage import measured
from kitlib.api.core import TERMINAL_PHASES, Node, Pod
from kitlib.api.podresources import pod_limits, pod_requests

ZONE = "topology.kubernetes.io/zone"
PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")


@dataclass(frozen=True)
class NodeRoom:
    """The numbers of a node.

    Attributes:
        name: name of the node.
        zone: zone of the node; "" = none.
        allocatable: allocatable milli-CPU and bytes by resource.
        requested: requested milli-CPU and bytes by resource.
        memory_limits: sum of the memory limits of all its pods, in bytes.
        pods: number of its pods.
        most_pods: maximum number of pods.
        without_limit: number of pods with a container that has no memory limit.
        used_memory: sum of PodMetrics in bytes; None = not all pods have metrics.
        conditions: problems of the node, in the API's words.
        schedulable: whether the scheduler may use it.
    """

    name: str
    zone: str
    allocatable: Mapping[str, int]
    requested: Mapping[str, int]
    memory_limits: int = 0
    pods: int = 0
    most_pods: int = 0
    without_limit: int = 0
    used_memory: int | None = None
    conditions: tuple[str, ...] = field(default=())
    schedulable: bool = True

    def free(self, kind: str) -> int:
        """Return the amount that is not requested; 0 if no further pod is possible."""
        return max(0, self.allocatable[kind] - self.requested[kind]) if self.pods < self.most_pods else 0


def room_of(dump: Dump) -> Iterator[NodeRoom]:
    """Yield the numbers of every node, by name."""
    on: dict[str, list[Pod]] = {}
    for pod in dump.pods:
        if pod.spec.node_name and pod.status.phase not in TERMINAL_PHASES:
            on.setdefault(pod.spec.node_name, []).append(pod)
    known = measured(dump)
    for node in sorted(dump.nodes, key=lambda one: one.name):
        yield _room(node, on.get(node.name, []), known, dump)


def _room(node: Node, pods: list[Pod], known: Mapping[str, Mapping[str, int]], dump: Dump) -> NodeRoom:
    cpu = memory = limits = unlimited = 0
    for pod in pods:
        asked = pod_requests(pod, release=dump.release)
        cpu += asked["cpu"].milli_value() if "cpu" in asked else 0
        memory += asked["memory"].value() if "memory" in asked else 0
        if all("memory" in container.resources.limits for container in pod.spec.containers):
            most = pod_limits(pod, release=dump.release).get("memory")
            limits += most.value() if most is not None else 0
        else:
            unlimited += 1
    offered = node.status.allocatable
    room = {
        "cpu": offered["cpu"].milli_value() if "cpu" in offered else 0,
        "memory": offered["memory"].value() if "memory" in offered else 0,
    }
    figures = [known.get(pod.key) for pod in pods]
    complete = bool(known) and all(figure is not None for figure in figures)
    return NodeRoom(
        node.name,
        node.metadata.labels.get(ZONE, ""),
        room,
        {"cpu": cpu, "memory": memory},
        limits,
        len(pods),
        offered["pods"].value() if "pods" in offered else 0,
        unlimited,
        sum(sum(figure.values()) for figure in figures if figure) if complete else None,
        tuple(_conditions(node)),
        not node.spec.unschedulable and not any(taint.effect != "PreferNoSchedule" for taint in node.spec.taints),
    )


def _conditions(node: Node) -> Iterator[str]:
    for condition in node.status.conditions:
        if condition.type == "Ready" and condition.status != "True":
            yield f"Ready={condition.status}"
        elif condition.type in PRESSURES and condition.status == "True":
            yield condition.type
    if node.spec.unschedulable:
        yield "cordoned"


def shown(kind: str, amount: int) -> str:
    """Return an amount as text: CPUs, or GiB."""
    return f"{amount / 1000:.4g}" if kind == "cpu" else f"{amount / 2**30:.3g} GiB"
