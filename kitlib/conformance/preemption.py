"""Cases of preemption: candidates, victims, disruption budgets, the nominated node."""

from __future__ import annotations

from typing import Any

from kitlib.api.pod_strategy import prepare_for_create
from kitlib.conformance import scheduler_filter_score as cycle

FILE = "preemption"
RELEASE = "1.36"
INPUTS = cycle.INPUTS


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Run one cycle; the case's format has no scores."""
    pod = prepare_for_create(cycle.pod_of(case["pod"]))
    scheduler = cycle.scheduler_of(case, stored=prepare_for_create)
    return {"expect": cycle.expected(scheduler.explain(pod), scores=False)}
