"""Two autoscalers on one resource: the vertical one sets the request by which the horizontal one divides."""

from __future__ import annotations

from typing import Any

from kitlib.api.clock import EPOCH
from kitlib.api.core import Pod
from kitlib.api.meta import Condition
from kitlib.api.serialize import from_dict
from kitlib.controllers.podautoscaler.replica_calculator import resource_replicas
from kitlib.lab.manifests import pod
from kitlib.study.vertical import cpu_recommendation

SAMPLES = 60
"""Number of measurements between two rounds."""


def both_autoscalers(
    load: float, *, request: float, replicas: int, target: int, most: int = 10, rounds: int = 8
) -> list[dict[str, Any]]:
    """Simulate a horizontal and a vertical autoscaler that act on the same load, round by round.

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
    for number in range(1, rounds + 1):
        used = load / replicas
        found = resource_replicas(
            replicas,
            "cpu",
            [_ready(i, request) for i in range(replicas)],
            {f"web-{i}": {"main": round(used)} for i in range(replicas)},
            EPOCH,
            utilization=target,
        )
        row = {"round": number, "replicas": replicas, "each uses": round(used), "request": round(request)}
        rows.append(row | {"percent": found.utilization})
        replicas = max(1, min(found.replicas, most))
        request = cpu_recommendation([load / replicas] * SAMPLES, request=request).target
    return rows


def _ready(number: int, request: float) -> Pod:
    """Return a pod that has been ready for a year, so that the autoscaler counts its usage."""
    made: Pod = from_dict(pod(f"web-{number}", cpu=f"{round(request)}m"))
    made.status.phase = "Running"
    made.status.start_time = EPOCH.replace(year=EPOCH.year - 1)
    since = made.status.start_time
    made.status.conditions = [Condition(type="Ready", status="True", last_transition_time=since)]
    return made
