"""The kubelet's endpoints behind `nodes/NAME/proxy`: metrics/resource, stats/summary, pods, healthz.

Every value is read from the node's cgroup files on request; values that the node does not have are omitted.

Source: kubelet pkg/kubelet/metrics/collectors/resource_metrics.go, apis/stats/v1alpha1 (Summary),
server/server.go (getPods, healthz); cadvisor working set = usage less inactive page cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import msgspec

from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.prometheus import CONTENT_TYPE, Family, exposition
from kitlib.apiserver.http.status import StatusError
from kitlib.kubelet.cm.cgroup_tree import CgroupTree, Version
from kitlib.kubelet.util.cgroup_usage import cpu_seconds, memory_use

PATHS = ("healthz", "metrics/resource", "pods", "stats/summary")
_POD = ("namespace", "pod")
_CONTAINER = ("container", *_POD)


class Figures(NamedTuple):
    """The usage of one cgroup.

    Attributes:
        cpu: the CPU time in seconds since the cgroup's creation.
        usage: the memory in bytes.
        working_set: the memory without inactive page cache, in bytes.
    """

    cpu: float
    usage: int
    working_set: int


class Measured(NamedTuple):
    """The usage of a pod or a container.

    Attributes:
        pod: the pod.
        container: the container's name; "" = the pod as a whole.
        started: the start time; None if unknown.
        figures: the usage of the cgroup.
    """

    pod: Pod
    container: str
    started: datetime | None
    figures: Figures


def answer(cluster: Any, name: str, path: str) -> tuple[bytes, str]:
    """Return body and content type of the response of a node's kubelet.

    Raises:
        StatusError: 404 for a path that is not served, 501 for a node without a kernel.
    """
    path = path.strip("/")
    if path not in PATHS:
        raise StatusError(404, "the server could not find the requested resource", "NotFound")
    if path == "healthz":
        return b"ok", "text/plain; charset=utf-8"
    pods = [pod for pod in cluster.api.store.list(Pod, copy=False) if pod.spec.node_name == name]
    if path == "pods":
        from kitlib.api.serialize import to_dict

        items = [to_dict(pod) for pod in pods]
        listed = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}
        return msgspec.json.encode(listed), "application/json"
    node = cluster.node(name)
    if not hasattr(node, "desired"):
        raise StatusError(501, f"{path}: a hollow node has no kernel", "NotImplemented")
    if path == "metrics/resource":
        return _resource_metrics(node, pods).encode(), CONTENT_TYPE
    return msgspec.json.encode(_summary(node, pods, cluster.now())), "application/json"


def _figures(node: Any, version: Version, path: str) -> Figures | None:
    """Return the usage of a cgroup; None if the cgroup is removed."""
    read = partial(node.read, path)
    try:
        memory = memory_use(read, version)
        return Figures(cpu_seconds(read, version), memory.usage, memory.working_set)
    except (KitError, OSError, KeyError, ValueError):
        return None


def _measured(node: Any, tree: CgroupTree, pods: list[Pod]) -> Iterator[Measured]:
    """Yield the pods of a node and their running containers, each pod before its containers."""
    known = {pod.key: pod for pod in pods}
    for cgroup in tree.values():
        pod = known.get(cgroup.pod)
        if pod is None or cgroup.kind not in ("pod", "container"):
            continue
        started = _started(pod, cgroup.container) if cgroup.container else pod.status.start_time
        if cgroup.container and started is None:  # the container does not run
            continue
        figures = _figures(node, tree.version, cgroup.path)
        if figures is not None:
            yield Measured(pod, cgroup.container, started, figures)


def _started(pod: Pod, container: str) -> datetime | None:
    status = pod.status
    for one in [*status.container_statuses, *status.init_container_statuses, *status.ephemeral_container_statuses]:
        if one.name == container and "running" in one.state:
            return datetime.fromisoformat(str(one.state["running"]["startedAt"]))
    return None


def _resource_metrics(node: Any, pods: list[Pod]) -> str:
    def family(name: str, text: str, labels: tuple[str, ...] = (), kind: str = "gauge") -> Family:
        return Family(name, f"[STABLE] {text}", labels, kind)

    node_cpu = family("node_cpu_usage_seconds_total", "Seconds of CPU that the node has used.", (), "counter")
    node_memory = family("node_memory_working_set_bytes", "Working set of the node.")
    pod_cpu = family("pod_cpu_usage_seconds_total", "Seconds of CPU that the pod has used.", _POD, "counter")
    pod_memory = family("pod_memory_working_set_bytes", "Working set of the pod.", _POD)
    cpu = family("container_cpu_usage_seconds_total", "Seconds of CPU that it has used.", _CONTAINER, "counter")
    memory = family("container_memory_working_set_bytes", "Working set of the container.", _CONTAINER)
    start = family("container_start_time_seconds", "When the container began, since the epoch.", _CONTAINER)
    scrape_error = family("resource_scrape_error", "1 if the node could not be read, 0 otherwise.")
    tree = node.desired()
    whole = _figures(node, tree.version, "/")
    if whole is not None:
        node_cpu.set((), whole.cpu)
        node_memory.set((), whole.working_set)
    scrape_error.set((), int(whole is None))
    for one in _measured(node, tree, pods):
        labels: tuple[str, ...] = (one.pod.namespace, one.pod.name)
        if not one.container:
            pod_cpu.set(labels, one.figures.cpu)
            pod_memory.set(labels, one.figures.working_set)
            continue
        labels = (one.container, *labels)
        cpu.set(labels, one.figures.cpu)
        memory.set(labels, one.figures.working_set)
        if one.started is not None:
            start.set(labels, one.started.timestamp())
    return exposition([node_cpu, node_memory, pod_cpu, pod_memory, cpu, memory, start, scrape_error])


def _summary(node: Any, pods: list[Pod], now: datetime) -> dict[str, Any]:
    found: dict[str, dict[str, Any]] = {}
    tree, used = node.desired(), node.usages()
    for one in _measured(node, tree, pods):
        stats = _stats(one.figures, now)
        if one.started is not None:
            stats["startTime"] = _time(one.started)
        if not one.container:
            reference = {"name": one.pod.name, "namespace": one.pod.namespace, "uid": one.pod.metadata.uid}
            found[one.pod.key] = {"podRef": reference, **stats, "containers": []}
        elif one.pod.key in found:
            rate = used.get((one.pod.namespace, one.pod.name), {}).get(one.container)
            if rate is not None:
                stats["cpu"]["usageNanoCores"] = round(rate[0] * 1e9)
            found[one.pod.key]["containers"].append({"name": one.container, **stats})
    whole, cpus = _figures(node, tree.version, "/"), node.total_usage()[0]
    own: dict[str, Any] = {"nodeName": node.name}
    if whole is not None:
        own |= _stats(whole, now)
        own["cpu"]["usageNanoCores"] = round(cpus * 1e9)
        own["memory"]["availableBytes"] = max(0, node.config.machine.memory - whole.working_set)
    return {"node": own, "pods": list(found.values())}


def _stats(figures: Figures, now: datetime) -> dict[str, Any]:
    cpu = {"time": _time(now), "usageCoreNanoSeconds": round(figures.cpu * 1e9)}
    memory = {"time": _time(now), "usageBytes": figures.usage, "workingSetBytes": figures.working_set}
    return {"cpu": cpu, "memory": memory}


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
