"""Two autoscalers on one resource: the vertical one sets the request by which the horizontal one divides."""

from __future__ import annotations

from typing import Any

from kitlib.advisor.resizing import ResizeOutcome
from kitlib.advisor.vertical import RecommendedRange, VerticalPlan, carry_out
from kitlib.api.core import Pod
from kitlib.api.resource import Quantity
from kitlib.cluster import Cluster
from kitlib.lab.manifests import deployment, horizontal_autoscaler, pod
from kitlib.study.vertical import cpu_recommendation

SAMPLES = 60
"""Number of measurements between two rounds."""
SETTLE = 330.0
"""Seconds for the horizontal autoscaler: its stabilization window of 300 s, and two of its rounds."""
NAME, CONTAINER = "web", "main"


def both_autoscalers(
    load: float, *, request: float, replicas: int, target: int, most: int = 10, rounds: int = 8
) -> list[dict[str, Any]]:
    """Let a horizontal and a vertical autoscaler act on the same load in a simulated cluster, round by round.

    The horizontal autoscaler is the cluster's controller, the vertical one that of `kitlib whatif vertical`.

    Args:
        load: milli-CPU that all replicas use together.
        request: initial request of each replica, milli-CPU.
        replicas: initial number of replicas.
        target: target utilization of the horizontal autoscaler, percent of the request.
        most: maxReplicas of the horizontal autoscaler.
        rounds: number of rounds; in each the horizontal autoscaler acts first, then the vertical one.

    Returns:
        Rows of `round`, `replicas`, `each uses`, `request` (milli-CPU) and `percent`, as each round begins.
    """
    rows = list[dict[str, Any]]()
    with Cluster.simulated([{"name": "node-1", "cpus": 64, "memory": "64Gi"}], kubelets=False, tick=15.0) as cluster:

        def running() -> list[Pod]:
            return [one for one in cluster.list("Pod") if one.status.phase == "Running"]

        def usages() -> dict[tuple[str, str], dict[str, tuple[float, int]]]:
            pods = running()
            return {(one.namespace, one.name): {CONTAINER: (load / 1000 / len(pods), 0)} for one in pods}

        cluster.controllers.metrics = usages
        cluster.apply(deployment(NAME, replicas, pod(NAME, cpu=f"{round(request)}m")))
        cluster.advance(SETTLE)
        for number in range(1, rounds + 1):
            there = running()
            each = round(load / len(there))
            asked = there[0].spec.containers[0].resources.requests["cpu"].milli_value()
            row = {"round": number, "replicas": len(there), "each uses": each, "request": asked}
            rows.append(row | {"percent": each * 100 // asked})
            # One after the other, so that the rows show what each of them does: the object exists for its turn only.
            cluster.apply(horizontal_autoscaler(NAME, target, most=most))
            cluster.advance(SETTLE)
            cluster.delete("HorizontalPodAutoscaler", NAME)
            used = load / len(running())
            wanted = cpu_recommendation([used] * SAMPLES, request=asked).target
            bounds = RecommendedRange(Quantity.from_milli(round(wanted), "DecimalSI"))
            plan = VerticalPlan("default", "Deployment", NAME, {CONTAINER: {"cpu": bounds}}, min_replicas=1)
            carry_out(cluster, plan, _never)
    return rows


def _never(pod: Pod, wanted: object) -> ResizeOutcome:
    """Resize nothing in place: the mode Recreate evicts."""
    return ResizeOutcome(None)
