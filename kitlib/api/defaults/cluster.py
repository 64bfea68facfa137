"""Defaults of objects that an administrator makes: nodes, namespaces, limits, priorities, claims of devices.

Source: pkg/apis/core/v1/defaults.go, pkg/apis/scheduling/v1/defaults.go, pkg/apis/resource/v1/defaults.go.
"""

from __future__ import annotations

from kitlib.api.claims import asked_for
from kitlib.api.core import LimitRange, Namespace, Node
from kitlib.api.devices import EXACT_COUNT, ResourceClaim, ResourceClaimTemplate
from kitlib.api.policy import PriorityClass


def node(obj: Node) -> None:
    """Set a missing allocatable to the capacity. Source: SetDefaults_NodeStatus."""
    if not obj.status.allocatable:
        obj.status.allocatable = dict(obj.status.capacity)


def namespace(obj: Namespace) -> None:
    """Add the label with the namespace's name. Source: SetDefaults_Namespace."""
    if obj.metadata.name:
        obj.metadata.labels["kubernetes.io/metadata.name"] = obj.metadata.name


def priority_class(obj: PriorityClass) -> None:
    """Source: SetDefaults_PriorityClass."""
    if obj.preemption_policy is None:
        obj.preemption_policy = "PreemptLowerPriority"


def resource_claim_template(obj: ResourceClaimTemplate) -> None:
    """Source: SetObjectDefaults_ResourceClaimTemplate."""
    resource_claim(ResourceClaim(spec=obj.spec.spec))


def limit_range(limits: LimitRange) -> None:
    """Set default from max, and defaultRequest from default and min. Source: SetDefaults_LimitRangeItem."""
    for item in limits.spec.limits:
        if item.type != "Container":
            continue
        for name, quantity in item.max.items():
            item.default.setdefault(name, quantity)
        for source in (item.default, item.min):
            for name, quantity in source.items():
                item.default_request.setdefault(name, quantity)


def resource_claim(claim: ResourceClaim) -> None:
    """Default a request's count to one device. Source: SetDefaults_ExactDeviceRequest, SetDefaults_DeviceSubRequest."""
    for _, request in asked_for(claim):
        request.allocation_mode = request.allocation_mode or EXACT_COUNT
        if request.allocation_mode == EXACT_COUNT and request.count == 0:
            request.count = 1
        for toleration in request.tolerations:
            toleration.operator = toleration.operator or "Equal"
