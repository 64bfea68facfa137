"""The resources of kube-apiserver 1.36.2: names, verbs, categories, and the columns of their Tables."""

from __future__ import annotations

from typing import Any

from kitlib.apiserver.http.resources import APIResource, ResourceTable

FILE = "api_resources"
RELEASE = "1.36"
INPUTS = frozenset({"groupVersion", "resource"})

CUSTOM = {
    "metadata": {"name": "foos.e.io"},
    "spec": {
        "group": "e.io",
        "scope": "Namespaced",
        "names": {"plural": "foos", "singular": "foo", "kind": "Foo"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}
"""The CustomResourceDefinition that existed on the recorded server."""


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Return a resource's discovery entry and Table columns."""
    group, _, version = case["groupVersion"].rpartition("/")
    served = ResourceTable([CUSTOM]).find(group, version, case["resource"])
    return {} if served is None else _shown(served)


def compare(_case: dict[str, Any], field: str, expected: Any, found: Any) -> bool:
    """Compare verbs and categories as sets: their order differs between built-in and custom resources."""
    return field in ("verbs", "categories") and sorted(expected) == sorted(found)


def _shown(served: APIResource) -> dict[str, Any]:
    return {
        "kind": served.kind,
        "singular": served.singular,
        "shortNames": list(served.short_names),
        "categories": list(served.categories),
        "namespaced": served.namespaced,
        "verbs": list(served.verbs),
        "columns": [[c.name, c.type, c.format, c.priority] for c in served.columns],
    }
