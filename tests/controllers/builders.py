"""Manifests and clusters that the controllers' tests share."""

from __future__ import annotations

from typing import Any

from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster


def hollow(nodes: Any = 2, **settings: Any) -> SimulatedCluster:
    """A cluster without kernels: pods run as soon as they are bound."""
    return Cluster.simulated(nodes, kubelets=False, **settings)


def template(app: str, image: str = "app:1", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": image}
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [container], **spec}}


def workload(kind: str, name: str = "web", replicas: int | None = None, **spec: Any) -> dict[str, Any]:
    """A Deployment, ReplicaSet, StatefulSet or DaemonSet that selects `app: NAME`."""
    made = {"selector": {"matchLabels": {"app": name}}, "template": template(name), **spec}
    if replicas is not None:
        made["replicas"] = replicas
    if kind == "StatefulSet":
        made.setdefault("serviceName", name)
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": made}


def pod(name: str, app: str = "web", **spec: Any) -> dict[str, Any]:
    meta = {"name": name, "labels": {"app": app}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**template(app)["spec"], **spec}}


def image(tag: int) -> dict[str, Any]:
    """A patch that makes a new version of the template."""
    return {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": f"app:{tag}"}]}}}}


def budget(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
    }


def names(cluster: SimulatedCluster) -> list[str]:
    return sorted(found.name for found in cluster.pods())


def conditions(status: Any) -> dict[str, tuple[str, str]]:
    """Type -> status and reason, of plain or typed conditions."""
    if isinstance(status, dict):
        return {one["type"]: (one["status"], one["reason"]) for one in status["conditions"]}
    return {one.type: (one.status, one.reason) for one in status.conditions}


def told(cluster: SimulatedCluster, kind: str) -> list[tuple[str, str]]:
    """Reason and message of the events about objects of a kind."""
    return [(e.reason, e.message) for e in cluster.events() if e.involved_object.kind == kind]
