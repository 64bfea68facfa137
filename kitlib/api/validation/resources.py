"""Requests and limits: known names, amounts that can be, requests within limits; pod-level resources above containers'.

Sources: pkg/apis/core/validation ValidateResourceRequirements, validateContainerResourceName,
ValidateResourceQuantityValue, validatePodResources, validatePodResourceConsistency, validateOverhead;
"""

from __future__ import annotations

from collections.abc import Callable

from kitlib.api.core import Pod, PodSpec, ResourceList, ResourceRequirements
from kitlib.api.podresources import pod_limits, pod_requests, supports_pod_level
from kitlib.api.resource import Quantity
from kitlib.api.validation.fields import Errors, each, forbidden, invalid, not_supported, qualified_name, required

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
NOT_NEGATIVE = "must be greater than or equal to 0"

NameRule = Callable[[str, str], Errors]


def is_huge_page(name: str) -> bool:
    """Source: helper.IsHugePageResourceName."""
    return name.startswith("hugepages-")


def is_native(name: str) -> bool:
    """No domain, or one of Kubernetes' own. Source: helper.IsNativeResource."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """A resource of somebody else's domain: `example.com/gpu`. Source: helper.IsExtendedResourceName."""
    return not is_native(name) and not name.startswith("requests.") and not qualified_name(f"requests.{name}")


def may_be_overcommitted(name: str) -> bool:
    """Whether limits may exceed requests. Source: helper.IsOvercommitAllowed."""
    return is_native(name) and not is_huge_page(name)


def container_name_rule(name: str, field: str) -> Errors:
    """Source: validateContainerResourceName, validateResourceName."""
    found = each(field, name, qualified_name(name))
    if found:
        return found
    if "/" not in name:
        if name not in STANDARD_RESOURCES and not is_huge_page(name.removeprefix("requests.")):
            found.append(invalid(field, name, "must be a standard resource type or fully qualified"))
        if name not in CONTAINER_RESOURCES and not is_huge_page(name):
            found.append(invalid(field, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        found.append(invalid(field, name, "doesn't follow extended resource name standard"))
    return found


def pod_name_rule(name: str, field: str) -> Errors:
    """Source: validatePodResourceName."""
    return [] if supports_pod_level(name) else [not_supported(field, name, POD_RESOURCES)]


def amount(name: str, quantity: Quantity, field: str) -> Errors:
    """Not negative, and whole where only whole ones exist. Source: ValidateResourceQuantityValue."""
    found: Errors = []
    if quantity.sign() < 0:
        found.append(invalid(field, quantity, NOT_NEGATIVE))
    if (name in QUOTA_RESOURCES or is_extended(name)) and quantity.milli_value() % 1000:
        found.append(invalid(field, quantity, "must be an integer"))
    return found


def requirements(resources: ResourceRequirements, field: str, rule: NameRule = container_name_rule) -> Errors:
    """Requests and limits of a container, or (with `pod_name_rule`) of a pod.

    Source: ValidateResourceRequirements.
    """
    found: Errors = []
    huge = cpu_or_memory = False
    for which, values in (("limits", resources.limits), ("requests", resources.requests)):
        for name, quantity in values.items():
            place = f"{field}.{which}[{name}]"
            found += rule(name, place)
            found += amount(name, quantity, place)
            if is_huge_page(name):
                huge = True
                found += _whole_pages(name, quantity, place)
            cpu_or_memory = cpu_or_memory or name in ("cpu", "memory")
    for name, quantity in resources.requests.items():
        limit = resources.limits.get(name)
        if limit is not None:
            if not may_be_overcommitted(name):
                if quantity != limit:
                    found.append(invalid(f"{field}.requests", quantity, f"must be equal to {name} limit of {limit}"))
            elif quantity > limit:
                detail = f"must be less than or equal to {name} limit of {limit}"
                found.append(invalid(f"{field}.requests", quantity, detail))
        elif not may_be_overcommitted(name):
            found.append(required(f"{field}.limits", "Limit must be set for non overcommitable resources"))
    if huge and not cpu_or_memory:
        found.append(forbidden(field, "HugePages require cpu or memory"))
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


def overhead(values: ResourceList, field: str) -> Errors:
    """Source: validateOverhead."""
    return requirements(ResourceRequirements(limits=values), field)


def pod_level(pod: Pod, field: str) -> Errors:
    """`spec.resources` itself, and that it covers what the containers ask for.

    Source: validatePodResources, validatePodResourceConsistency.
    """
    spec: PodSpec = pod.spec
    if spec.resources is None:
        return []
    found = requirements(spec.resources, field, pod_name_rule)
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
