"""Nominated pods by node."""

from __future__ import annotations

from kitlib.api.core import Pod
from kitlib.scheduler.queue.nominator import Nominator
from tests.scheduler.builders import pod


def nominated(name: str, node: str = "") -> Pod:
    made: Pod = pod(name)
    made.status.nominated_node_name = node
    return made


def names(made: Nominator) -> dict[str, list[str]]:
    return {node: [one.name for one in pods] for node, pods in made.by_node().items()}


def test_a_pod_has_one_nomination_and_an_empty_name_clears_it() -> None:
    made = Nominator()
    made.add(nominated("a", "n0"))
    made.add(nominated("b"), "n0")
    made.add(nominated("a"), "n1")
    assert names(made) == {"n0": ["b"], "n1": ["a"]} and len(made) == 2
    made.add(nominated("a", "n1"), "")
    assert names(made) == {"n0": ["b"]} and made.node_of(nominated("a")) == ""
    made.delete(nominated("unknown"))
    made.delete(nominated("b"))
    assert names(made) == {} and made.pods_on("n0") == []


def test_an_update_that_says_nothing_of_nominations_keeps_one() -> None:
    """Source: nominator.updateNominatedPodUnlocked."""
    made = Nominator()
    made.add(nominated("a"), "n0")
    made.update(nominated("a"), nominated("a"))
    assert names(made) == {"n0": ["a"]}
    made.update(nominated("a"), nominated("a", "n1"))
    assert names(made) == {"n1": ["a"]}
    made.update(nominated("a", "n1"), nominated("a"))
    assert names(made) == {}


def test_a_pod_that_has_gone_is_not_nominated() -> None:
    made = Nominator(is_alive=lambda one: one.name != "gone")
    made.add(nominated("gone", "n0"))
    made.add(nominated("here", "n0"))
    assert names(made) == {"n0": ["here"]}
