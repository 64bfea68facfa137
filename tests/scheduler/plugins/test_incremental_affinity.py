"""InterPodAffinity's answers for the next pod of a kind are those of the plain plugin."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kitlib.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from tests.scheduler.plugins.incremental_cases import HOSTNAME, ZONE, Compared, node, pod

NODES = [node("a1", "a"), node("a2", "a"), node("b1", "b"), node("c1", "c"), node("loose")]


def term(app: str = "a", key: str = ZONE) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}


def affinity(near: Any = (), apart: Any = (), likes: Any = (), dislikes: Any = ()) -> dict[str, Any]:
    """Return the spec of a pod with required terms, and with preferred ones as (weight, term)."""

    def listed(required: Any, preferred: Any) -> dict[str, Any]:
        weighted = [{"weight": weight, "podAffinityTerm": one} for weight, one in preferred]
        return {
            "requiredDuringSchedulingIgnoredDuringExecution": list(required),
            "preferredDuringSchedulingIgnoredDuringExecution": weighted,
        }

    return {"affinity": {"podAffinity": listed(near, likes), "podAntiAffinity": listed(apart, dislikes)}}


SPECS = [
    {},
    affinity(near=[term()]),
    affinity(near=[term("b")]),
    affinity(near=[term("a"), term("a", HOSTNAME)]),
    affinity(near=[term("b"), term("a")]),
    affinity(apart=[term()]),
    affinity(apart=[term("b", HOSTNAME)]),
    affinity(apart=[term("a"), term("b")]),
    affinity(near=[term("b")], apart=[term("a", HOSTNAME)]),
    affinity(likes=[(5, term())]),
    affinity(dislikes=[(5, term("b", HOSTNAME))]),
    affinity(likes=[(5, term("b")), (7, term("a"))], dislikes=[(3, term("a", HOSTNAME))]),
]


def other(name: str, dice: random.Random) -> Any:
    return pod(name, dice.choice("ab"), **dice.choice([{}, {}, *SPECS]))


@pytest.mark.parametrize("spec", SPECS, ids=[str(i) for i in range(len(SPECS))])
@pytest.mark.parametrize("arguments", [{}, {"hardPodAffinityWeight": 0}, {"ignorePreferredTermsOfExistingPods": True}])
def test_answers_stay_those_of_the_plain_plugin(spec: dict[str, Any], arguments: dict[str, Any]) -> None:
    found = Compared(InterPodAffinity(arguments), pod("asked", "a", **spec), NODES)
    found.hold_while_pods_come_and_go(other, random.Random(len(str(spec))))


@pytest.mark.parametrize(
    ("spec", "standing", "expected"),
    [
        ({}, {}, True),
        (affinity(near=[term()]), {}, False),
        (affinity(apart=[term()]), {}, False),
        ({}, affinity(apart=[term()]), False),
        ({}, affinity(apart=[term("b")]), True),
        ({}, affinity(near=[term()]), True),
    ],
    ids=["no terms", "affinity", "anti-affinity", "a standing pod's", "about others", "a standing pod's affinity"],
)
def test_which_pods_pass_everywhere(spec: dict[str, Any], standing: dict[str, Any], expected: bool) -> None:
    found = Compared(InterPodAffinity(), pod("asked", **spec), NODES)
    found.place(pod("standing", "a", **standing), 0)
    assert found.answers.passes_all() is expected
    found.hold()


@pytest.mark.parametrize(
    ("spec", "standing", "expected"),
    [
        ({}, {}, True),
        (affinity(likes=[(1, term())]), {}, False),
        (affinity(dislikes=[(1, term())]), {}, False),
        ({}, affinity(likes=[(1, term())]), False),
        ({}, affinity(near=[term()]), False),
        ({}, affinity(near=[term("b")]), True),
        (affinity(near=[term()]), {}, True),
    ],
    ids=["no terms", "likes", "dislikes", "is liked", "is needed", "about others", "required terms only"],
)
def test_which_pods_get_no_score(spec: dict[str, Any], standing: dict[str, Any], expected: bool) -> None:
    found = Compared(InterPodAffinity(), pod("asked", **spec), NODES)
    found.place(pod("standing", "a", **standing), 0)
    assert found.answers.scores_none() is expected
    found.hold()
