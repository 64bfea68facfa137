"""The types of each API group, loaded with the first object of the group.

A manifest of one Pod loads no types of autoscaling, networking or access rules.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from kitlib.api.meta import KubeObject

GROUPS = {
    "": "core",
    "admissionregistration.k8s.io": "admissionregistration",
    "apiextensions.k8s.io": "apiextensions",
    "apiregistration.k8s.io": "certificates",
    "apps": "apps",
    "autoscaling": "autoscaling",
    "batch": "batch",
    "certificates.k8s.io": "certificates",
    "coordination.k8s.io": "coordination",
    "discovery.k8s.io": "networking",
    "flowcontrol.apiserver.k8s.io": "flowcontrol",
    "networking.k8s.io": "networking",
    "node.k8s.io": "coordination",
    "policy": "policy",
    "rbac.authorization.k8s.io": "rbac",
    "resource.k8s.io": "devices",
    "scheduling.k8s.io": "policy",
    "storage.k8s.io": "storage",
}
"""The module with the types of each API group; it is loaded with the first object of the group."""
SAME_FIELDS = (
    *(("resource.k8s.io/v1beta2", kind) for kind in ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate")),
    ("resource.k8s.io/v1beta2", "ResourceSlice"),
    *((f"resource.k8s.io/{version}", "DeviceTaintRule") for version in ("v1", "v1alpha3")),
)
"""The versions and kinds whose fields equal those of a type of the kit in another version."""
STORED_AS = {"HorizontalPodAutoscalerV1": "autoscaling_v1.to_v2"}
"""The types of versions that are not stored, and the function that converts their data to the stored version."""


def type_of(api_version: str, kind: str) -> type[KubeObject]:
    """Return the type of a group, version and kind; `KubeObject` where the kit has no type for the kind."""
    return _types(api_version.rpartition("/")[0]).get((api_version, kind), KubeObject)


@cache
def _types(group: str) -> dict[tuple[str, str], type[KubeObject]]:
    found: dict[tuple[str, str], type[KubeObject]] = {}
    if group not in GROUPS:
        return found
    for member in vars(import_module(f"kitlib.api.{GROUPS[group]}")).values():
        if isinstance(member, type) and issubclass(member, KubeObject) and member is not KubeObject:
            sample = member()
            if sample.api_version.rpartition("/")[0] == group:
                found[sample.api_version, sample.kind] = member
    by_kind = {kind: member for (_, kind), member in found.items()}
    for version, kind in SAME_FIELDS:
        if version.rpartition("/")[0] == group:
            found[version, kind] = by_kind[kind]
    return found


def stored_as(type_: type[KubeObject], data: dict[str, Any]) -> dict[str, Any] | None:
    """Return an object's data in the version that is stored; None if the object has that version already."""
    place = STORED_AS.get(type_.__name__)
    if place is None:
        return None
    module, _, name = place.partition(".")
    stored: dict[str, Any] = getattr(import_module(f"kitlib.api.{module}"), name)(data)
    return stored
