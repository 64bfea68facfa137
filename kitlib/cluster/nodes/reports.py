"""Writes a kubelet's reports into the object store: statuses, events, conditions, terminated pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from datetime import datetime

from kitlib.api.core import Node, Pod, PodStatus
from kitlib.api.meta import Condition
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.store.events import record
from kitlib.cluster.nodes.node_object import image_list
from kitlib.controllers.node_lifecycle import put_condition
from kitlib.kubelet.images.image_gc import Image


class StoreReports:
    """An implementation of `kitlib.kubelet.loop.interfaces.Reports` for one node.

    Before the node is registered, reports have no destination: `api` is set with the first pods.
    """

    def __init__(self, node: str, now: datetime) -> None:
        self.node, self._start = node, now
        self.api: APIServer | None = None

    def now(self) -> datetime:
        """Return the cluster's date."""
        return self.api.store.now() if self.api is not None else self._start

    def event(
        self,
        about: Pod | None,
        kind: str,
        reason: str,
        message: str,
        field: str = "",
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Record an event about a pod or a part of it, or about the node."""
        if self.api is not None:
            whom = about if about is not None else self._node(self.api)
            record(self.api, whom, kind, reason, message, "kubelet", field, annotations)

    def status(self, pod: Pod, status: PodStatus) -> None:
        """Write a pod's status, unless another pod has its name now."""
        standing = self._standing(pod)
        if standing is not None and self.api is not None:
            changed = copy(standing)
            changed.status = status
            self.api.update_status(changed)

    def gone(self, pod: Pod) -> None:
        """Delete the object of a terminated pod."""
        if self._standing(pod) is not None and self.api is not None:
            self.api.delete(Pod, pod.name, pod.namespace, grace=0)

    def condition(self, condition: Condition) -> None:
        """Write a condition of the node in place of the one of the same type."""
        if self.api is not None:
            put_condition(self.api, self._node(self.api), condition)

    def images(self, images: Sequence[Image]) -> None:
        """Write the images that are on the node now."""
        if self.api is not None:
            node = self._node(self.api)
            node.status.images = image_list(images)
            self.api.update_status(node)

    def _node(self, api: APIServer) -> Node:
        found: Node = api.store.get(Node, self.node)
        return found

    def _standing(self, pod: Pod) -> Pod | None:
        if self.api is None:
            return None
        standing: Pod | None = self.api.store.find(Pod, pod.name, pod.namespace, copy=False)
        return standing if standing is not None and standing.metadata.uid == pod.metadata.uid else None
