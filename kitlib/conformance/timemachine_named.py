"""Cases of older releases: the same scenarios as kube-scheduler 1.23, 1.24 and 1.26 answered them."""

from __future__ import annotations

from typing import Any

from kitlib.api.release import Release
from kitlib.conformance import scheduler_filter_score as cycle
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.framework.status import Code
from kitlib.scheduler.profile import DEFAULT_WEIGHTS

FILE = "timemachine_named"
INPUTS = frozenset({*cycle.INPUTS, "featureGates"})


def check(case: dict[str, Any]) -> dict[str, Any]:
    """One cycle for every release of the case."""
    return {"results": results(case, case)}


def results(case: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """Release -> what it answers to the inputs."""
    gates = case.get("featureGates") or {}
    made = {}
    for name in case["results"]:
        release = Release(name, gates)
        decision = cycle.scheduler_of(inputs, release=release).explain(cycle.pod_of(inputs["pod"]))
        made[name] = result(decision, release)
    return made


def result(decision: Decision, release: Release) -> dict[str, Any]:
    """A decision under the case's names."""
    if decision.gate is not None:
        gate = decision.gate
        return {"preEnqueue": {"plugin": gate.plugin, "code": gate.code.name, "reasons": list(gate.reasons)}}
    outcome = decision.filters
    assert outcome is not None
    found: dict[str, Any] = {"feasible": sorted(decision.feasible), "rejected": {}}
    if not outcome.status.ok:
        status = outcome.status
        found["preFilter"] = {"plugin": status.plugin, "code": status.code.name, "reasons": list(status.reasons)}
    else:
        found["rejected"] = _rejected(decision, release)
        if outcome.prefilter_node_names is not None:
            found["preFilterNodeNames"] = sorted(outcome.prefilter_node_names[0])
    return found | (_scores(decision) if decision.feasible else _failure(decision))


def _rejected(decision: Decision, release: Release) -> dict[str, Any]:
    outcome = decision.filters
    assert outcome is not None
    made: dict[str, Any] = {}
    for row in outcome.rows:
        statuses = outcome.statuses(int(row))
        if not statuses:
            continue
        reasons = [reason for status in statuses for reason in status.reasons]
        entry: dict[str, Any] = {"code": Code(int(outcome.codes[row])).name, "reasons": reasons}
        if release.enabled("KitAllFiltersRun"):
            entry["reasons"] = sorted(reasons)
        if len(reasons) == 1 or not release.enabled("KitAllFiltersRun"):
            entry["plugin"] = statuses[0].plugin
        made[decision.nodes[row]] = entry
    return made


def _scores(decision: Decision) -> dict[str, Any]:
    outcome = decision.scores
    assert outcome is not None
    order = sorted(range(len(outcome.rows)), key=lambda i: decision.nodes[outcome.rows[i]])
    names = [*(name for name in DEFAULT_WEIGHTS if name != "DynamicResources"), "VolumeBinding"]  # as recorded
    weighted = {
        name: [int(outcome.normalized[name][i] * outcome.weights[name]) for i in order]
        if name in outcome.normalized
        else [0] * len(order)
        for name in names
    }
    found = {"weighted": weighted, "total": [int(outcome.total[i]) for i in order], "best": sorted(decision.best)}
    return found | ({"scoringSkipped": True} if len(order) == 1 else {})


def _failure(decision: Decision) -> dict[str, Any]:
    preemption = decision.preemption
    found: dict[str, Any] = {"fitErrorBeforePostFilter": decision.filter_message, "fitError": decision.message}
    if preemption is None:
        return found
    post: dict[str, Any] = {"code": preemption.code.name, "message": decision.post_filter_message}
    if preemption.best:
        post["nominated"] = sorted(preemption.best)
    return found | {"postFilter": post}
