"""LimitRanges and ResourceQuotas."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import LimitRange, ResourceQuota
from kitlib.apiserver.validation import quota
from tests.apiserver.validation.told import named, told


def limits(*items: dict[str, Any]) -> LimitRange:
    return named(LimitRange, "a", "n", spec={"limits": list(items)})


def of_item(**item: Any) -> list[str]:
    found = told(quota.validate_limit_range(limits({"type": "Container", **item})))
    return [text.removeprefix("spec.limits[0].") for text in found]


def cpu(amount: str) -> dict[str, str]:
    return {"cpu": amount}


@pytest.mark.parametrize(
    ("item", "errors"),
    [
        ({}, []),
        ({"type": "x"}, ["type Invalid must be a standard limit type or fully qualified"]),
        ({"type": "a.b/c"}, []),
        ({"min": cpu("1"), "max": cpu("1"), "default": cpu("1"), "defaultRequest": cpu("1")}, []),
        ({"min": cpu("2"), "max": cpu("1")}, ["min[cpu] Invalid min value 2 is greater than max value 1"]),
        (
            {"min": cpu("2"), "defaultRequest": cpu("1")},
            ["defaultRequest[cpu] Invalid min value 2 is greater than default request value 1"],
        ),
        (
            {"max": cpu("1"), "defaultRequest": cpu("2")},
            ["defaultRequest[cpu] Invalid default request value 2 is greater than max value 1"],
        ),
        (
            {"default": cpu("1"), "defaultRequest": cpu("2")},
            ["defaultRequest[cpu] Invalid default request value 2 is greater than default limit value 1"],
        ),
        ({"min": cpu("2"), "default": cpu("1")}, ["default[cpu] Invalid min value 2 is greater than default value 1"]),
        ({"max": cpu("1"), "default": cpu("2")}, ["default[cpu] Invalid default value 2 is greater than max value 1"]),
        ({"maxLimitRequestRatio": cpu("1")}, []),
        ({"maxLimitRequestRatio": cpu("999m")}, ["maxLimitRequestRatio[cpu] Invalid ratio 999m is less than 1"]),
        ({"maxLimitRequestRatio": cpu("2"), "min": cpu("500m"), "max": cpu("1")}, []),
        (
            {"maxLimitRequestRatio": cpu("3"), "min": cpu("500m"), "max": cpu("1")},
            ["maxLimitRequestRatio[cpu] Invalid ratio 3 is greater than max/min = 2.000000"],
        ),
        (
            {"default": {"a.b/c": "2"}, "defaultRequest": {"a.b/c": "1"}},
            ["defaultRequest[a.b/c] Invalid default value 2 must equal to defaultRequest value 1 in a.b/c"],
        ),
        (
            {"type": "Pod", "default": cpu("1"), "defaultRequest": cpu("1")},
            [
                "default Forbidden may not be specified when `type` is 'Pod'",
                "defaultRequest Forbidden may not be specified when `type` is 'Pod'",
            ],
        ),
        (
            {"type": "PersistentVolumeClaim"},
            ["limits Required either minimum or maximum storage value is required, but neither was provided"],
        ),
        ({"type": "PersistentVolumeClaim", "max": {"storage": "1"}}, []),
        ({"max": {"storage": "1"}}, ["max[storage] Invalid must be a standard resource for containers"]),
    ],
)
def test_limits(item: dict[str, Any], errors: list[str]) -> None:
    """Source: ValidateLimitRange."""
    assert of_item(**item) == errors


def test_each_type_has_one_item() -> None:
    both = limits({"type": "Pod"}, {"type": "Container"}, {"type": "Pod"})
    assert told(quota.validate_limit_range(both)) == ["spec.limits[2].type Duplicate"]
    assert told(quota.validate_limit_range_update(both, limits())) == ["spec.limits[2].type Duplicate"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pods", True),
        ("requests.storage", True),
        ("storage", False),
        ("hugepages-2Mi", True),
        ("requests.hugepages-2Mi", True),
        ("limits.hugepages-2Mi", False),
        ("count/pods", False),
    ],
)
def test_standard_names_of_quotas(name: str, expected: bool) -> None:
    assert quota.is_standard_quota_resource_name(name) is expected


def of_quota(**spec: Any) -> list[str]:
    return told(quota.validate_resource_quota(named(ResourceQuota, "a", "n", spec=spec)))


UNSUPPORTED = "spec.scopes Invalid unsupported scope applied to resource"
EXPRESSIONS = "spec.scopeSelector.matchExpressions"


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"hard": {"pods": "1", "count/x.y": "1", "limits.cpu": "1", "requests.a.b/c": "1"}}, []),
        ({"hard": {"storage": "1"}}, ["spec.hard[storage] Invalid must be a standard resource for quota"]),
        (
            {"hard": {"pods": "1500m", "secrets": "-1"}},
            [
                "spec.hard[pods] Invalid must be an integer",
                "spec.hard[secrets] Invalid must be greater than or equal to 0",
            ],
        ),
        ({"scopes": ["BestEffort"], "hard": {"pods": "1"}}, []),
        ({"scopes": ["BestEffort"], "hard": {"pods": "1", "cpu": "1", "services": "1"}}, [UNSUPPORTED] * 2),
        ({"scopes": ["NotBestEffort"], "hard": {"pods": "1", "cpu": "1"}}, []),
        ({"scopes": ["Terminating"], "hard": {"services": "1"}}, [UNSUPPORTED]),
        ({"scopes": ["x"]}, ["spec.scopes Invalid unsupported scope"]),
        ({"scopes": ["BestEffort", "NotBestEffort"]}, ["spec.scopes Invalid conflicting scopes"]),
        ({"scopes": ["Terminating", "NotTerminating"]}, ["spec.scopes Invalid conflicting scopes"]),
        ({"scopes": ["BestEffort", "Terminating"]}, []),
    ],
)
def test_quotas(spec: dict[str, Any], errors: list[str]) -> None:
    """Source: ValidateResourceQuotaSpec."""
    assert of_quota(**spec) == errors


def expression(scope: str = "PriorityClass", operator: str = "In", *values: str) -> dict[str, Any]:
    return {"scopeName": scope, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("one", "errors"),
    [
        (expression("PriorityClass", "In", "a"), []),
        (expression("PriorityClass", "Exists"), []),
        (
            expression(),
            ["values Required must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"],
        ),
        (
            expression("PriorityClass", "Exists", "a"),
            ["values Invalid must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"],
        ),
        (expression("PriorityClass", "x"), ["operator Invalid not a valid selector operator"]),
        (expression("x", "Exists"), ["scopeName Invalid unsupported scope"]),
        (expression("BestEffort", "Exists"), []),
    ],
)
def test_scope_selectors(one: dict[str, Any], errors: list[str]) -> None:
    found = of_quota(scopeSelector={"matchExpressions": [one]})
    assert [text.removeprefix(f"{EXPRESSIONS}.") for text in found] == errors


def test_scopes_that_only_exist() -> None:
    (found,) = of_quota(scopeSelector={"matchExpressions": [expression("Terminating", "In", "a")]})
    assert found.startswith(f"{EXPRESSIONS}.operator Invalid must be 'Exists' when scope is any of ")
    both = [expression("BestEffort", "Exists"), expression("NotBestEffort", "Exists")]
    assert of_quota(scopeSelector={"matchExpressions": both}) == [f"{EXPRESSIONS} Invalid conflicting scopes"]


def test_status_and_update() -> None:
    odd = named(ResourceQuota, "a", "n", status={"hard": {"storage": "1"}, "used": {"pods": "-1"}})
    assert told(quota.validate_resource_quota(odd)) == [
        "status.hard[storage] Invalid must be a standard resource for quota",
        "status.used[pods] Invalid must be greater than or equal to 0",
    ]
    old = named(ResourceQuota, "a", "n", spec={"scopes": ["BestEffort", "Terminating"]})
    turned = named(ResourceQuota, "a", "n", spec={"scopes": ["Terminating", "BestEffort"]})
    assert told(quota.validate_resource_quota_update(turned, old)) == []
    other = named(ResourceQuota, "a", "n")
    assert told(quota.validate_resource_quota_update(other, old)) == ["spec.scopes Invalid field is immutable"]
