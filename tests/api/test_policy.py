"""Disruption budgets' condition, and the values of the system's priority classes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kitlib.api.meta import Condition
from kitlib.api.policy import (
    HIGHEST_USER_PRIORITY,
    SYSTEM_PRIORITY_CLASSES,
    PodDisruptionBudget,
    with_disruption_allowed,
)

NOW = datetime(2024, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=5)


@pytest.mark.parametrize(
    ("allowed", "status", "reason", "moment"),
    [
        (2, "True", "SufficientPods", NOW),
        (1, "True", "SufficientPods", NOW),
        (0, "False", "InsufficientPods", LATER),
        (-1, "False", "InsufficientPods", LATER),
    ],
)
def test_a_budget_says_whether_it_allows_a_disruption(allowed: int, status: str, reason: str, moment: datetime) -> None:
    """Source: UpdateDisruptionAllowedCondition."""
    budget = PodDisruptionBudget()
    budget.metadata.generation = 4
    other = Condition(type="Other", status="True")
    (first,) = with_disruption_allowed([], budget, 1, NOW)
    assert first.last_transition_time == NOW
    kept, found = with_disruption_allowed([other, first], budget, allowed, LATER)
    assert kept is other
    assert (found.type, found.status, found.reason) == ("DisruptionAllowed", status, reason)
    assert (found.observed_generation, found.last_transition_time) == (4, moment)


def test_system_priorities_are_above_those_of_users() -> None:
    """Source: scheduling.HighestUserDefinablePriority, SystemCriticalPriority."""
    assert HIGHEST_USER_PRIORITY == 1000000000
    assert SYSTEM_PRIORITY_CLASSES == {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}
