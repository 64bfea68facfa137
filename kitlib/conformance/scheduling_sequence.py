"""Cases of several pods one after another: each is placed on the first of the best nodes, or stays out."""

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
    """Where each pod goes, one after another.

    Args:
        scheduler: with the cluster.
        incoming: the pods.
        recorded: which steps name their pods.
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
