"""policy/v1 and scheduling.k8s.io/v1: disruption budgets and priority classes.

Source: k8s.io/api/policy/v1, scheduling/v1 types.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from kitlib.api.meta import Condition, KubeObject, KubeStruct, LabelSelector, put_condition
from kitlib.api.numbers import Int32, Int64, IntOrString

HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_PRIORITY_CLASSES = {
    "system-node-critical": 2 * HIGHEST_USER_PRIORITY + 1000,
    "system-cluster-critical": 2 * HIGHEST_USER_PRIORITY,
}


class PodDisruptionBudgetSpec(KubeStruct):
    min_available: IntOrString | None = None
    selector: LabelSelector | None = None
    max_unavailable: IntOrString | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(KubeStruct):
    observed_generation: Int64 = 0
    disrupted_pods: dict[str, str] = {}
    disruptions_allowed: Int32 = 0
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    expected_pods: Int32 = 0
    conditions: list[Condition] = []


class PodDisruptionBudget(KubeObject):
    api_version: str = "policy/v1"
    kind: str = "PodDisruptionBudget"
    spec: PodDisruptionBudgetSpec = msgspec.field(default_factory=PodDisruptionBudgetSpec)
    status: PodDisruptionBudgetStatus = msgspec.field(default_factory=PodDisruptionBudgetStatus)


class PriorityClass(KubeObject):
    api_version: str = "scheduling.k8s.io/v1"
    kind: str = "PriorityClass"
    value: Int32 = 0
    global_default: bool = False
    description: str = ""
    preemption_policy: str | None = None


DISRUPTION_ALLOWED = "DisruptionAllowed"


def with_disruption_allowed(
    conditions: Sequence[Condition], budget: PodDisruptionBudget, allowed: int, now: datetime
) -> list[Condition]:
    """Return the conditions with a DisruptionAllowed for this number. Source: UpdateDisruptionAllowedCondition."""
    new = Condition(
        type=DISRUPTION_ALLOWED,
        status="True" if allowed > 0 else "False",
        reason="SufficientPods" if allowed > 0 else "InsufficientPods",
        observed_generation=budget.metadata.generation,
    )
    return put_condition(conditions, new, now)
