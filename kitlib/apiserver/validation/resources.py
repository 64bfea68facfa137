"""Validation of requests and limits: names, amounts, requests within limits, and pod-level resources.

Sources: pkg/apis/core/validation validateResourceRequirements, validateContainerResourceName,
ValidateResourceQuantityValue, validatePodResources, validatePodResourceConsistency, validateOverhead,
validateResourceClaimNames, validateResizePolicy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from kitlib.api.core import (
    ContainerResizePolicy,
    Pod,
    PodSpec,
    ResourceClaimRef,
    ResourceList,
    ResourceRequirements,
)
from kitlib.api.field_errors import (
    NOT_NEGATIVE,
    Errors,
    duplicate,
    each,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from kitlib.api.names import is_dns1123_label, is_qualified_name
from kitlib.api.podresources import pod_limits, pod_requests, supports_pod_level
from kitlib.api.resource import Quantity
from kitlib.api.resource_names import is_extended, is_huge_page, is_native

CONTAINER_RESOURCES = ("cpu", "memory", "ephemeral-storage")
QUOTA_RESOURCES = (
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
)
STANDARD_RESOURCES = (
    *CONTAINER_RESOURCES,
    *QUOTA_RESOURCES,
    *(f"{which}.{name}" for which in ("requests", "limits") for name in CONTAINER_RESOURCES),
    "storage",
    "requests.storage",
)
POD_RESOURCES = ("cpu", "hugepages-", "memory")
RESIZE_POLICIES = ("NotRequired", "RestartContainer")

NameRule = Callable[[str, str], Errors]


def may_be_overcommitted(name: str) -> bool:
    """Return whether limits may exceed requests. Source: helper.IsOvercommitAllowed."""
    return is_native(name) and not is_huge_page(name)


def validate_resource_name(name: str, field: str) -> Errors:
    """Source: validateResourceName."""
    found = each(field, name, is_qualified_name(name))
    if not found and "/" not in name and not is_standard(name):
        found.append(invalid(field, name, "must be a standard resource type or fully qualified"))
    return found


def is_standard(name: str) -> bool:
    """Source: helper.IsStandardResourceName."""
    return name in STANDARD_RESOURCES or is_huge_page(name.removeprefix("requests."))


def validate_container_resource_name(name: str, field: str) -> Errors:
    """Source: validateContainerResourceName."""
    if name in CONTAINER_RESOURCES:
        return []
    found = validate_resource_name(name, field)
    if "/" not in name:
        if not is_huge_page(name):
            found.append(invalid(field, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        found.append(invalid(field, name, "doesn't follow extended resource name standard"))
    return found


def validate_pod_resource_name(name: str, field: str) -> Errors:
    """Source: validatePodResourceName."""
    found = validate_resource_name(name, field)
    return found if found or supports_pod_level(name) else [not_supported(field, name, POD_RESOURCES)]


def validate_resource_quantity_value(name: str, quantity: Quantity, field: str) -> Errors:
    """Check that an amount is not negative, and an integer for countable resources.

    Source: ValidateResourceQuantityValue.
    """
    found: Errors = []
    if quantity.sign() < 0:
        found.append(invalid(field, quantity, NOT_NEGATIVE))
    if (name in QUOTA_RESOURCES or is_extended(name)) and quantity.milli_value() % 1000:
        found.append(invalid(field, quantity, "must be an integer"))
    return found


def validate_resource_requirements(
    resources: ResourceRequirements,
    field: str,
    claims: Collection[str] = (),
    rule: NameRule = validate_container_resource_name,
) -> Errors:
    """Check requests and limits of a container, or (with `validate_pod_resource_name`) of a pod.

    Args:
        resources: the requests and limits.
        field: their path.
        claims: the names of the pod's `resourceClaims`.
        rule: the rule of the resource names.

    Source: validateResourceRequirements.
    """
    found: Errors = []
    for name, quantity in resources.limits.items():
        found += _one(name, quantity, f"{field}.limits[{name}]", rule)
    for name, quantity in resources.requests.items():
        found += _one(name, quantity, f"{field}.requests[{name}]", rule)
        limit = resources.limits.get(name)
        if limit is not None:
            if quantity != limit and not may_be_overcommitted(name):
                found.append(invalid(f"{field}.requests", quantity, f"must be equal to {name} limit of {limit}"))
            elif quantity > limit:
                detail = f"must be less than or equal to {name} limit of {limit}"
                found.append(invalid(f"{field}.requests", quantity, detail))
        elif not may_be_overcommitted(name):
            found.append(required(f"{field}.limits", "Limit must be set for non overcommitable resources"))
    named = {*resources.limits, *resources.requests}
    if any(map(is_huge_page, named)) and not named & {"cpu", "memory"}:
        found.append(forbidden(field, "HugePages require cpu or memory"))
    if resources.claims:
        found += validate_resource_claim_names(resources.claims, claims, f"{field}.claims")
    return found


def _one(name: str, quantity: Quantity, field: str, rule: NameRule) -> Errors:
    found = rule(name, field)
    found += validate_resource_quantity_value(name, quantity, field)
    return found + _whole_pages(name, quantity, field) if is_huge_page(name) else found


def validate_resource_claim_names(claims: Sequence[ResourceClaimRef], known: Collection[str], field: str) -> Errors:
    """Check a container's references to the pod's claims. Source: validateResourceClaimNames."""
    found: Errors = []
    seen: set[str] = set()
    for i, claim in enumerate(claims):
        place = f"{field}[{i}]"
        if not claim.name:
            found.append(required(place))
            continue
        if claim.name in seen:
            found.append(duplicate(place, claim.name))
        else:
            key = claim.name
            if claim.request:
                found += each(f"{place}.request", claim.request, is_dns1123_label(claim.request))
                key = f"{claim.name}/{claim.request}"
            if key in seen:
                found.append(duplicate(place, key))
            elif not claim.request:
                found += [duplicate(place, claim.name) for one in seen if one.startswith(f"{claim.name}/")]
            seen.add(key)
        if claim.name not in known:
            listed = f": {', '.join(sorted(known))}" if known else " which is empty"
            detail = f"must be one of the names in pod.spec.resourceClaims{listed}"
            found.append(not_found(place, claim.name, detail))
    return found


def validate_resize_policy(policies: Sequence[ContainerResizePolicy], restart_policy: str, field: str) -> Errors:
    """Source: validateResizePolicy."""
    found: Errors = []
    seen: set[str] = set()
    for i, policy in enumerate(policies):
        if policy.resource_name in seen:
            found.append(duplicate(f"{field}[{i}]", policy.resource_name))
        seen.add(policy.resource_name)
        for value, supported in ((policy.resource_name, ("cpu", "memory")), (policy.restart_policy, RESIZE_POLICIES)):
            if not value:
                found.append(required(field))
            elif value not in supported:
                found.append(not_supported(field, value, supported))
        if restart_policy == "Never" and policy.restart_policy != "NotRequired":
            detail = "must be 'NotRequired' when `restartPolicy` is 'Never'"
            found.append(invalid(field, policy.restart_policy, detail))
    return found


def _whole_pages(name: str, quantity: Quantity, field: str) -> Errors:
    """Source: validateResourceQuantityHugePageValue."""
    try:
        size = Quantity(name.removeprefix("hugepages-")).value()
    except ValueError:
        size = 0
    if size <= 0 or quantity.milli_value() % 1000 or quantity.value() % size or quantity.sign() < 0:
        return [invalid(field, quantity, f"{quantity} is not positive integer multiple of {name}")]
    return []


def validate_overhead(values: ResourceList, field: str) -> Errors:
    """Source: validateOverhead."""
    return validate_resource_requirements(ResourceRequirements(limits=values), field)


def validate_pod_resources(spec: PodSpec, claims: Collection[str], field: str) -> Errors:
    """Check `spec.resources`, and that it covers the containers' requests and limits.

    Source: validatePodResources, validatePodResourceConsistency.
    """
    if spec.resources is None:
        return []
    pod, found = Pod(spec=spec), []
    if spec.resources.claims:
        found.append(forbidden(f"{field}.claims", "claims may not be set for Resources at pod-level"))
    found += validate_resource_requirements(spec.resources, field, claims, validate_pod_resource_name)
    for name, asked in pod_requests(pod, skip_pod_level=True, exclude_overhead=True).items():
        own = spec.resources.requests.get(name)
        if supports_pod_level(name) and own is not None and asked > own:
            detail = f"must be greater than or equal to aggregate container requests of {asked}"
            found.append(invalid(f"{field}.requests[{name}]", own, detail))
    for name, limited in pod_limits(pod, skip_pod_level=True, exclude_overhead=True).items():
        own = spec.resources.limits.get(name)
        if is_huge_page(name) and own is not None and limited > own:
            detail = f"must be greater than or equal to aggregate container limits of {limited}"
            found.append(invalid(f"{field}.limits[{name}]", own, detail))
    for i, container in enumerate(spec.containers):
        for name, limit in container.resources.limits.items():
            own = spec.resources.limits.get(name)
            if supports_pod_level(name) and own is not None and limit > own:
                place = f"{field}.containers[{i}][{name}].limits"
                found.append(invalid(place, limit, f"must be less than or equal to pod limits of {own}"))
    return found
