"""Cases of several pods in sequence: each is bound to the first of the best nodes, or stays pending."""

from __future__ import annotations

from typing import Any

from kitlib.api.core import Pod
from kitlib.api.pod_strategy import prepare_for_create
from kitlib.conformance import scheduler_filter_score as cycle
from kitlib.scheduler.scheduler import Scheduler

FILE = "scheduling_sequence"
RELEASE = "1.36"
INPUTS = frozenset({*cycle.INPUTS, "incoming"})


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Schedule the incoming pods in order."""
    scheduler = cycle.scheduler_of(case, stored=prepare_for_create)
    incoming = [prepare_for_create(cycle.pod_of(data)) for data in case["incoming"]]
    return {"steps": play(scheduler, incoming, case["steps"])}


def play(scheduler: Scheduler, incoming: list[Pod], recorded: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Schedule the pods in sequence and return the node of each.

    Args:
        scheduler: the scheduler of the case's cluster.
        incoming: the pods, in their order of arrival.
        recorded: the recorded steps; some name their pods.
    """
    steps = []
    for pod, wanted in zip(incoming, recorded, strict=True):
        decision = scheduler.schedule(pod)
        step: dict[str, Any] = {"pod": pod.name} if "pod" in wanted else {}
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
    return steps
