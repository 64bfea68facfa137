"""Validation of LimitRanges and ResourceQuotas.

Source: pkg/apis/core/validation ValidateLimitRange, ValidateResourceQuota, ValidateResourceQuotaSpec;
pkg/apis/core/helper IsStandardQuotaResourceName, IsResourceQuotaScopeValidForResource.
"""

from __future__ import annotations

from collections.abc import Collection

from kitlib.api.core import LimitRange, LimitRangeItem, ResourceList, ResourceQuota
from kitlib.api.field_errors import Errors, duplicate, each, forbidden, invalid, required
from kitlib.api.names import is_qualified_name
from kitlib.api.resource import Quantity
from kitlib.api.resource_names import is_huge_page
from kitlib.apiserver.validation.object_meta import validate_object_meta, validate_object_meta_update
from kitlib.apiserver.validation.resources import (
    STANDARD_RESOURCES,
    may_be_overcommitted,
    validate_container_resource_name,
    validate_resource_name,
    validate_resource_quantity_value,
)
from kitlib.apiserver.validation.rules import Rules

LIMIT_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
POD_SCOPES = ("Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity")
SCOPES = (*POD_SCOPES, "BestEffort", "VolumeAttributesClass")
_EXISTS_ONLY = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
_POD_COMPUTE = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
_CONFLICTS = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_MAX_MILLI = (2**63 - 1) // 1000
_EXISTS_DETAIL = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def validate_limit_range(obj: LimitRange) -> Errors:
    """Source: ValidateLimitRange."""
    found = validate_object_meta(obj.metadata, namespaced=True)
    types: set[str] = set()
    for i, item in enumerate(obj.spec.limits):
        place = f"spec.limits[{i}]"
        wrong = each(f"{place}.type", item.type, is_qualified_name(item.type))
        if not wrong and "/" not in item.type and item.type not in LIMIT_TYPES:
            wrong.append(invalid(f"{place}.type", item.type, "must be a standard limit type or fully qualified"))
        found += wrong
        if item.type in types:
            found.append(duplicate(f"{place}.type", item.type))
        types.add(item.type)
        found += _item(item, place)
    return found


def validate_limit_range_update(new: LimitRange, _old: LimitRange) -> Errors:
    """Source: limitrangeStrategy.ValidateUpdate."""
    return validate_limit_range(new)


def _item(item: LimitRangeItem, field: str) -> Errors:
    found: Errors = []
    rule = validate_container_resource_name if item.type in ("Pod", "Container") else validate_resource_name

    def names(values: ResourceList, which: str) -> Errors:
        return [error for name in values for error in rule(name, f"{field}.{which}[{name}]")]

    found += names(item.max, "max") + names(item.min, "min")
    named = {**item.max, **item.min}
    if item.type == "Pod":
        for which, values in (("default", item.default), ("defaultRequest", item.default_request)):
            if values:
                found.append(forbidden(f"{field}.{which}", "may not be specified when `type` is 'Pod'"))
    else:
        found += names(item.default, "default") + names(item.default_request, "defaultRequest")
        named.update({**item.default, **item.default_request})
    if item.type == "PersistentVolumeClaim" and "storage" not in item.min and "storage" not in item.max:
        detail = "either minimum or maximum storage value is required, but neither was provided"
        found.append(required(f"{field}.limits", detail))
    found += names(item.max_limit_request_ratio, "maxLimitRequestRatio")
    for name in {**named, **item.max_limit_request_ratio}:
        found += _amounts(item, name, field)
    return found


def _amounts(item: LimitRangeItem, name: str, field: str) -> Errors:
    """Check that the five amounts of a resource are consistent: min, max, default, defaultRequest and the ratio."""
    found: Errors = []
    pod = item.type == "Pod"
    least, most = item.min.get(name), item.max.get(name)
    default = None if pod else item.default.get(name)
    request = None if pod else item.default_request.get(name)
    place = f"{field}.defaultRequest[{name}]"
    if least is not None and most is not None and least > most:
        detail = f"min value {least} is greater than max value {most}"
        found.append(invalid(f"{field}.min[{name}]", least, detail))
    if request is not None and least is not None and least > request:
        found.append(invalid(place, request, f"min value {least} is greater than default request value {request}"))
    if request is not None and most is not None and request > most:
        found.append(invalid(place, request, f"default request value {request} is greater than max value {most}"))
    if request is not None and default is not None and request > default:
        detail = f"default request value {request} is greater than default limit value {default}"
        found.append(invalid(place, request, detail))
    if default is not None and least is not None and least > default:
        detail = f"min value {least} is greater than default value {default}"
        found.append(invalid(f"{field}.default[{name}]", least, detail))
    if default is not None and most is not None and default > most:
        detail = f"default value {default} is greater than max value {most}"
        found.append(invalid(f"{field}.default[{name}]", most, detail))
    found += _ratio(item.max_limit_request_ratio.get(name), least, most, f"{field}.maxLimitRequestRatio[{name}]")
    if None not in (default, request) and not may_be_overcommitted(name) and default != request:
        detail = f"default value {default} must equal to defaultRequest value {request} in {name}"
        found.append(invalid(place, request, detail))
    return found


def _ratio(ratio: Quantity | None, least: Quantity | None, most: Quantity | None, field: str) -> Errors:
    if ratio is None:
        return []
    found: Errors = []
    if ratio < Quantity("1"):
        found.append(invalid(field, ratio, f"ratio {ratio} is less than 1"))
    if least is None or most is None:
        return found
    value, low, high = float(ratio.value()), least.value(), most.value()
    if max(ratio.value(), low, high) < _MAX_MILLI:
        # Milli values are exact for CPU, but are used only if none of them overflows 64 bits.
        value, low, high = ratio.milli_value() / 1000, least.milli_value(), most.milli_value()
    limit = high / low if low else float("inf")
    if value > limit:
        found.append(invalid(field, ratio, f"ratio {ratio} is greater than max/min = {limit:f}"))
    return found


def is_standard_quota_resource_name(name: str) -> bool:
    """Source: helper.IsStandardQuotaResourceName."""
    return (name in STANDARD_RESOURCES and name != "storage") or is_huge_page(name.removeprefix("requests."))


def validate_resource_quota_resource_name(name: str, field: str) -> Errors:
    """Source: ValidateResourceQuotaResourceName."""
    found = validate_resource_name(name, field)
    if "/" not in name and not is_standard_quota_resource_name(name):
        found.append(invalid(field, name, "must be a standard resource for quota"))
    return found


def validate_resource_quota(obj: ResourceQuota) -> Errors:
    """Source: ValidateResourceQuota."""
    found = validate_object_meta(obj.metadata, namespaced=True) + _quota_spec(obj)
    for which, values in (("hard", obj.status.hard), ("used", obj.status.used)):
        found += validate_quantities(values, f"status.{which}")
    return found


def validate_quantities(values: ResourceList, field: str) -> Errors:
    """Check the resource names and amounts of a quota. Source: ValidateResourceQuotaStatus."""
    found: Errors = []
    for name, quantity in values.items():
        found += validate_resource_quota_resource_name(name, f"{field}[{name}]")
        found += validate_resource_quantity_value(name, quantity, f"{field}[{name}]")
    return found


def _quota_spec(obj: ResourceQuota) -> Errors:
    """Source: ValidateResourceQuotaSpec, validateResourceQuotaScopes, validateScopedResourceSelectorRequirement."""
    spec = obj.spec
    found = validate_quantities(spec.hard, "spec.hard")
    for scope in spec.scopes:
        if scope not in SCOPES:
            found.append(invalid("spec.scopes", spec.scopes, "unsupported scope"))
        for _ in _unfit(scope, spec.hard):
            found.append(invalid("spec.scopes", spec.scopes, "unsupported scope applied to resource"))
    found += _conflicts(spec.scopes, spec.scopes, "spec.scopes")
    if spec.scope_selector is None:
        return found
    place = "spec.scopeSelector.matchExpressions"
    for requirement in spec.scope_selector.match_expressions:
        if requirement.scope_name not in SCOPES:
            found.append(invalid(f"{place}.scopeName", requirement.scope_name, "unsupported scope"))
        for _ in _unfit(requirement.scope_name, spec.hard):
            found.append(invalid(place, spec.scope_selector, "unsupported scope applied to resource"))
        if requirement.scope_name in _EXISTS_ONLY and requirement.operator != "Exists":
            found.append(invalid(f"{place}.operator", requirement.operator, _EXISTS_DETAIL))
        if requirement.operator in ("In", "NotIn"):
            if not requirement.values:
                detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                found.append(required(f"{place}.values", detail))
        elif requirement.operator in ("Exists", "DoesNotExist"):
            if requirement.values:
                detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                found.append(invalid(f"{place}.values", requirement.values, detail))
        else:
            found.append(invalid(f"{place}.operator", requirement.operator, "not a valid selector operator"))
    named = [requirement.scope_name for requirement in spec.scope_selector.match_expressions]
    return found + _conflicts(named, spec.scopes, place)


def _unfit(scope: str, hard: ResourceList) -> list[str]:
    """Return the resources that a quota of this scope cannot count. Source: IsResourceQuotaScopeValidForResource."""
    if scope == "BestEffort":
        allowed: tuple[str, ...] = ("pods",)
    elif scope in POD_SCOPES:
        allowed = ("pods", *_POD_COMPUTE)
    else:
        return []
    return [name for name in sorted(hard) if is_standard_quota_resource_name(name) and name not in allowed]


def _conflicts(named: Collection[str], scopes: list[str], field: str) -> Errors:
    return [invalid(field, scopes or None, "conflicting scopes") for pair in _CONFLICTS if pair <= set(named)]


def validate_resource_quota_update(new: ResourceQuota, old: ResourceQuota) -> Errors:
    """Check that an update keeps the scopes. Source: ValidateResourceQuotaUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata) + _quota_spec(new)
    if set(new.spec.scopes) != set(old.spec.scopes):
        found.append(invalid("spec.scopes", new.spec.scopes or None, "field is immutable"))
    return found


KINDS: Rules = {
    LimitRange: (validate_limit_range, validate_limit_range_update),
    ResourceQuota: (validate_resource_quota, validate_resource_quota_update),
}
