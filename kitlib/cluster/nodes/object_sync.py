"""Which ConfigMaps and Secrets a node must be sent: those that its pods refer to, all of them after any change.

Source: plugin/pkg/auth/authorizer/node: a kubelet may read what its pods name, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from kitlib.api.core import ConfigMap, Pod, Secret
from kitlib.api.serialize import to_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.cluster.nodes.projected_tokens import ProjectedTokens
from kitlib.kubelet.pods.objects import Reference, references, tokens


class ObjectSync:
    """The objects of one node as the node knows them."""

    def __init__(self) -> None:
        self._sent: dict[Reference, str] = {}
        self._tokens = ProjectedTokens()

    def changes(self, pods: Sequence[Pod], api: APIServer) -> list[dict[str, object]] | None:
        """The manifests to send; None where nothing has changed. They count as sent."""
        wanted = sorted({one for pod in pods for one in (*references(pod), *tokens(pod))})
        if not wanted and not self._sent:
            return None
        find = self._tokens.finder(api)
        found = {one: find(one) for one in wanted}
        there = {one: cast("ConfigMap | Secret", obj) for one, obj in found.items() if obj is not None}
        versions = {one: f"{obj.metadata.uid}/{obj.metadata.resource_version}" for one, obj in there.items()}
        if versions == self._sent:
            return None
        self._sent = versions
        return [to_dict(obj) for obj in there.values()]
