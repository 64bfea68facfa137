"""The bodies of the subresources `binding` and `eviction` of a pod.

Source: k8s.io/api/core/v1 types.go Binding; policy/v1 types.go Eviction.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kitlib.api.meta import KubeObject, ObjectMeta
from kitlib.api.volume import ObjectReference


class Binding(KubeObject):
    api_version: str = "v1"
    kind: str = "Binding"
    target: ObjectReference = msgspec.field(default_factory=ObjectReference)


class Eviction(KubeObject):
    api_version: str = "policy/v1"
    kind: str = "Eviction"
    delete_options: dict[str, Any] | None = None


def binding_of(name: str, namespace: str, node: str, given: ObjectMeta | None = None) -> Binding:
    """Return a Binding, by default the one that the scheduler sends.

    Args:
        name: the pod's name.
        namespace: the pod's namespace.
        node: the node's name.
        given: the metadata besides name and namespace; None = nothing.

    Source: defaultbinder DefaultBinder.Bind.
    """
    target = ObjectReference(kind="Node", name=node)
    if given is None:
        return Binding(metadata=ObjectMeta(name=name, namespace=namespace), target=target)
    return Binding(metadata=msgspec.structs.replace(given, name=name, namespace=namespace), target=target)


def eviction_of(name: str, namespace: str, grace: int | None) -> Eviction:
    """Return the eviction that `kubectl drain` sends. Source: kubectl pkg/drain EvictPod."""
    options = None if grace is None else {"gracePeriodSeconds": grace}
    return Eviction(metadata=ObjectMeta(name=name, namespace=namespace), delete_options=options)
