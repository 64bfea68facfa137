"""CustomResourceDefinitions for tests: names, scope, versions and their subresources."""

from __future__ import annotations

from typing import Any

OPEN = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}


def definition(plural: str, kind: str, group: str, *, scope: str = "Namespaced", **version: Any) -> dict[str, Any]:
    """Return a definition with one version, v1, that keeps every field; `version` adds to it."""
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": OPEN, **version}]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": scope, "names": names, "versions": versions},
    }


def custom(kind: str, group: str, name: str = "x", **fields: Any) -> dict[str, Any]:
    """Return an object of a custom kind in the namespace `default`; `metadata` adds to its metadata."""
    metadata = {"name": name, "namespace": "default", **fields.pop("metadata", {})}
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, **fields}
