"""Random clusters under gates: declared features, comparing tolerations, storage scores, missing CSI drivers."""

from __future__ import annotations

from typing import Any

from kitlib.conformance import _scheduler_fresh as fresh
from kitlib.conformance import scheduler_filter_score as cycle

FILE = "scheduler_gates"
RELEASE = "1.36"
INPUTS = fresh.INPUTS


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Run one cycle for the incoming pod: the result of each node, the points by plugin, the message, preemption."""
    decision = fresh.decide(case)
    found: dict[str, Any] = {"feasible": sorted(decision.feasible), "rejected": cycle.rejected(decision)}
    if decision.feasible:
        outcome = decision.scores
        assert outcome is not None
        order = sorted(range(len(outcome.rows)), key=lambda i: decision.nodes[outcome.rows[i]])
        weighted = {
            name: [int(column[i]) * outcome.weights[name] for i in order] for name, column in outcome.normalized.items()
        }
        found |= {
            "best": sorted(decision.best),
            "total": [int(outcome.total[i]) for i in order],
            "weighted": {name: points for name, points in weighted.items() if any(points)},
        }
    else:
        post = decision.post_filter
        assert post is not None
        found |= {
            "unschedulablePlugins": decision.unschedulable_plugins,
            "fitErrorBeforePostFilter": decision.filter_message,
            "fitError": decision.message,
            "postFilter": {"code": post.code.name, "nominated": sorted(post.best) if post.candidates else []},
        }
    return {"expect": found}


def compare(case: dict[str, Any], field: str, expected: Any, found: Any) -> bool:
    """Accept any of the nodes of equal cost as the choice of preemption: the recorded one is among the kit's."""
    given = expected.get("postFilter")
    if given is None or "postFilter" not in found:
        return bool(expected == found)
    best = found["postFilter"]["nominated"]
    node = given["nominated"]
    same = node in best if node else not best
    return same and expected | {"postFilter": given["code"]} == found | {"postFilter": found["postFilter"]["code"]}
