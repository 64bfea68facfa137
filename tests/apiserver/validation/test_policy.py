"""PodDisruptionBudgets and PriorityClasses."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.names import PERCENT_TEXT
from kitlib.api.policy import PodDisruptionBudget, PriorityClass
from kitlib.apiserver.validation import policy
from tests.apiserver.validation.told import named, told


def budget(**spec: Any) -> PodDisruptionBudget:
    return named(PodDisruptionBudget, "a", "n", spec=spec)


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({}, []),
        ({"minAvailable": 0}, []),
        ({"maxUnavailable": "100%"}, []),
        (
            {"minAvailable": 1, "maxUnavailable": 1},
            ["spec Invalid minAvailable and maxUnavailable cannot be both set"],
        ),
        ({"minAvailable": -1}, ["spec.minAvailable Invalid must be greater than or equal to 0"]),
        ({"maxUnavailable": "101%"}, ["spec.maxUnavailable Invalid must not be greater than 100%"]),
        ({"maxUnavailable": "x"}, [f"spec.maxUnavailable Invalid {PERCENT_TEXT}"]),
        ({"unhealthyPodEvictionPolicy": "AlwaysAllow"}, []),
        (
            {"unhealthyPodEvictionPolicy": "x"},
            ['spec.unhealthyPodEvictionPolicy NotSupported supported values: "AlwaysAllow", "IfHealthyBudget"'],
        ),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            ["spec.selector.matchExpressions[0].values Required must be specified when `operator` is 'In' or 'NotIn'"],
        ),
    ],
)
def test_budgets(spec: dict[str, Any], errors: list[str]) -> None:
    """Source: ValidatePodDisruptionBudgetSpec."""
    assert told(policy.validate_pod_disruption_budget(budget(**spec))) == errors
    assert told(policy.validate_pod_disruption_budget_update(budget(**spec), budget())) == errors


def test_metadata_of_a_budget_is_checked_last_and_loosely() -> None:
    odd = named(PodDisruptionBudget, "A b", "n", metadata={"finalizers": ["mine"]})
    assert told(policy.validate_pod_disruption_budget(odd)) == []
    odd.metadata.name = "a/b"
    assert told(policy.validate_pod_disruption_budget(odd)) == ["metadata.name Invalid may not contain '/'"]
    odd.spec.min_available = -1
    assert [error.field for error in policy.validate_pod_disruption_budget(odd)] == ["spec.minAvailable"]
    assert told(policy.validate_pod_disruption_budget_update(budget(), named(PodDisruptionBudget, "b", "n"))) == [
        "metadata.name Invalid field is immutable"
    ]


def cls(name: str = "a", value: int = 1, **fields: Any) -> PriorityClass:
    return named(PriorityClass, name, value=value, **fields)


RESERVED = (
    "metadata.name Forbidden priority class names with 'system-' prefix are reserved for system use only. error: "
)


@pytest.mark.parametrize(
    ("obj", "errors"),
    [
        (cls(value=1_000_000_000), []),
        (cls(value=-(2**31)), []),
        (cls(value=1_000_000_001), ["value Forbidden maximum allowed value of a user defined priority is 1000000000"]),
        (cls("system-node-critical", 2_000_001_000), []),
        (cls("system-cluster-critical", 2_000_000_000), []),
        (
            cls("system-node-critical", 1),
            [f"{RESERVED}value of system-node-critical PriorityClass must be 2000001000"],
        ),
        (
            cls("system-node-critical", 2_000_001_000, globalDefault=True),
            [f"{RESERVED}globalDefault of system-node-critical PriorityClass must be false"],
        ),
        (cls("system-x"), [f"{RESERVED}system-x is not a known system priority class"]),
        (cls(preemptionPolicy="Never"), []),
        (cls(preemptionPolicy=""), ["preemptionPolicy Required"]),
        (
            cls(preemptionPolicy="x"),
            ['preemptionPolicy NotSupported supported values: "PreemptLowerPriority", "Never"'],
        ),
    ],
)
def test_priority_classes(obj: PriorityClass, errors: list[str]) -> None:
    """Source: ValidatePriorityClass, IsKnownSystemPriorityClass."""
    assert told(policy.validate_priority_class(obj)) == errors


def test_an_update_of_a_priority_class() -> None:
    old = cls(preemptionPolicy="Never")
    assert told(policy.validate_priority_class_update(cls(preemptionPolicy="Never", description="d"), old)) == []
    assert told(policy.validate_priority_class_update(cls(value=2), old)) == [
        "value Forbidden may not be changed in an update.",
        "preemptionPolicy Invalid field is immutable",
    ]
