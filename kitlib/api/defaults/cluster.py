"""Defaults of objects that an administrator makes: nodes, namespaces, limits, priorities.

Source: pkg/apis/core/v1/defaults.go, pkg/apis/scheduling/v1/defaults.go.
"""

from __future__ import annotations

from kitlib.api.core import LimitRange, Namespace, Node
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
