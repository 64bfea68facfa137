"""The defaults of device claims.

Source: pkg/apis/resource/v1/defaults.go.
"""

from __future__ import annotations

from kitlib.api.claims import asked_for
from kitlib.api.devices import EXACT_COUNT, ResourceClaim, ResourceClaimTemplate


def resource_claim_template(obj: ResourceClaimTemplate) -> None:
    """Source: SetObjectDefaults_ResourceClaimTemplate."""
    resource_claim(ResourceClaim(spec=obj.spec.spec))


def resource_claim(claim: ResourceClaim) -> None:
    """Default a request's count to one device. Source: SetDefaults_ExactDeviceRequest, SetDefaults_DeviceSubRequest."""
    for _, request in asked_for(claim):
        request.allocation_mode = request.allocation_mode or EXACT_COUNT
        if request.allocation_mode == EXACT_COUNT and request.count == 0:
            request.count = 1
        for toleration in request.tolerations:
            toleration.operator = toleration.operator or "Equal"
