"""Clusters and manifests that the rebuilt public reports share."""

from __future__ import annotations

from typing import Any

from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def nodes(*given: dict[str, Any] | str, **settings: Any) -> SimulatedCluster:
    """Return hollow nodes from names, or mappings as for `Cluster.simulated`; the other settings are the cluster's."""
    listed = [{"name": one} if isinstance(one, str) else one for one in given]
    return Cluster.simulated(listed, kubelets=False, **settings)


def label(cluster: SimulatedCluster, node: str, **labels: str) -> None:
    cluster.patch("Node", node, {"metadata": {"labels": {key.replace("__", "/"): v for key, v in labels.items()}}})


def taint(cluster: SimulatedCluster, node: str, key: str, effect: str) -> None:
    cluster.patch("Node", node, {"spec": {"taints": [{"key": key, "effect": effect}]}})


def pod(name: str, cpu: str = "", labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    container: dict[str, Any] = {"name": "c", "image": spec.pop("image", "app:1")}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}}
    container |= spec.pop("container", {})
    meta = {"name": name, "labels": labels or {"app": name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container], **spec}}


def workload(kind: str, name: str, replicas: int, **spec: Any) -> dict[str, Any]:
    """Return a workload with the pods of `pod`; the rest of `spec` in `of_set` belongs to the workload's own spec."""
    own = spec.pop("of_set", {})
    template = pod(name, **spec)
    wanted = {
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": template["metadata"]["labels"]}, "spec": template["spec"]},
        **({"replicas": replicas} if kind != "DaemonSet" else {}),
        **({"serviceName": name} if kind == "StatefulSet" else {}),
        **own,
    }
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": wanted}


def spread(key: str, when: str = "DoNotSchedule", app: str = "web", **more: Any) -> dict[str, Any]:
    one = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": {"matchLabels": {"app": app}}}
    return {"topologySpreadConstraints": [{**one, **more}]}


def apart(app: str = "web", key: str = HOSTNAME) -> dict[str, Any]:
    """Return a required anti-affinity of a workload's pods to each other."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def on_nodes(cluster: SimulatedCluster, app: str = "") -> dict[str, int]:
    """Return node -> its pods that have not ended; "" = waiting."""
    found: dict[str, int] = {}
    for one in cluster.pods():
        if one.status.phase not in ("Failed", "Succeeded") and app in ("", one.metadata.labels.get("app")):
            found[one.spec.node_name] = found.get(one.spec.node_name, 0) + 1
    return found


def why(cluster: SimulatedCluster, name: str) -> str:
    """Return the message of a waiting pod's condition."""
    conditions = cluster.pod(name).status.conditions
    return next((one.message for one in conditions if one.type == "PodScheduled" and one.status == "False"), "")


def waiting(cluster: SimulatedCluster) -> list[str]:
    return [one.name for one in cluster.pods() if not one.spec.node_name]


def priority(name: str, value: int) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }
