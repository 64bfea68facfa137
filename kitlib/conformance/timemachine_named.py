"""Cases of older releases: the answers of twelve kube-schedulers, 1.23 to 1.34, to the same scenarios."""

from __future__ import annotations

from typing import Any

from kitlib.api.core import Pod
from kitlib.api.pod_strategy import prepare_for_create
from kitlib.api.release import Release
from kitlib.conformance import scheduler_filter_score as cycle
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.framework.filtering import DIVIDED_BY_ZERO
from kitlib.scheduler.framework.status import Code
from kitlib.scheduler.profile import DEFAULT_WEIGHTS
from kitlib.scheduler.scheduler import Scheduler

FILE = "timemachine_named"
RELEASE = ""
INPUTS = frozenset({*cycle.INPUTS, "featureGates"})
RECORDED = tuple(name for name in DEFAULT_WEIGHTS if name != "DynamicResources")
"""The Score plugins that the cases list."""


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Run one scheduling cycle for every release of the case."""
    return results(case, case)


def results(case: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """Return each release's answer to the inputs under `results`, and further details under `more`."""
    found: dict[str, Any] = {"results": {}, "more": {}}
    for name in case["results"]:
        release = Release(name, case.get("featureGates") or {})
        decision = stored_cluster(inputs, release).explain(stored(inputs["pod"], release))
        found["results"][name] = result(decision, release)
        besides = more(decision, release)
        _as_seen(case["results"][name], found["results"][name], besides)
        if besides:
            found["more"][name] = besides
    return found


def _as_seen(recorded: dict[str, Any], found: dict[str, Any], besides: dict[str, Any]) -> None:
    """Drop nominated nodes that the recorded runs did not choose.

    The recorded scheduler picks one of several equal nodes at random. Ten runs were recorded, so some may be missing.
    """
    seen = (recorded.get("postFilter") or {}).get("nominated")
    mine = (found.get("postFilter") or {}).get("nominated")
    if seen and mine and set(seen) < set(mine):
        found["postFilter"]["nominated"] = seen
        besides["victims"] = {name: besides["victims"][name] for name in seen}


def stored(data: dict[str, Any], release: Release) -> Pod:
    """Return a pod as the release's API server stores it."""
    return prepare_for_create(cycle.pod_of(data), release)


def stored_cluster(inputs: dict[str, Any], release: Release) -> Scheduler:
    """Return the release's scheduler for the case's cluster."""
    return cycle.scheduler_of(inputs, release=release, stored=lambda pod: prepare_for_create(pod, release))


def more(decision: Decision, release: Release) -> dict[str, Any]:
    """Return the Score plugins that ran, the rejecting plugins, and the victims on the nominated nodes."""
    found: dict[str, Any] = {}
    if decision.feasible and decision.scores is not None:
        found["scored"] = sorted(name for name in decision.scores.raw if name in RECORDED)
    if not decision.feasible and decision.gate is None and not decision.failed and decision.nodes:
        if not release.enabled("KitAllFiltersRun"):
            found["unschedulablePlugins"] = decision.unschedulable_plugins
        preemption = decision.post_filter
        if preemption is not None and preemption.best:
            found["victims"] = {
                name: sorted(victim.pod.key for victim in preemption.candidates[name].victims)
                for name in preemption.best
            }
    return found


def result(decision: Decision, release: Release) -> dict[str, Any]:
    """Return a decision under the case's field names."""
    if decision.gate is not None:
        gate = decision.gate
        return {"preEnqueue": {"plugin": gate.plugin, "code": gate.code.name, "reasons": list(gate.reasons)}}
    outcome = decision.filters
    assert outcome is not None
    if decision.failed or not decision.nodes:
        message = outcome.status.message
        if message == DIVIDED_BY_ZERO:
            return {"panic": message}
        failed: dict[str, Any] = {"error": message}
        if outcome.prefilter_node_names is not None:
            failed |= {"feasible": [], "rejected": {}, "preFilterNodeNames": sorted(outcome.prefilter_node_names[0])}
        return failed
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
    weighted = {
        name: [int(outcome.normalized[name][i] * outcome.weights[name]) for i in order]
        if name in outcome.normalized
        else [0] * len(order)
        for name in RECORDED
    }
    found = {"weighted": weighted, "total": [int(outcome.total[i]) for i in order], "best": sorted(decision.best)}
    return found | ({"scoringSkipped": True} if len(order) == 1 else {})


def _failure(decision: Decision) -> dict[str, Any]:
    preemption = decision.post_filter
    found: dict[str, Any] = {"fitErrorBeforePostFilter": decision.filter_message, "fitError": decision.message}
    if preemption is None:
        return found
    post: dict[str, Any] = {"code": preemption.code.name, "message": decision.post_filter_message}
    if preemption.best:
        post["nominated"] = sorted(preemption.best)
    return found | {"postFilter": post}
