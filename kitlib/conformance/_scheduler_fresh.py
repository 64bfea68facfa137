"""What the kinds scheduler_fresh_* and scheduler_dra share: one cycle with any configuration, gates and objects."""

from __future__ import annotations

from typing import Any

from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.conformance import scheduler_filter_score as cycle
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.framework.status import Code
from kitlib.scheduler.profile import Profile

INPUTS = frozenset({*cycle.INPUTS, "tags", "configuration", "featureGates"})


def decide(case: dict[str, Any]) -> Decision:
    """The decision about the case's pod.

    Raises:
        KitError: the configuration is refused.
    """
    settings: dict[str, Any] = {"release": Release.of(None, case.get("featureGates") or {})}
    if "configuration" in case:
        settings["profile"] = Profile.load(case["configuration"])
    scheduler = cycle.scheduler_of(case, **settings)
    return scheduler.explain(cycle.pod_of(case["pod"]))


def check(case: dict[str, Any]) -> dict[str, Any]:
    """One cycle for the incoming pod."""
    try:
        return {"expect": expected(decide(case))}
    except KitError as error:
        return {"expect": {"configurationError": str(error)}}


def expected(decision: Decision) -> dict[str, Any]:
    """A decision under the case's names; what is empty is left out."""
    if decision.failed:
        assert decision.filters is not None
        return {"error": decision.filters.status.message}
    found = cycle.expected(decision)
    if "preFilter" in found and "nodeNames" in found["preFilter"]:
        del found["preFilter"]  # only a rejection is recorded
    if "preFilter" in found:
        del found["preFilter"]["plugins"]
    if not found.get("absentNodes", {}).get("plugin", True):
        del found["absentNodes"]["plugin"]  # of what no single plugin says
    scores = found.get("scores", {})
    if "DynamicResources" in scores and not any(scores["DynamicResources"]["raw"]):
        del scores["DynamicResources"]
    post = found.get("postFilter")
    if post is not None and "candidates" in post and post["code"] != Code.Success.name:
        post["candidatesBut"] = post.pop("candidates")
        del post["nominated"]
    return found
