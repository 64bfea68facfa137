"""The heap of waiting pods: order, changes and removals."""

from __future__ import annotations

import random

from kitlib.api.core import Pod
from kitlib.api.serialize import from_dict
from kitlib.scheduler.queue.heap import PodHeap
from kitlib.scheduler.queue.queued_pod_info import QueuedPod


def queued(name: str, priority: int = 0) -> QueuedPod:
    made = from_dict({"metadata": {"name": name, "namespace": "n", "uid": name}, "spec": {"priority": priority}}, Pod)
    return QueuedPod(made, 0)


def heap() -> PodHeap:
    return PodHeap(lambda info: -(info.pod.spec.priority or 0))


def names(found: PodHeap) -> list[str]:
    return [info.pod.metadata.name for info in found]


def test_the_smallest_key_comes_first_and_equal_keys_in_the_order_of_arrival() -> None:
    found = heap()
    for name, priority in (("a", 1), ("b", 5), ("c", 1), ("d", 9)):
        found.put(queued(name, priority))
    assert names(found) == ["d", "b", "a", "c"]
    assert sorted(info.pod.metadata.name for info in found.values()) == ["a", "b", "c", "d"]
    assert [found.pop().pod.metadata.name for _ in range(4)] == ["d", "b", "a", "c"]  # type: ignore[union-attr]
    assert (found.pop(), found.peek(), len(found)) == (None, None, 0)


def test_a_changed_pod_moves_and_stands_behind_its_equals() -> None:
    found = heap()
    for name in "abc":
        found.put(queued(name))
    found.put(queued("a"))
    assert (names(found), len(found)) == (["b", "c", "a"], 3)
    found.put(queued("c", 3))
    assert names(found) == ["c", "b", "a"]
    assert found.peek() is found.get("n/c")


def test_a_removed_pod_is_gone_and_may_come_again() -> None:
    found = heap()
    first = queued("a")
    found.put(first)
    found.put(queued("b"))
    assert "n/a" in found
    assert found.remove("n/a") is first
    assert found.remove("n/a") is None
    assert ("n/a" in found, found.get("n/a"), names(found)) == (False, None, ["b"])
    found.put(first)
    assert names(found) == ["b", "a"]


def test_many_changes_keep_the_order() -> None:
    """The heap is rebuilt on the way, when most of its entries are old ones."""
    found, dice = heap(), random.Random(5)
    expected: dict[str, tuple[int, int]] = {}
    for step in range(1000):
        name = str(dice.randrange(12))
        if dice.random() < 0.2:
            assert (found.remove(f"n/{name}") is not None) is (expected.pop(name, None) is not None)
            continue
        priority = dice.randrange(4)
        found.put(queued(name, priority))
        expected[name] = (-priority, step)
        assert len(found) == len(expected)
        first = min(expected, key=expected.__getitem__)
        info = found.peek()
        assert info is not None
        assert info.pod.metadata.name == first
    assert names(found) == sorted(expected, key=expected.__getitem__)
