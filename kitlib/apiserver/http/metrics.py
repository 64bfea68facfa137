"""metrics.k8s.io: the current usage of nodes and pods, read from the nodes. Source: k8s.io/metrics v1beta1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from kitlib.api.core import Node, Pod
from kitlib.apiserver.http.status import StatusError

_WINDOW = "15s"


def usage_list(
    cluster: Any, plural: str, namespace: str = "", matches: Callable[[Mapping[str, Any]], bool] = lambda obj: True
) -> dict[str, Any]:
    """Return a NodeMetricsList or PodMetricsList."""
    rows = _nodes(cluster) if plural == "nodes" else _pods(cluster, namespace)
    kind = "NodeMetricsList" if plural == "nodes" else "PodMetricsList"
    items = [row for row in rows if matches(row)]
    return {"kind": kind, "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": items}


def usage_of(cluster: Any, plural: str, namespace: str, name: str) -> dict[str, Any]:
    """Return the NodeMetrics or PodMetrics of one object.

    Raises:
        StatusError: 404.
    """
    for row in _nodes(cluster) if plural == "nodes" else _pods(cluster, namespace):
        if row["metadata"]["name"] == name:
            return row
    shown = name if plural == "nodes" else f"{namespace}/{name}"
    raise StatusError(404, f'{plural}.metrics.k8s.io "{shown}" not found', "NotFound")


def _nodes(cluster: Any) -> Iterator[dict[str, Any]]:
    now = cluster.now()
    for node in cluster.api.store.list(Node, copy=False):
        machine = cluster.node(node.name)
        if not hasattr(machine, "total_usage"):
            continue
        cpus, memory = machine.total_usage()
        head = _head("NodeMetrics", {"name": node.name, "labels": node.metadata.labels}, now)
        yield {**head, "usage": _usage(cpus, memory)}


def _pods(cluster: Any, namespace: str) -> Iterator[dict[str, Any]]:
    now = cluster.now()
    labels = {pod.key: pod.metadata.labels for pod in cluster.api.store.list(Pod, copy=False)}
    for node in cluster.api.store.list(Node, copy=False):
        machine = cluster.node(node.name)
        if not hasattr(machine, "usages"):
            continue
        for (place, name), used in machine.usages().items():
            if namespace and place != namespace:
                continue
            meta = {"name": name, "namespace": place, "labels": labels.get(f"{place}/{name}", {})}
            containers = [{"name": c, "usage": _usage(cpus, memory)} for c, (cpus, memory) in used.items()]
            yield {**_head("PodMetrics", meta, now), "containers": containers}


def _head(kind: str, meta: dict[str, Any], now: datetime) -> dict[str, Any]:
    moment = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    head = {"kind": kind, "apiVersion": "metrics.k8s.io/v1beta1"}
    return {**head, "metadata": {**meta, "creationTimestamp": moment}, "timestamp": moment, "window": _WINDOW}


def _usage(cpus: float, memory: int) -> dict[str, str]:
    return {"cpu": f"{round(cpus * 1e9)}n", "memory": f"{memory // 1024}Ki"}
