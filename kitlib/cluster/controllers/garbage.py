"""Garbage: what belonged to an object that is gone goes too; so do pods of nodes that are gone.

Source: pkg/controller/garbagecollector (attemptToDeleteItem), podgc (gcOrphaned), namespace (deleteAllContent).
"""

from __future__ import annotations

from kitlib.api.core import Namespace, Node, Pod
from kitlib.cluster.admission.apiserver import APIServer
from kitlib.cluster.store.kinds import RESOURCES

_OWNERS_LIVE_IN = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController")


def sync(api: APIServer) -> None:
    """Delete whatever has lost its owner, its namespace or its node."""
    owners = {one.metadata.uid for kind in _OWNERS_LIVE_IN for one in api.store.list(kind, copy=False)}
    for kind in ("ReplicaSet", "Pod"):
        for obj in api.store.list(kind, copy=False):
            if not obj.metadata.owner_references:
                continue
            refs = [ref for ref in obj.metadata.owner_references if ref.kind in _OWNERS_LIVE_IN]
            if refs and not any(ref.uid in owners for ref in refs) and obj.metadata.deletion_timestamp is None:
                api.delete(kind, obj.name, obj.namespace, grace=None)
    nodes = {node.name for node in api.store.list(Node, copy=False)}
    for pod in api.store.list(Pod, copy=False):
        if pod.spec.node_name and pod.spec.node_name not in nodes:
            api.delete(Pod, pod.name, pod.namespace)
    spaces = {namespace.name for namespace in api.store.list(Namespace, copy=False)}
    for kind in (r.kind for r in RESOURCES if r.namespaced):
        for gone in sorted(api.store.namespaces(kind) - spaces):
            for obj in api.store.list(kind, gone, copy=False):
                api.delete(kind, obj.name, gone)
