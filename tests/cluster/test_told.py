"""What a node hears of its pods: each change once."""

from __future__ import annotations

from typing import Any

from kitlib.api.core import Pod
from kitlib.api.meta import ObjectMeta
from kitlib.cluster.nodes.pod_sync import Told


def pod(name: str, version: int = 1, phase: str = "Pending") -> Pod:
    made = Pod(metadata=ObjectMeta(name=name, namespace="default", uid=f"uid-{name}", resource_version=str(version)))
    made.status.phase = phase
    return made


def names(news: dict[str, Any]) -> tuple[list[str], list[str]]:
    return [one["metadata"]["name"] for one in news["pods"]], sorted(news["same"])


def test_only_what_is_new_or_has_changed_is_told_in_full() -> None:
    told = Told()
    assert names(told.news([pod("a")])) == (["a"], [])
    told.taken()
    assert names(told.news([pod("a"), pod("b")])) == (["b"], ["uid-a"])
    told.taken()
    assert told.news([pod("a"), pod("b")]) == {}
    assert told.news([pod("a", 2), pod("b")]) == {}, "a version alone is no news"
    assert names(told.news([pod("a", 3, "Running"), pod("b")])) == (["a"], ["uid-b"])
    told.taken()
    assert names(told.news([pod("b")])) == ([], ["uid-b"])
    assert list(told.uids) == ["uid-b"]
    told.taken()
    assert names(told.news([])) == ([], [])


def test_what_a_node_could_not_take_it_is_told_again_with_the_next_change() -> None:
    told = Told()
    told.news([pod("a")])
    assert told.news([pod("a")]) == {}
    assert names(told.news([pod("a"), pod("b")])) == (["a", "b"], [])


def test_a_node_knows_what_it_has_said_itself() -> None:
    told = Told()
    told.news([pod("a")])
    told.taken()
    assert told.knows(pod("a")) and not told.knows(pod("a", 2, "Running")) and not told.knows(pod("b"))
    told.heard(pod("a", 2, "Running"))
    assert told.news([pod("a", 2, "Running")]) == {}
    assert names(told.news([pod("a", 3, "Pending")])) == (["a"], []), "who sets a status back is corrected"
