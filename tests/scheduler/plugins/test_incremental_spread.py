"""PodTopologySpread's answers for the next pod of a kind are those of the plain plugin."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kitlib.scheduler.plugins.incremental_spread import MAX_MASKS
from kitlib.scheduler.plugins.pod_topology_spread import PodTopologySpread
from tests.scheduler.plugins.incremental_cases import HOSTNAME, ZONE, Compared, node, pod

NODES = [node("a1", "a"), node("a2", "a"), node("b1", "b", disk="ssd"), node("b2", "b"), node("c1", "c", disk="ssd")]
LOOSE = node("loose")
PLAIN = PodTopologySpread({"defaultingType": "List"})


def spread(key: str = ZONE, soft: bool = False, skew: int = 1, **more: Any) -> dict[str, Any]:
    selector = {"labelSelector": {"matchLabels": {"app": "a"}}}
    unsatisfiable = "ScheduleAnyway" if soft else "DoNotSchedule"
    return {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": unsatisfiable, **selector, **more}


def asked(*constraints: dict[str, Any], **spec: Any) -> Any:
    return pod("asked", topologySpreadConstraints=list(constraints), **spec)


def other(name: str, dice: random.Random) -> Any:
    return pod(name, dice.choice(["a", "a", "b"]))


@pytest.mark.parametrize(
    "made",
    [
        asked(spread()),
        asked(spread(skew=2)),
        asked(spread(minDomains=4)),
        asked(spread(HOSTNAME)),
        asked(spread(soft=True)),
        asked(spread(soft=True, skew=3)),
        asked(spread(HOSTNAME, soft=True)),
        asked(spread(soft=True), spread(HOSTNAME, soft=True)),
        asked(spread(), spread(HOSTNAME, skew=2), spread(soft=True)),
        asked(spread(), nodeSelector={"disk": "ssd"}),
        asked(spread(soft=True), nodeSelector={"disk": "ssd"}),
        asked(spread(labelSelector={})),
        asked(spread(labelSelector={"matchLabels": {"app": "b"}})),
    ],
    ids=["zone", "skew 2", "minDomains", "host", "soft", "soft skew 3", "soft host", "two soft", "three",
         "selector", "soft selector", "everything", "others"],
)  # fmt: skip
@pytest.mark.parametrize("nodes", [NODES, [*NODES, LOOSE]], ids=["labelled", "one without a zone"])
def test_answers_stay_those_of_the_plain_plugin(made: Any, nodes: list[Any]) -> None:
    dice = random.Random(1)
    Compared(PLAIN, made, nodes).hold_while_pods_come_and_go(other, dice)


def test_a_pod_without_constraints_passes_everywhere_and_gets_no_score() -> None:
    found = Compared(PLAIN, asked(), NODES)
    assert found.answers.passes_all()
    assert found.answers.scores_none()
    hard = Compared(PLAIN, asked(spread()), NODES)
    assert not hard.answers.passes_all()
    assert hard.answers.scores_none()
    soft = Compared(PLAIN, asked(spread(soft=True)), NODES)
    assert soft.answers.passes_all()
    assert not soft.answers.scores_none()


def test_scores_of_domains_that_all_have_pods() -> None:
    """The count of the emptiest domain is above 0, so that scores are looked up from there on."""
    found = Compared(PLAIN, asked(spread(soft=True)), NODES)
    for row in (0, 0, 1, 2, 4, 4, 4):
        found.place(pod(f"p{row}-{len(found.placed)}"), row)
        found.hold()
    assert found.incremental()[1] == [40, 40, 100, 100, 40]  # counts 3, 1, 3, each times ln 5 and rounded


def test_more_combinations_of_domains_than_are_kept() -> None:
    zones = 8
    found = Compared(PLAIN, asked(spread()), [node(f"n{i}", f"z{i}") for i in range(zones)])
    dice = random.Random(3)
    seen = set()
    for step in range(4 * MAX_MASKS):
        found.place(pod(f"p{step}"), dice.randrange(zones))
        passing = found.incremental()[0]
        seen.add(tuple(passing))
        if step % 16 == 0:
            assert passing == found.plain()[0]
    assert len(seen) > 8
