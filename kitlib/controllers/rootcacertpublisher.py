"""The ConfigMap `kube-root-ca.crt` in every namespace, with which pods verify the API server.

The certificate is the one that the API server publishes in `kube-system/extension-apiserver-authentication` while it
serves over HTTP.

Source: pkg/controller/certificates/rootcacertpublisher (syncNamespace); pkg/controlplane clusterauthenticationtrust.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.core import ConfigMap, Namespace
from kitlib.api.meta import ObjectMeta
from kitlib.apiserver.admission.service_account import AUTHENTICATION, CLIENT_CA, ROOT_CA, SYSTEM
from kitlib.controllers.controller import Controller, Handler, Key
from kitlib.controllers.informers import Delta

_DESCRIPTION = "kubernetes.io/description"
DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)
"""Source: rootcacertpublisher Description."""


class RootCACertificatePublisher(Controller):
    """The controller of the ConfigMap in each namespace."""

    name: ClassVar[str] = "root-ca-certificate-publisher-controller"
    account: ClassVar[str] = "root-ca-cert-publisher"

    def handlers(self) -> Mapping[str, Handler]:
        return {"Namespace": self._on_namespace, "ConfigMap": self._on_config_map}

    def _on_namespace(self, change: Delta) -> None:
        if change.type != "DELETED":
            self.queue.add(("", change.new.name))

    def _on_config_map(self, change: Delta) -> None:
        if change.new.name == ROOT_CA:
            self.queue.add(("", change.new.namespace))
        elif (change.new.namespace, change.new.name) == (SYSTEM, AUTHENTICATION):
            for namespace in self.api.store.list(Namespace, copy=False):
                self.queue.add(("", namespace.name))

    def sync(self, key: Key) -> None:
        """Source: syncNamespace."""
        published = self.api.store.find(ConfigMap, AUTHENTICATION, SYSTEM, copy=False)
        namespace: Namespace | None = self.find(Namespace, key)
        if published is None or namespace is None or namespace.metadata.deletion_timestamp is not None:
            return
        data = {"ca.crt": published.data.get(CLIENT_CA, "")}
        standing = self.api.store.find(ConfigMap, ROOT_CA, namespace.name)
        if standing is None:
            meta = ObjectMeta(name=ROOT_CA, namespace=namespace.name, annotations={_DESCRIPTION: DESCRIPTION})
            self.api.create(ConfigMap(metadata=meta, data=data))
        elif standing.data != data:
            standing.data = data
            self.api.update(standing)
