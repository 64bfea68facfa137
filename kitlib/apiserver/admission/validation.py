"""Validation that needs more than the object: the admin access of ResourceClaims.

Source: registry/resource AuthorizedForAdmin.
"""

from __future__ import annotations

from collections.abc import Mapping

from kitlib.api.devices import ResourceClaim, ResourceClaimTemplate
from kitlib.api.field_errors import Errors, forbidden

_ADMIN = "resource.kubernetes.io/admin-access"


def admin_access(obj: ResourceClaim | ResourceClaimTemplate, labels: Mapping[str, str]) -> Errors:
    """Return errors for admin access to devices unless the namespace's label allows it. Source: AuthorizedForAdmin."""
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
