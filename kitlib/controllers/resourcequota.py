"""ResourceQuotas: admission adds to the usage in their status, and this controller recounts it.

Source: pkg/controller/resourcequota/resource_quota_controller.go (syncResourceQuota), resource_quota_monitor.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.core import ResourceQuota
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission import quota
from kitlib.controllers.controller import ANY_KIND, Controller, Handler, Key
from kitlib.controllers.informers import Delta


class ResourceQuotaController(Controller):
    """The controller of ResourceQuotas."""

    name: ClassVar[str] = "resourcequota-controller"

    def handlers(self) -> Mapping[str, Handler]:
        return {ANY_KIND: self._on_object, "ResourceQuota": self._on_quota}

    def _on_quota(self, change: Delta) -> None:
        self._on_object(change)
        if change.type != "DELETED":
            self.enqueue(change.new)

    def _on_object(self, change: Delta) -> None:
        namespace = change.new.namespace
        if namespace and self.informers.has_any("ResourceQuota", namespace):
            for item in self.informers.of_namespace("ResourceQuota", namespace):
                self.enqueue(item)

    def sync(self, key: Key) -> None:
        """Count the usage of the resources that the quota limits."""
        one: ResourceQuota | None = self.find(ResourceQuota, key)
        if one is None:
            return
        store = self.api.store
        kinds = [kind for kind in store.kinds.all() if kind.namespaced]
        objects = ((obj, kind) for kind in kinds for obj in store.list(kind, one.namespace, copy=False))
        counted = quota.used(one, objects)
        if counted != one.status.used or one.status.hard != one.spec.hard:
            changed = deepcopy(one)
            changed.status.hard, changed.status.used = dict(one.spec.hard), counted
            self.api.store.update(changed)
