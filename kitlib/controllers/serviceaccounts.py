"""The ServiceAccount `default` in every namespace.

Source: pkg/controller/serviceaccount/serviceaccounts_controller.go (syncNamespace).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.core import Namespace, ServiceAccount
from kitlib.api.meta import ObjectMeta
from kitlib.controllers.controller import Controller, Handler, Key
from kitlib.controllers.informers import Delta

DEFAULT = "default"


class ServiceAccountsController(Controller):
    """The controller of the ServiceAccount in each namespace."""

    name: ClassVar[str] = "service-account-controller"

    def handlers(self) -> Mapping[str, Handler]:
        return {"Namespace": self._on_namespace, "ServiceAccount": self._on_account}

    def _on_namespace(self, change: Delta) -> None:
        if change.type != "DELETED":
            self.queue.add(("", change.new.name))

    def _on_account(self, change: Delta) -> None:
        if change.type == "DELETED" and change.new.name == DEFAULT:
            self.queue.add(("", change.new.namespace))

    def sync(self, key: Key) -> None:
        """Source: syncNamespace."""
        namespace: Namespace | None = self.find(Namespace, key)
        if namespace is None or namespace.metadata.deletion_timestamp is not None:
            return
        if self.api.store.find(ServiceAccount, DEFAULT, namespace.name, copy=False) is None:
            self.api.create(ServiceAccount(metadata=ObjectMeta(name=DEFAULT, namespace=namespace.name)))
