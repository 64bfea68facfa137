"""Validation of device taints, tolerations of requests, and DeviceTaintRules.

Source: pkg/apis/resource/validation validateDeviceTaint, validateDeviceToleration, ValidateDeviceTaintRule.
"""

from __future__ import annotations

from kitlib.api.devices import DeviceTaint, DeviceTaintRule, DeviceTaintSelector, DeviceToleration
from kitlib.api.field_errors import Errors, each, invalid, not_supported, required
from kitlib.api.names import is_valid_label_value
from kitlib.apiserver.validation.device_names import validate_device_name, validate_driver_name, validate_pool_name
from kitlib.apiserver.validation.object_meta import (
    validate_label_name,
    validate_object_meta,
    validate_object_meta_update,
)
from kitlib.apiserver.validation.rules import Rules

EFFECTS = ("NoExecute", "NoSchedule", "None")
OPERATORS = ("Equal", "Exists")


def validate_device_taint(taint: DeviceTaint, old: DeviceTaint | None, path: str) -> Errors:
    """Source: validateDeviceTaint."""
    found = validate_label_name(taint.key, f"{path}.key")
    if taint.value:
        found += each(f"{path}.value", taint.value, is_valid_label_value(taint.value))
    if old is None or old.effect != taint.effect:
        if not taint.effect:
            found.append(required(f"{path}.effect"))
        elif taint.effect not in EFFECTS:
            found.append(not_supported(f"{path}.effect", taint.effect, EFFECTS))
    return found


def validate_device_toleration(device_toleration: DeviceToleration, path: str) -> Errors:
    """Source: validateDeviceToleration."""
    found = validate_label_name(device_toleration.key, f"{path}.key") if device_toleration.key else []
    if device_toleration.operator == "Exists":
        if device_toleration.value:
            found.append(invalid(f"{path}.value", device_toleration.value, "must be empty for operator `Exists`"))
    elif device_toleration.operator == "Equal":
        found += each(f"{path}.value", device_toleration.value, is_valid_label_value(device_toleration.value))
    elif not device_toleration.operator:
        found.append(required(f"{path}.operator"))
    else:
        found.append(not_supported(f"{path}.operator", device_toleration.operator, OPERATORS))
    if device_toleration.effect and device_toleration.effect not in EFFECTS:
        found.append(not_supported(f"{path}.effect", device_toleration.effect, EFFECTS))
    return found


def validate_device_taint_rule(rule: DeviceTaintRule) -> Errors:
    """Source: ValidateDeviceTaintRule, validateDeviceTaintRuleSpec."""
    found = validate_object_meta(rule.metadata, namespaced=False)
    found += _selector(rule.spec.device_selector, "spec.deviceSelector")
    return found + validate_device_taint(rule.spec.taint, None, "spec.taint")


def validate_device_taint_rule_update(new: DeviceTaintRule, old: DeviceTaintRule) -> Errors:
    """Source: ValidateDeviceTaintRuleUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata)
    found += _selector(new.spec.device_selector, "spec.deviceSelector")
    return found + validate_device_taint(new.spec.taint, old.spec.taint, "spec.taint")


def _selector(selector: DeviceTaintSelector | None, path: str) -> Errors:
    """Source: validateDeviceTaintSelector."""
    if selector is None:
        return []
    found = validate_driver_name(selector.driver, f"{path}.driver") if selector.driver is not None else []
    if selector.pool is not None:
        found += validate_pool_name(selector.pool, f"{path}.pool")
    if selector.device is not None:
        found += validate_device_name(selector.device, f"{path}.device")
    return found


KINDS: Rules = {
    DeviceTaintRule: (validate_device_taint_rule, validate_device_taint_rule_update),
}
