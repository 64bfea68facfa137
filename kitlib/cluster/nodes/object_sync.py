"""Selects the objects to send to a node: its Node, what its pods refer to, Services; all of them after any change.

Source: plugin/pkg/auth/authorizer/node: a kubelet may read what its pods name, and nothing else but Services.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

from kitlib.api.core import (
    ConfigMap,
    Node,
    NodeSpec,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    Secret,
    Service,
)
from kitlib.api.meta import ObjectMeta
from kitlib.api.serialize import to_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.cluster.nodes.node_object import find_object
from kitlib.cluster.nodes.projected_tokens import ProjectedTokens
from kitlib.kubelet.pods.objects import (
    API_SERVICE,
    NODE,
    SERVICE,
    Reference,
    references,
    services_of,
    tokens,
    volume_of,
)

Known = ConfigMap | Secret | PersistentVolumeClaim | PersistentVolume | Node | Service


class ObjectSync:
    """The objects that one node has received.

    Args:
        name: the node's name.
    """

    def __init__(self, name: str) -> None:
        self._node = Reference(NODE, "", name)
        self._sent: dict[Reference, str] = {}
        self._tokens = ProjectedTokens()

    def changes(self, pods: Sequence[Pod], api: APIServer) -> list[dict[str, object]] | None:
        """Return the manifests to send, and count them as sent; None where nothing has changed."""
        if not pods and not self._sent:
            return None
        wanted = sorted({one for pod in pods for one in (*references(pod), *tokens(pod))})
        find = partial(find_object, api, lambda: self._tokens)
        found = {one: find(one) for one in (self._node, API_SERVICE, *wanted)}
        for listed in {services_of(pod) for pod in pods if pod.spec.enable_service_links is not False}:
            services = cast("list[Service]", find(listed))
            found |= {Reference(SERVICE, one.namespace, one.name): one for one in services}
        claims = [one for one in found.values() if isinstance(one, PersistentVolumeClaim) and one.spec.volume_name]
        found |= {one: find(one) for one in map(volume_of, claims)}
        there = {one: _reduced(cast("Known", obj)) for one, obj in found.items() if obj is not None}
        versions = {one: _version(obj) for one, obj in there.items()}
        if versions == self._sent:
            return None
        self._sent = versions
        return [to_dict(obj) for obj in there.values()]


def _reduced(obj: Known) -> Known:
    """Return the part of a Node that admission reads: its status, which changes often, is left out."""
    if not isinstance(obj, Node):
        return obj
    meta = ObjectMeta(name=obj.name, uid=obj.metadata.uid, labels=obj.metadata.labels)
    return Node(metadata=meta, spec=NodeSpec(taints=obj.spec.taints))


def _version(obj: Known) -> str:
    if isinstance(obj, Node):
        # not the resource version, which changes with every status of the node
        return f"{obj.metadata.uid}/{sorted(obj.metadata.labels.items())}/{obj.spec.taints}"
    return f"{obj.metadata.uid}/{obj.metadata.resource_version}"
