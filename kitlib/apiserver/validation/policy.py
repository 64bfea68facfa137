"""Validation of PodDisruptionBudgets and PriorityClasses.

Source: pkg/apis/policy/validation, pkg/apis/scheduling/validation.
"""

from __future__ import annotations

from kitlib.api.field_errors import (
    Errors,
    forbidden,
    invalid,
    is_not_more_than_100_percent,
    not_supported,
    validate_enum,
    validate_immutable_field,
    validate_positive_int_or_percent,
)
from kitlib.api.policy import HIGHEST_USER_PRIORITY, SYSTEM_PRIORITY_CLASSES, PodDisruptionBudget, PriorityClass
from kitlib.apiserver.validation.object_meta import (
    validate_label_selector,
    validate_object_meta,
    validate_object_meta_update,
    validate_path_segment_name,
)
from kitlib.apiserver.validation.rules import Rules

EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")


def validate_pod_disruption_budget(obj: PodDisruptionBudget) -> Errors:
    """Check a budget; its name must only be a path segment. Source: ValidatePodDisruptionBudget, rest.BeforeCreate."""
    found = _budget(obj)
    if found:
        return found
    rule = validate_path_segment_name
    return validate_object_meta(obj.metadata, namespaced=True, name_rule=rule, known_finalizers=False)


def _budget(obj: PodDisruptionBudget) -> Errors:
    """Source: ValidatePodDisruptionBudgetSpec."""
    spec = obj.spec
    found: Errors = []
    if spec.min_available is not None and spec.max_unavailable is not None:
        found.append(invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"))
    for name, value in (("minAvailable", spec.min_available), ("maxUnavailable", spec.max_unavailable)):
        if value is not None:
            found += validate_positive_int_or_percent(value, f"spec.{name}")
            found += is_not_more_than_100_percent(value, f"spec.{name}")
    found += validate_label_selector(spec.selector, "spec.selector")
    policy = spec.unhealthy_pod_eviction_policy
    if policy is not None and policy not in EVICTION_POLICIES:
        found.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, EVICTION_POLICIES))
    return found


def validate_pod_disruption_budget_update(new: PodDisruptionBudget, old: PodDisruptionBudget) -> Errors:
    """Source: podDisruptionBudgetStrategy.ValidateUpdate."""
    return _budget(new) or validate_object_meta_update(new.metadata, old.metadata, known_finalizers=False)


def validate_priority_class(obj: PriorityClass) -> Errors:
    """Source: ValidatePriorityClass, IsKnownSystemPriorityClass."""
    found = validate_object_meta(obj.metadata, namespaced=False)
    name = obj.metadata.name
    if name.startswith("system-"):
        problem = _unknown_system_class(obj)
        if problem:
            detail = f"priority class names with 'system-' prefix are reserved for system use only. error: {problem}"
            found.append(forbidden("metadata.name", detail))
    elif obj.value > HIGHEST_USER_PRIORITY:
        detail = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        found.append(forbidden("value", detail))
    if obj.preemption_policy is not None:
        policies = ("PreemptLowerPriority", "Never")
        found += validate_enum(obj.preemption_policy, "preemptionPolicy", policies)
    return found


def _unknown_system_class(obj: PriorityClass) -> str:
    name = obj.metadata.name
    value = SYSTEM_PRIORITY_CLASSES.get(name)
    if value is None:
        return f"{name} is not a known system priority class"
    if value != obj.value:
        return f"value of {name} PriorityClass must be {value}"
    return f"globalDefault of {name} PriorityClass must be false" if obj.global_default else ""


def validate_priority_class_update(new: PriorityClass, old: PriorityClass) -> Errors:
    """Check that value and policy are unchanged. Source: ValidatePriorityClassUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata)
    if new.value != old.value:
        found.append(forbidden("value", "may not be changed in an update."))
    return found + validate_immutable_field(new.preemption_policy, old.preemption_policy, "preemptionPolicy")


KINDS: Rules = {
    PodDisruptionBudget: (validate_pod_disruption_budget, validate_pod_disruption_budget_update),
    PriorityClass: (validate_priority_class, validate_priority_class_update),
}
