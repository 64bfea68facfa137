"""Admin access to devices needs a label of the namespace."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.devices import ResourceClaim, ResourceClaimTemplate
from kitlib.api.serialize import from_dict
from kitlib.apiserver.admission.validation import admin_access

LABEL = "resource.kubernetes.io/admin-access"
DETAIL = (
    "Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the "
    "containing namespace"
)


def request(name: str, admin: bool | None) -> dict[str, Any]:
    return {"name": name, "exactly": {"deviceClassName": "d", "adminAccess": admin}}


DEVICES = {
    "devices": {
        "requests": [
            request("a", None),
            request("b", True),
            {"name": "c", "firstAvailable": [{"name": "x"}]},
            request("d", False),
            request("e", True),
        ]
    }
}


@pytest.mark.parametrize(
    ("labels", "allowed"),
    [({LABEL: "true"}, True), ({LABEL: "false"}, False), ({LABEL: ""}, False), ({}, False), ({"x": "true"}, False)],
)
def test_requests_with_admin_access(labels: dict[str, str], allowed: bool) -> None:
    """Source: AuthorizedForAdmin."""
    claim = from_dict({"spec": DEVICES}, ResourceClaim)
    template = from_dict({"spec": {"spec": DEVICES}}, ResourceClaimTemplate)
    for obj, path in ((claim, "spec"), (template, "spec.spec")):
        places = [] if allowed else [1, 4]
        expected = [f"{path}.devices.requests[{i}].exactly.adminAccess: {DETAIL}" for i in places]
        assert [str(error) for error in admin_access(obj, labels)] == expected
