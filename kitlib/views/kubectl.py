"""The operator's views of a cluster: `kubectl describe`, `kubectl top pod`, `kubectl top node`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from kitlib.api.errors import KitError
from kitlib.api.serialize import to_dict
from kitlib.apiserver.store.kinds import resource
from kitlib.views.describe.jobs import describe_cron_job, describe_job
from kitlib.views.describe.node import TIME, describe_events, describe_node
from kitlib.views.describe.objects import (
    describe_budget,
    describe_claim,
    describe_limit_range,
    describe_priority_class,
    describe_quota,
    describe_service,
)
from kitlib.views.describe.pod import describe_pod
from kitlib.views.describe.template import Object, Others
from kitlib.views.describe.workloads import (
    describe_daemon_set,
    describe_deployment,
    describe_replica_set,
    describe_stateful_set,
)
from kitlib.views.tabs import align
from kitlib.views.top import MetricsUsage, PodUsage, node_metrics, pod_metrics, top_nodes, top_pods

KINDS: dict[str, Callable[[Object, Others], str]] = {
    "Deployment": describe_deployment,
    "ReplicaSet": describe_replica_set,
    "StatefulSet": describe_stateful_set,
    "DaemonSet": describe_daemon_set,
    "Job": describe_job,
    "CronJob": describe_cron_job,
    "Service": describe_service,
    "PersistentVolumeClaim": describe_claim,
    "ResourceQuota": describe_quota,
    "LimitRange": describe_limit_range,
    "PodDisruptionBudget": describe_budget,
    "PriorityClass": describe_priority_class,
}
"""The supported kinds besides pods and nodes."""
WITHOUT_EVENTS = ("ResourceQuota", "LimitRange")
WINDOW = 15.0
LEASES = "kube-node-lease"
"""The namespace of the nodes' Leases."""


def describe(cluster: Any, name: str, kind: str = "node", namespace: str = "default") -> str:
    """Return `kubectl describe KIND NAME` of the cluster's release, for nodes, pods and the kinds in `KINDS`.

    Raises:
        KitError: the kind is not supported, or the object does not exist.
    """
    with cluster.release.following():
        return _describe(cluster, name, kind, namespace)


def _describe(cluster: Any, name: str, kind: str, namespace: str) -> str:
    now = cluster.now()
    if kind.lower() in ("pod", "pods", "po"):
        found = cluster.get("Pod", name, namespace)
        return describe_pod(to_dict(found), cluster.events(name), now)
    if kind.lower() not in ("node", "nodes", "no"):
        return _other(cluster, name, kind, namespace, now)
    found = cluster.get("Node", name)
    return describe_node(found, cluster.list("Pod"), cluster.events(name), now, _lease(cluster, found.name))


def _other(cluster: Any, name: str, kind: str, namespace: str, now: datetime) -> str:
    known = resource(kind)
    write = KINDS.get(known.kind)
    if write is None:
        raise KitError(f"describe {kind} {name}: unsupported kind; valid kinds: {', '.join(['Node', 'Pod', *KINDS])}")
    found = to_dict(cluster.get(known.kind, name, namespace))

    def others(one: str) -> list[dict[str, Any]]:
        return [to_dict(obj) for obj in cluster.list(one, namespace)]

    text = write(found, others)
    if known.kind not in WITHOUT_EVENTS:
        text += describe_events([event for event in cluster.events(name) if event.namespace == namespace], now)
    return align(text)


def _lease(cluster: Any, node: str) -> dict[str, str] | None:
    """Return the specification of the node's Lease as text; None if there is no Lease."""
    for lease in cluster.list("Lease", LEASES):
        if lease.name == node:
            renewed = lease.spec.renew_time
            holder = lease.spec.holder_identity or ""
            return {"holderIdentity": holder, "renewTime": renewed.strftime(TIME) if renewed else ""}
    return None


def top_pod(cluster: Any, *, containers: bool = False, namespaces: bool = False) -> str:
    """Return the output of `kubectl top pod`: the current usage of every pod or container."""
    return top_pods(_pods(cluster), containers=containers, namespaces=namespaces)


def top_node(cluster: Any) -> str:
    """Return the output of `kubectl top node`: the current usage of every node, and its percentage of allocatable."""
    return top_nodes(_nodes(cluster))


def metrics(cluster: Any, kind: str = "pods") -> dict[str, Any]:
    """Return the response to `kubectl get --raw /apis/metrics.k8s.io/v1beta1/KIND`; kind is pods or nodes.

    Raises:
        KitError: another kind.
    """
    if kind == "pods":
        return pod_metrics(_pods(cluster), at=cluster.now(), window_seconds=WINDOW)
    if kind == "nodes":
        return node_metrics(_nodes(cluster), at=cluster.now(), window_seconds=WINDOW)
    raise KitError(f"metrics.k8s.io/v1beta1: unsupported resource {kind!r}; valid values: pods, nodes")


def _nodes(cluster: Any) -> list[tuple[Any, MetricsUsage]]:
    rows = []
    for node in cluster.list("Node"):
        cpus, memory = cluster.node(node.name).total_usage()
        rows.append((node, MetricsUsage(round(cpus * 1e9), memory)))
    return rows


def _pods(cluster: Any) -> list[PodUsage]:
    labels = {(pod.namespace, pod.name): pod.metadata.labels for pod in cluster.list("Pod")}
    return [
        PodUsage(
            namespace,
            name,
            {c: MetricsUsage(round(cpus * 1e9), memory) for c, (cpus, memory) in used.items()},
            labels.get((namespace, name), {}),
        )
        for node in cluster.list("Node")
        for (namespace, name), used in cluster.node(node.name).usages().items()
    ]
