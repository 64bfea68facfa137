"""Validation of what is applied that needs more than the object: the `resize` subresource, administrators' claims.

Source: pkg/apis/core/validation ValidatePodResize; registry/resource AuthorizedForAdmin.
"""

from __future__ import annotations

from collections.abc import Mapping

from kitlib.api.core import Container, Pod
from kitlib.api.devices import ResourceClaim, ResourceClaimTemplate
from kitlib.api.serialize import deepcopy
from kitlib.api.validation import validate_pod_create
from kitlib.api.validation.fields import Errors, forbidden, invalid
from kitlib.kubelet.qos.qos_class import compute_pod_qos

_ADMIN = "resource.kubernetes.io/admin-access"


def admin_access(obj: ResourceClaim | ResourceClaimTemplate, labels: Mapping[str, str]) -> Errors:
    """Claims with access to devices that others use are for namespaces that allow it. Source: AuthorizedForAdmin."""
    if labels.get(_ADMIN) == "true":
        return []
    claim = obj.spec.spec if isinstance(obj, ResourceClaimTemplate) else obj.spec
    path = "spec.spec" if isinstance(obj, ResourceClaimTemplate) else "spec"
    detail = f"admin access to devices requires the `{_ADMIN}: true` label on the containing namespace"
    return [
        forbidden(f"{path}.devices.requests[{i}].exactly.adminAccess", detail)
        for i, request in enumerate(claim.devices.requests)
        if request.exactly is not None and request.exactly.admin_access
    ]


def validate_pod_resize(new: Pod, old: Pod) -> Errors:
    """Only CPU and memory of containers may change, and the QoS class stays. Source: ValidatePodResize."""
    errors: Errors = []
    if compute_pod_qos(new) != compute_pod_qos(old):
        detail = "Pod QOS Class may not change as a result of resizing"
        errors.append(invalid("spec", compute_pod_qos(new), detail))
    alike = deepcopy(new)
    for mine, theirs in zip(_containers(alike), _containers(old), strict=False):
        for kind in ("requests", "limits"):
            changed, standing = getattr(mine.resources, kind), getattr(theirs.resources, kind)
            others = {name for name in {*changed, *standing} if name not in ("cpu", "memory")}
            if all(changed.get(name) == standing.get(name) for name in others):
                setattr(mine.resources, kind, standing)
    if alike.spec != old.spec:
        errors.append(forbidden("spec", "only cpu and memory resources are mutable"))
    return errors + [error for error in validate_pod_create(deepcopy(new)) if "resources" in error.field]


def _containers(pod: Pod) -> tuple[Container, ...]:
    return (*pod.spec.containers, *pod.spec.init_containers)
