"""InterPodAffinity: where required terms let a pod stand, and what preferred ones are worth."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.framework.plugin import Context
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from kitlib.scheduler.profile import Profile
from kitlib.scheduler.scheduler import Scheduler
from kitlib.study.scenario import node_of, pod_of

NODES = [
    {"name": "a1", "labels": {"zone": "a"}},
    {"name": "a2", "labels": {"zone": "a"}},
    {"name": "b1", "labels": {"zone": "b"}},
    {"name": "none", "labels": {}},
]
WEB, DB = {"app": "web"}, {"app": "db"}


def term(labels: dict[str, str], key: str = "zone", **more: Any) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": labels}, "topologyKey": key, **more}


def affinity(
    *, near: Any = (), apart: Any = (), likes: dict[int, Any] | None = None, dislikes: dict[int, Any] | None = None
) -> dict[str, Any]:
    """Return the spec of a pod with required terms, and preferred ones by their weights."""

    def listed(required: Any, preferred: dict[int, Any] | None) -> dict[str, Any]:
        weighted = [{"weight": weight, "podAffinityTerm": one} for weight, one in (preferred or {}).items()]
        return {
            "requiredDuringSchedulingIgnoredDuringExecution": list(required),
            "preferredDuringSchedulingIgnoredDuringExecution": weighted,
        }

    return {"affinity": {"podAffinity": listed(near, likes), "podAntiAffinity": listed(apart, dislikes)}}


def placed(name: str, node: str, labels: dict[str, str], spec: dict[str, Any] | None = None) -> Pod:
    made: Pod = pod_of({"name": name, "node": node, "labels": labels, "spec": spec or {}})
    return made


def decide(
    pods: list[Pod], spec: dict[str, Any], labels: dict[str, str] | None = None, arguments: Any = None
) -> Decision:
    profile = Profile.default(**({"InterPodAffinity": arguments} if arguments else {}))
    asked: Pod = pod_of({"name": "p", "labels": labels or {}, "spec": spec})
    return Scheduler([node_of(one) for one in NODES], pods, profile=profile).explain(asked)


@pytest.mark.parametrize(
    ("pods", "spec", "labels", "feasible"),
    [
        ([("w", "a1", WEB)], affinity(near=[term(WEB)]), {}, ["a1", "a2"]),
        ([("w", "none", WEB)], affinity(near=[term(WEB)]), {}, []),
        ([], affinity(near=[term(WEB)]), WEB, ["a1", "a2", "b1"]),
        ([("w", "none", WEB)], affinity(near=[term(WEB)]), WEB, ["a1", "a2", "b1"]),
        ([], affinity(near=[term(WEB)]), DB, []),
        ([("w", "a1", WEB), ("d", "b1", DB)], affinity(near=[term(WEB), term(DB)]), {}, []),
        ([("w", "a1", WEB)], affinity(apart=[term(WEB)]), {}, ["b1", "none"]),
        ([("w", "none", WEB)], affinity(apart=[term(WEB)]), {}, ["a1", "a2", "b1", "none"]),
    ],
    ids=[
        "near a pod",
        "a pod without a place",
        "the first of its group",
        "the first of its group where others have no place",
        "not of the group that it looks for",
        "one pod must match all terms",
        "apart from a pod",
        "apart from a pod without a place",
    ],
)
def test_required_terms(pods: list[Any], spec: dict[str, Any], labels: dict[str, str], feasible: list[str]) -> None:
    """Source: satisfyPodAffinity, satisfyPodAntiAffinity."""
    assert decide([placed(*one) for one in pods], spec, labels).feasible == feasible


@pytest.mark.parametrize(("labels", "feasible"), [(WEB, ["b1", "none"]), (DB, ["a1", "a2", "b1", "none"])])
def test_an_existing_pod_keeps_away_those_that_its_term_selects(labels: dict[str, str], feasible: list[str]) -> None:
    """Source: satisfyExistingPodsAntiAffinity."""
    decision = decide([placed("s", "a1", {}, affinity(apart=[term(WEB)]))], {}, labels)
    assert decision.feasible == feasible


@pytest.mark.parametrize(
    ("pods", "spec", "arguments", "raw"),
    [
        ([("w", "a1", WEB), ("v", "a2", WEB)], affinity(likes={5: term(WEB)}), None, [10, 10, 0, 0]),
        ([("w", "a1", WEB)], affinity(likes={5: term(WEB)}, dislikes={3: term(WEB)}), None, [2, 2, 0, 0]),
        ([("s", "a1", {}, affinity(likes={7: term(DB)}))], {}, None, [7, 7, 0, 0]),
        ([("s", "a1", {}, affinity(dislikes={7: term(DB)}))], {}, None, [-7, -7, 0, 0]),
        ([("s", "a1", DB, affinity(near=[term(DB)]))], {}, None, [1, 1, 0, 0]),
        ([("s", "a1", DB, affinity(near=[term(DB)]))], {}, {"hardPodAffinityWeight": 9}, [9, 9, 0, 0]),
        ([("s", "a1", DB, affinity(near=[term(DB)]))], {}, {"hardPodAffinityWeight": 0}, None),
        (
            [("s", "a1", {}, affinity(likes={7: term(DB)}))],
            {},
            {"ignorePreferredTermsOfExistingPods": True},
            None,
        ),
        (
            [("s", "a1", WEB, affinity(likes={7: term(DB)}))],
            affinity(likes={2: term(WEB)}),
            {"ignorePreferredTermsOfExistingPods": True},
            [9, 9, 0, 0],
        ),
    ],
    ids=[
        "each pod counts",
        "likes and dislikes",
        "liked by a pod",
        "disliked by a pod",
        "needed by a pod",
        "weight of required terms",
        "without a weight of required terms",
        "preferences of others are ignored",
        "but not for a pod with preferences",
    ],
)
def test_preferred_terms(pods: list[Any], spec: dict[str, Any], arguments: Any, raw: list[int] | None) -> None:
    """Source: interpodaffinity processExistingPod, PreScore."""
    scores = decide([placed(*one) for one in pods], spec, DB, arguments).scores
    assert scores is not None
    found = scores.raw.get("InterPodAffinity")
    assert (found.tolist() if found is not None else None) == raw


def other(app: str) -> Pod:
    return from_dict(
        {"metadata": {"name": "other", "uid": "other", "namespace": "default", "labels": {"app": app}}}, Pod
    )


@pytest.mark.parametrize(
    ("spec", "old", "new", "expected"),
    [
        (affinity(near=[term(WEB)]), None, other("web"), True),
        (affinity(near=[term(WEB)]), None, other("db"), False),
        (affinity(near=[term(WEB)]), other("db"), other("web"), True),
        (affinity(near=[term(WEB)]), other("web"), other("web"), False),
        (affinity(near=[term(WEB)]), other("web"), other("db"), False),
        (affinity(near=[term(WEB)]), other("web"), None, False),
        (affinity(apart=[term(WEB)]), other("web"), None, True),
        (affinity(apart=[term(WEB)]), other("db"), None, False),
        (affinity(apart=[term(WEB)]), other("web"), other("db"), True),
        (affinity(apart=[term(WEB)]), other("web"), other("web"), False),
        (affinity(apart=[term(WEB)]), None, other("web"), False),
        ({}, None, other("web"), False),
    ],
    ids=["comes", "another comes", "becomes one", "is one still", "is none any longer", "goes", "goes away from it",
         "another goes", "is not avoided any longer", "is avoided still", "comes near", "no terms"],
)  # fmt: skip
def test_the_changes_of_other_pods_that_bring_a_pod_back(
    spec: dict[str, Any], old: Pod | None, new: Pod | None, expected: bool
) -> None:
    """Source: interpodaffinity isSchedulableAfterPodChange."""
    asked: Pod = pod_of({"name": "p", "spec": spec})
    (_, hint), _ = InterPodAffinity().events_to_register(Context(Snapshot(), Release("1.36")))
    assert hint is not None
    assert hint(asked, old, new) is expected


def test_a_pod_that_leaves_may_have_excluded_this_one() -> None:
    asked: Pod = pod_of({"name": "p", "labels": WEB})
    (_, hint), _ = InterPodAffinity().events_to_register(Context(Snapshot(), Release("1.36")))
    assert hint is not None
    for labels, expected in ((WEB, True), (DB, False)):
        leaving = placed("s", "a1", {}, affinity(apart=[term(labels)]))
        assert hint(asked, leaving, None) is expected
        assert hint(asked, None, leaving) is False
