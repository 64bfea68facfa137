"""What a node hears of its pods: each change once."""

from __future__ import annotations

from typing import Any

from kitlib.api.core import Pod
from kitlib.api.meta import ObjectMeta
from kitlib.cluster.nodes.pod_sync import PodSync


def pod(name: str, version: int = 1, phase: str = "Pending") -> Pod:
    made = Pod(metadata=ObjectMeta(name=name, namespace="default", uid=f"uid-{name}", resource_version=str(version)))
    made.status.phase = phase
    return made


def names(changes: dict[str, Any]) -> tuple[list[str], list[str]]:
    return [one["metadata"]["name"] for one in changes["pods"]], sorted(changes["same"])


def test_only_what_is_new_or_has_changed_is_told_in_full() -> None:
    known = PodSync()
    assert names(known.changes([pod("a")])) == (["a"], [])
    known.acknowledge()
    assert names(known.changes([pod("a"), pod("b")])) == (["b"], ["uid-a"])
    known.acknowledge()
    assert known.changes([pod("a"), pod("b")]) == {}
    assert known.changes([pod("a", 2), pod("b")]) == {}, "a version alone is no change"
    assert names(known.changes([pod("a", 3, "Running"), pod("b")])) == (["a"], ["uid-b"])
    known.acknowledge()
    assert names(known.changes([pod("b")])) == ([], ["uid-b"])
    assert list(known.uids) == ["uid-b"]
    known.acknowledge()
    assert names(known.changes([])) == ([], [])


def test_what_a_node_could_not_take_it_is_told_again_with_the_next_change() -> None:
    known = PodSync()
    known.changes([pod("a")])
    assert known.changes([pod("a")]) == {}
    assert names(known.changes([pod("a"), pod("b")])) == (["a", "b"], [])


def test_a_node_knows_what_it_has_said_itself() -> None:
    known = PodSync()
    known.changes([pod("a")])
    known.acknowledge()
    assert known.knows(pod("a")) and not known.knows(pod("a", 2, "Running")) and not known.knows(pod("b"))
    known.record_reported(pod("a", 2, "Running"))
    assert known.changes([pod("a", 2, "Running")]) == {}
    assert names(known.changes([pod("a", 3, "Pending")])) == (["a"], []), "who sets a status back is corrected"
