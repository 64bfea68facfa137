"""What `scheduler_fresh_*` and `scheduler_dra` share: one cycle with any configuration, feature gates and objects."""

from __future__ import annotations

import re
from typing import Any

from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.conformance import scheduler_filter_score as cycle
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.framework.status import Code
from kitlib.scheduler.profile import Profile

_SCORE_WRAPPING = re.compile(r'^running Score plugins: plugin "\w+" failed with: ')
INPUTS = frozenset({*cycle.INPUTS, "tags", "configuration", "featureGates", "release"})


def decide(case: dict[str, Any]) -> Decision:
    """Return the decision about the case's pod.

    Raises:
        KitError: the scheduler's configuration is invalid.
    """
    settings: dict[str, Any] = {"release": Release.of(case.get("release"), case.get("featureGates") or {})}
    if "configuration" in case:
        settings["profile"] = Profile.load(case["configuration"], adaptive=True)
    scheduler = cycle.scheduler_of(case, **settings)
    return scheduler.explain(cycle.pod_of(case["pod"]))


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Run one scheduling cycle for the incoming pod; an invalid configuration is the result `configurationError`."""
    try:
        return {"expect": expected(decide(case))}
    except KitError as error:
        return {"expect": {"configurationError": str(error)}}


def expected(decision: Decision) -> dict[str, Any]:
    """Return a decision under the case's field names, without empty fields."""
    if decision.failed:
        assert decision.filters is not None
        failed: dict[str, Any] = {"error": _SCORE_WRAPPING.sub("", decision.filters.status.message)}
        if _SCORE_WRAPPING.match(decision.filters.status.message):
            outcome = decision.filters
            passing = sorted(decision.nodes[row] for row in outcome.rows if not outcome.codes[row])
            failed |= {"feasible": passing, "rejected": cycle.rejected(decision)}
        return failed
    found = cycle.expected(decision)
    if "preFilter" in found and "nodeNames" in found["preFilter"]:
        del found["preFilter"]  # only a rejection is recorded
    if "preFilter" in found:
        del found["preFilter"]["plugins"]
    if not found.get("absentNodes", {}).get("plugin", True):
        del found["absentNodes"]["plugin"]  # no single plugin has rejected the other nodes
    if decision.filters is not None and decision.filters.evaluated is not None:
        evaluated = {decision.nodes[row] for row in decision.filters.evaluated}
        found["rejected"] = {name: status for name, status in found["rejected"].items() if name in evaluated}
        found.setdefault("absentNodes", {"code": Code.UnschedulableAndUnresolvable.name, "reasons": []})
    scores = found.get("scores", {})
    if "DynamicResources" in scores and not any(scores["DynamicResources"]["raw"]):
        del scores["DynamicResources"]
    post = found.get("postFilter")
    if post is not None and "candidates" in post and post["code"] != Code.Success.name:
        post["candidatesBut"] = post.pop("candidates")
        del post["nominated"]
    return found
