"""The namespaces that every cluster has. Source: controlplane systemnamespaces."""

from __future__ import annotations

from kitlib.api.core import Namespace, NamespaceSpec
from kitlib.api.meta import ObjectMeta
from kitlib.apiserver.admission.deletion import NAMESPACE_FINALIZER

NAMES = ("default", "kube-node-lease", "kube-public", "kube-system")


def system_namespaces() -> list[Namespace]:
    """Return the namespaces that exist before any other object."""
    return [
        Namespace(
            metadata=ObjectMeta(name=name, labels={"kubernetes.io/metadata.name": name}),
            spec=NamespaceSpec(finalizers=[NAMESPACE_FINALIZER]),
            status={"phase": "Active"},
        )
        for name in NAMES
    ]
