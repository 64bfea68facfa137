"""Which ConfigMaps and Secrets a node must be sent: those that its pods refer to, all of them after any change.

Source: plugin/pkg/auth/authorizer/node: a kubelet may read what its pods name, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable

from kitlib.api.core import Pod
from kitlib.api.serialize import to_dict
from kitlib.cluster.store.store import Store
from kitlib.kubelet.pods.objects import Reference, references


class ObjectSync:
    """The objects of one node as the node knows them."""

    def __init__(self) -> None:
        self._sent: dict[Reference, str] = {}

    def changes(self, pods: Iterable[Pod], store: Store) -> list[dict[str, object]] | None:
        """The manifests to send; None where nothing has changed. They count as sent."""
        wanted = sorted({one for pod in pods for one in references(pod)})
        if not wanted and not self._sent:
            return None
        found = {one: store.find(one.kind, one.name, one.namespace, copy=False) for one in wanted}
        there = {one: obj for one, obj in found.items() if obj is not None}
        versions = {one: f"{obj.metadata.uid}/{obj.metadata.resource_version}" for one, obj in there.items()}
        if versions == self._sent:
            return None
        self._sent = versions
        return [to_dict(obj) for obj in there.values()]
