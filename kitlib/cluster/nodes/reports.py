"""Writes a kubelet's reports into the object store: statuses, events, conditions, terminated pods.

A report that the API server refuses, as a webhook or a policy may, does not disturb the kubelet: see `unsent_reports`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from kitlib.api.core import Node, Pod, PodStatus
from kitlib.api.errors import KitError
from kitlib.api.meta import Condition
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.store.events import record
from kitlib.cluster.nodes.node_object import image_list
from kitlib.controllers.node_lifecycle import put_condition
from kitlib.kubelet.images.image_gc import Image

if TYPE_CHECKING:
    from kitlib.cluster.nodes.unsent_reports import UnsentReports


class StoreReports:
    """An implementation of `kitlib.kubelet.loop.interfaces.Reports` for one node.

    Before the node is registered, reports have no destination: `api` is set with the first pods.
    """

    def __init__(self, node: str, now: datetime) -> None:
        self.node, self._start = node, now
        self.api: APIServer | None = None
        self.unsent: UnsentReports | None = None  # the way of all reports; None = each is written at once

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
        self._send("event", "", partial(self._record, about, kind, reason, message, field, annotations))

    def _record(
        self,
        about: Pod | None,
        kind: str,
        reason: str,
        message: str,
        field: str,
        annotations: Mapping[str, str] | None,
        api: APIServer,
    ) -> None:
        record(
            api, about if about is not None else self._node(api), kind, reason, message, "kubelet", field, annotations
        )

    def status(self, pod: Pod, status: PodStatus) -> None:
        """Write a pod's status, unless another pod has its name now."""
        self._send("pod", pod.metadata.uid, partial(self._write_status, pod, status))

    def _write_status(self, pod: Pod, status: PodStatus, api: APIServer) -> None:
        standing = self._standing(pod)
        if standing is not None:
            changed = copy(standing)
            changed.status = status
            api.update_status(changed)

    def gone(self, pod: Pod) -> None:
        """Delete the object of a terminated pod, after its last status."""
        before = self.unsent.waiting("pod", pod.metadata.uid) if self.unsent is not None else None
        self._send("pod", pod.metadata.uid, partial(self._delete, pod, before))

    def _delete(self, pod: Pod, before: Callable[[APIServer], None] | None, api: APIServer) -> None:
        if before is not None:
            before(api)
        if self._standing(pod) is not None:
            api.delete(Pod, pod.name, pod.namespace, grace=0)

    def condition(self, condition: Condition) -> None:
        """Write a condition of the node in place of the one of the same type."""
        self._send("condition", condition.type, partial(self._write_condition, condition))

    def _write_condition(self, condition: Condition, api: APIServer) -> None:
        put_condition(api, self._node(api), condition)

    def images(self, images: Sequence[Image]) -> None:
        """Write the images that are on the node now."""
        self._send("node", "images", partial(self._write_images, images))

    def _write_images(self, images: Sequence[Image], api: APIServer) -> None:
        node = self._node(api)
        node.status.images = image_list(images)
        api.update_status(node)

    def retry(self) -> None:
        """Send the refused reports again whose time has come."""
        if self.unsent is not None:
            self.unsent.retry()

    def _send(self, kind: str, name: str, write: Callable[[APIServer], None]) -> None:
        """Write a report in place of the unsent one about the same thing."""
        if self.api is None:
            return
        if self.unsent is None and self.api.webhooks is None:
            with suppress(KitError):  # a refused one is sent again by what remembers it
                write(self.api)
                return
        if self.unsent is None:
            from kitlib.cluster.nodes.unsent_reports import UnsentReports

            refused = partial(self.event, None, "Warning", "ReportRefused")
            self.unsent = UnsentReports(self.node, self.api, refused)
        self.unsent.send(kind, name, write)

    def _node(self, api: APIServer) -> Node:
        found: Node = api.store.get(Node, self.node)
        return found

    def _standing(self, pod: Pod) -> Pod | None:
        if self.api is None:
            return None
        standing: Pod | None = self.api.store.find(Pod, pod.name, pod.namespace, copy=False)
        return standing if standing is not None and standing.metadata.uid == pod.metadata.uid else None
