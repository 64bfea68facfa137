"""Work queues, back-offs, and a controller manager that one wrong object does not stop."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kitlib.controllers.descriptors import CONTROLLERS
from kitlib.controllers.replicaset import ReplicaSetController
from kitlib.controllers.workqueue import WorkQueue
from tests.controllers.builders import hollow, workload


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 5, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def test_a_key_is_taken_once_and_in_order():
    queue: WorkQueue[str] = WorkQueue(Clock())
    for key in ("a", "b", "a"):
        queue.add(key)
    assert queue.take() == ["a", "b"] and queue.take() == []


def test_a_delayed_key_waits_and_the_earlier_time_counts():
    clock = Clock()
    queue: WorkQueue[str] = WorkQueue(clock)
    queue.add_after("a", 10)
    queue.add_after("a", 5)
    queue.add_after("a", 20)
    assert queue.take() == []
    clock.move(5)
    assert queue.is_due() and queue.take() == ["a"]
    clock.move(100)
    assert queue.take() == []


def test_back_offs_double_and_end_with_a_success():
    clock = Clock()
    queue: WorkQueue[str] = WorkQueue(clock)
    waits = []
    for _ in range(20):
        queue.add_rate_limited("a")
        before = clock.now
        while not queue.is_due():
            clock.move(0.005)
            if (clock.now - before).total_seconds() > 20:
                break
        waits.append((clock.now - before).total_seconds())
        queue.take()
        if waits[-1] > 10:
            break
    assert [round(wait, 3) for wait in waits[:4]] == [0.005, 0.01, 0.02, 0.04]
    queue.forget("a")
    queue.add_rate_limited("a")
    clock.move(0.005)
    assert queue.take() == ["a"]


def test_a_defect_in_one_object_is_kept_and_stops_no_other(monkeypatch):
    cluster = hollow()
    sync = ReplicaSetController.sync

    def broken(self, key):
        if key[1] == "bad":
            raise ZeroDivisionError("defect")
        sync(self, key)

    monkeypatch.setattr(ReplicaSetController, "sync", broken)
    cluster.apply([workload("ReplicaSet", "bad", 1), workload("ReplicaSet", "good", 2)])
    assert {pod.metadata.labels["app"] for pod in cluster.pods()} == {"good"}
    assert {(name, key) for name, key, _ in cluster.controllers.errors} == {
        ("replicaset-controller", ("default", "bad"))
    }


def test_every_controller_has_a_name_of_its_own():
    names = [controller.name for controller in CONTROLLERS]
    assert len(names) == len(set(names))


def test_nothing_is_reconciled_when_nothing_changes(monkeypatch):
    cluster = hollow()
    cluster.apply([workload("Deployment", replicas=2)])
    calls: list[object] = []
    monkeypatch.setattr(ReplicaSetController, "sync", lambda self, key: calls.append(key))
    cluster.advance(5)
    assert calls == []
