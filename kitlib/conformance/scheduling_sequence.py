"""Cases of several pods one after another: each is placed on the first of the best nodes, or stays out."""

from __future__ import annotations

from typing import Any

from kitlib.api.pod_strategy import prepare_for_create
from kitlib.conformance import scheduler_filter_score as cycle

FILE = "scheduling_sequence"
INPUTS = frozenset({*cycle.INPUTS, "incoming"})


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Schedule the incoming pods in order."""
    scheduler = cycle.scheduler_of(case)
    steps = []
    for data, wanted in zip(case["incoming"], case["steps"], strict=True):
        pod = prepare_for_create(cycle.pod_of(data))
        decision = scheduler.schedule(pod)
        step: dict[str, Any] = {"pod": data["metadata"]["name"]} if "pod" in wanted else {}
        if decision.suggested_host:
            step |= {
                "feasible": sorted(decision.feasible),
                "best": sorted(decision.best),
                "placedOn": decision.suggested_host,
            }
            if len(decision.feasible) > 1:
                assert decision.scores is not None
                rows = decision.scores.rows
                order = sorted(range(len(rows)), key=lambda i: decision.nodes[rows[i]])
                step["total"] = [int(decision.scores.total[i]) for i in order]
        else:
            step["fitError"] = decision.message
        steps.append(step)
    return {"steps": steps}
