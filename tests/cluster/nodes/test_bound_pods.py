"""The pods of a node: all of them, and the changed ones."""

from __future__ import annotations

from kitlib.api.core import Pod
from kitlib.api.meta import ObjectMeta
from kitlib.cluster.nodes.bound_pods import BoundPods, PodChanges


def pod(name: str) -> Pod:
    return Pod(metadata=ObjectMeta(name=name, uid=name))


def test_changes_are_told_once_and_in_order() -> None:
    a, b, c = pod("a"), pod("b"), pod("c")
    pods = BoundPods([a, b])
    assert pods.take() == PodChanges([a, b], [])
    assert pods.take() == PodChanges([], [])
    pods.put(c)
    pods.remove(a)
    pods.remove(pod("unknown"))
    assert pods.take() == PodChanges([c], ["a"])
    assert list(pods) == [b, c] and len(pods) == 2 and b in pods and a not in pods


def test_a_pod_that_comes_and_goes_between_two_looks_is_gone() -> None:
    pods = BoundPods([pod("a")])
    pods.remove(pod("a"))
    assert pods.take() == PodChanges([], ["a"])
    pods.put(pod("a"))
    pods.remove(pod("a"))
    pods.put(pod("a"))
    assert pods.take() == PodChanges([pod("a")], [])


def test_after_a_failed_round_every_pod_counts_as_changed() -> None:
    pods = BoundPods([pod("a"), pod("b")])
    pods.take()
    pods.repeat()
    assert [one.name for one in pods.take().changed] == ["a", "b"]
