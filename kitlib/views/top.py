"""`kubectl top` and the resource metrics API: the actual usage of pods and nodes.

CPU is the average usage over a window. Memory is the working set, which eviction uses too: usage minus the page cache
that the kernel could reclaim at once (`inactive_file`).

Source: kubectl top (metricsutil.TopCmdPrinter), metrics.k8s.io/v1beta1, kubelet stats (working set).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from kitlib.api.core import Node
from kitlib.api.resource import Quantity
from kitlib.views.tabs import align

_MIB = 2**20
_PADDING = 3


@dataclass(frozen=True)
class MetricsUsage:
    """The usage of a container, or of a node as a whole.

    Attributes:
        cpu_nanocores: billionths of a CPU, averaged over the window.
        memory_working_set: working set in bytes.
    """

    cpu_nanocores: int
    memory_working_set: int

    @property
    def milli_cpu(self) -> int:
        """Milli-CPU, rounded up as `Quantity.MilliValue` does."""
        return -(-self.cpu_nanocores // 10**6)


@dataclass(frozen=True)
class PodUsage:
    """The usage of a pod by container."""

    namespace: str
    name: str
    containers: Mapping[str, MetricsUsage] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def total(self) -> MetricsUsage:
        """The sum over all containers."""
        return MetricsUsage(
            sum(u.cpu_nanocores for u in self.containers.values()),
            sum(u.memory_working_set for u in self.containers.values()),
        )


def top_pods(pods: Iterable[PodUsage], *, containers: bool = False, namespaces: bool = False) -> str:
    """Return the output of `kubectl top pod` (`--containers`, `--all-namespaces`)."""
    head = (["NAMESPACE"] if namespaces else []) + (["POD", "NAME"] if containers else ["NAME"])
    rows = [[*head, "CPU(cores)", "MEMORY(bytes)"]]
    for pod in sorted(pods, key=lambda p: (p.namespace, p.name)):
        place = [pod.namespace] if namespaces else []
        if containers:
            rows += [[*place, pod.name, name, *_figures(u)] for name, u in sorted(pod.containers.items())]
        else:
            rows.append([*place, pod.name, *_figures(pod.total)])
    return _table(rows)


def top_nodes(nodes: Iterable[tuple[Node, MetricsUsage]]) -> str:
    """Return the output of `kubectl top node`: usage, and its percentage of allocatable."""
    rows = [["NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)"]]
    for node, usage in sorted(nodes, key=lambda pair: pair[0].name):
        cpu, memory = _figures(usage)
        whole = node.status.allocatable
        of_cpu = int(usage.milli_cpu / whole["cpu"].milli_value() * 100)
        of_memory = int(usage.memory_working_set / whole["memory"].value() * 100)
        rows.append([node.name, cpu, f"{of_cpu}%", memory, f"{of_memory}%"])
    return _table(rows)


def pod_metrics(pods: Iterable[PodUsage], *, at: datetime, window_seconds: float) -> dict[str, Any]:
    """Return the PodMetricsList of `kubectl get --raw /apis/metrics.k8s.io/v1beta1/pods`."""
    stamp, window = _stamp(at), f"{window_seconds:.3f}s"
    items = [
        {
            "metadata": _metadata(pod.name, pod.labels, stamp, namespace=pod.namespace),
            "timestamp": stamp,
            "window": window,
            "containers": [{"name": name, "usage": _quantities(u)} for name, u in sorted(pod.containers.items())],
        }
        for pod in sorted(pods, key=lambda p: (p.namespace, p.name))
    ]
    return {"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": items}


def node_metrics(nodes: Iterable[tuple[Node, MetricsUsage]], *, at: datetime, window_seconds: float) -> dict[str, Any]:
    """Return the NodeMetricsList of `kubectl get --raw /apis/metrics.k8s.io/v1beta1/nodes`."""
    stamp, window = _stamp(at), f"{window_seconds:.3f}s"
    items = [
        {
            "metadata": _metadata(node.name, node.metadata.labels, stamp),
            "timestamp": stamp,
            "window": window,
            "usage": _quantities(usage),
        }
        for node, usage in sorted(nodes, key=lambda pair: pair[0].name)
    ]
    return {"kind": "NodeMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": items}


def _figures(usage: MetricsUsage) -> tuple[str, str]:
    return f"{usage.milli_cpu}m", f"{usage.memory_working_set // _MIB}Mi"


def _quantities(usage: MetricsUsage) -> dict[str, str]:
    cpu, memory = Quantity(f"{usage.cpu_nanocores}n"), Quantity.from_int(usage.memory_working_set, "BinarySI")
    return {"cpu": str(cpu), "memory": str(memory)}


def _metadata(name: str, labels: Mapping[str, str], stamp: str, **more: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, **more, "creationTimestamp": stamp}
    if labels:
        found["labels"] = dict(labels)
    return found


def _stamp(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _table(rows: list[list[str]]) -> str:
    # kubectl ends every cell in a tab, the last one too
    return align("\n".join("\t".join([*row, ""]) for row in rows), _PADDING)
