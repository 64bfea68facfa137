"""Validation of the status of claims, ReplicationControllers, quotas and Services.

Source: pkg/apis/core/validation ValidatePersistentVolumeClaimStatusUpdate, ValidateReplicationControllerStatus,
ValidateResourceQuotaStatusUpdate, ValidateServiceStatusUpdate.
"""

from __future__ import annotations

from typing import Any

from kitlib.api.core import PersistentVolumeClaim, ReplicationController, ResourceQuota, Service
from kitlib.api.field_errors import (
    Errors,
    each,
    forbidden,
    invalid,
    not_supported,
    validate_nonnegative_field,
)
from kitlib.api.meta import KubeObject
from kitlib.api.names import is_dns1123_subdomain, is_qualified_name, is_valid_ip, parse_ip
from kitlib.api.resource import Quantity
from kitlib.api.resource_names import is_native

IP_MODES = ("Proxy", "VIP")
RESIZE_STATUSES = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)


def validate_status_update(new: KubeObject, old: KubeObject) -> Errors:
    """Return the errors of a new status; [] for a kind without such rules."""
    if isinstance(new, PersistentVolumeClaim):
        return _claim(new)
    if isinstance(new, ReplicationController):
        return _replication_controller(new)
    if isinstance(new, ResourceQuota):
        from kitlib.apiserver.validation.quota import validate_quantities

        return validate_quantities(new.status.hard, "status.hard") + validate_quantities(new.status.used, "status.used")
    if isinstance(new, Service) and isinstance(old, Service):
        return _load_balancer(new, old)
    return []


def _basic(quantity: Quantity, field: str) -> Errors:
    """Source: validateBasicResource."""
    value = quantity.value()
    return [invalid(field, value, "must be a valid resource quantity")] if value < 0 else []


def _claim(claim: PersistentVolumeClaim) -> Errors:
    """Source: ValidatePersistentVolumeClaimStatusUpdate."""
    found: Errors = []
    for name, quantity in claim.status.capacity.items():
        found += _basic(quantity, f"status.capacity[{name}]")
    place = "status.allocatedResourceStatuses"
    for name, state in claim.status.allocated_resource_statuses.items():
        found += _claim_resource(name, place)
        if state not in RESIZE_STATUSES:
            found.append(not_supported(place, name, RESIZE_STATUSES))
    place = "status.allocatedResources"
    for name, quantity in claim.status.allocated_resources.items():
        found += _claim_resource(name, place) or _basic(quantity, f"{place}[{name}]")
    return found


def _claim_resource(name: str, field: str) -> Errors:
    """Check that a resource is storage or not one of Kubernetes' own.

    Source: validatePersistentVolumeClaimResourceKey.
    """
    found = each(field, name, is_qualified_name(name))
    if not found and is_native(name) and name != "storage":
        found.append(not_supported(field, name, ("storage",)))
    return found


def _replication_controller(controller: ReplicationController) -> Errors:
    """Source: ValidateReplicationControllerStatus."""
    status = controller.status
    counts = {
        "replicas": status.replicas,
        "fullyLabeledReplicas": status.fully_labeled_replicas,
        "readyReplicas": status.ready_replicas,
        "availableReplicas": status.available_replicas,
    }
    found: Errors = []
    for name, count in (*counts.items(), ("observedGeneration", status.observed_generation)):
        found += validate_nonnegative_field(count, f"status.{name}")
    for name, count in counts.items():
        if count > status.replicas:
            found.append(invalid(f"status.{name}", count, "cannot be greater than status.replicas"))
    if status.available_replicas > status.ready_replicas:
        detail = "cannot be greater than readyReplicas"
        found.append(invalid("status.availableReplicas", status.available_replicas, detail))
    return found


def _ingress(service: Service) -> list[dict[str, Any]]:
    return (service.status.get("loadBalancer") or {}).get("ingress") or []


def _load_balancer(new: Service, old: Service) -> Errors:
    """Source: ValidateLoadBalancerStatus."""
    points, place = _ingress(new), "status.loadBalancer.ingress"
    if points and new.spec.type != "LoadBalancer":
        return [forbidden(place, "may only be used when `spec.type` is 'LoadBalancer'")]
    existing = {point["ip"] for point in _ingress(old) if point.get("ip")}
    found: Errors = []
    for i, point in enumerate(points):
        ip, mode, name = point.get("ip") or "", point.get("ipMode"), point.get("hostname") or ""
        if ip:
            found += each(f"{place}[{i}].ip", ip, is_valid_ip(ip, existing))
        if mode is not None and not ip:
            found.append(forbidden(f"{place}[{i}].ipMode", "may not be specified when `ip` is not set"))
        elif mode is not None and mode not in IP_MODES:
            found.append(not_supported(f"{place}[{i}].ipMode", mode, IP_MODES))
        if name:
            found += each(f"{place}[{i}].hostname", name, is_dns1123_subdomain(name))
            if parse_ip(name) is not None:
                found.append(invalid(f"{place}[{i}].hostname", name, "must be a DNS name, not an IP address"))
    return found
