"""policy/v1 and scheduling.k8s.io/v1: disruption budgets and priority classes.

Source: k8s.io/api/policy/v1, scheduling/v1 types.go.
"""

from __future__ import annotations

import msgspec

from kitlib.api.meta import Condition, KubeObject, KubeStruct, LabelSelector
from kitlib.api.numbers import Int32, Int64, IntOrString


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
