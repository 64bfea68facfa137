"""Cases of preemption: candidates, victims, disruption budgets, the nominated node."""

from __future__ import annotations

from typing import Any

from kitlib.conformance import scheduler_filter_score as cycle

FILE = "preemption"
INPUTS = cycle.INPUTS


def check(case: dict[str, Any]) -> dict[str, Any]:
    """One cycle; the format has no scores."""
    pod = cycle.pod_of(case["pod"])
    return {"expect": cycle.expected(cycle.scheduler_of(case).explain(pod), scores=False)}
