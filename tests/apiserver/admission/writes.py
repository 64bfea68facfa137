"""Writes and their context, to ask one admission plugin or one subresource without a cluster."""

from __future__ import annotations

from typing import Any

from kitlib.api.core import Pod
from kitlib.api.meta import KubeObject
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.admission.attributes import AdmissionAttributes, attributes_of
from kitlib.apiserver.admission.plugin import AdmissionContext


def made(kind: str, name: str = "a", api_version: str = "v1", namespace: str = "", **fields: Any) -> Any:
    meta = {"name": name, **({"namespace": namespace} if namespace else {}), **fields.pop("metadata", {})}
    return from_dict({"apiVersion": api_version, "kind": kind, "metadata": meta, **fields})


def pod(name: str = "p", namespace: str = "default", metadata: dict[str, Any] | None = None, **spec: Any) -> Pod:
    containers = {"containers": [{"name": "c", "image": "i"}]}
    found: Pod = made("Pod", name, namespace=namespace, metadata=metadata or {}, spec={**containers, **spec})
    return found


def write(
    new: KubeObject | None, old: KubeObject | None = None, *stored: KubeObject, subresource: str = ""
) -> tuple[AdmissionAttributes, AdmissionContext]:
    """Return the attributes and the context of a write to a store with these objects."""
    api = APIServer(release=Release("1.36"))
    for one in stored:
        api.store.create(one)
    return attributes_of(api.store, new, old, subresource), AdmissionContext(api.store, api.release)
