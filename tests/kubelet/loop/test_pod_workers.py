"""The pods that a kubelet knows."""

from __future__ import annotations

from datetime import UTC, datetime

from kitlib.api.core import Pod
from kitlib.api.serialize import from_dict
from kitlib.kubelet.loop.pod_worker import PodWorker
from kitlib.kubelet.loop.pod_workers import PodWorkers

NOW = datetime(2026, 1, 5, 8, tzinfo=UTC)


def worker(name: str) -> PodWorker:
    """Return a pod with two containers."""
    containers = [{"name": one, "image": "x"} for one in "ab"]
    pod: Pod = from_dict({"metadata": {"name": name, "uid": name}, "spec": {"containers": containers}}, Pod)
    return PodWorker(pod, NOW)


def test_a_pod_is_found_by_its_uid_and_by_its_containers_until_it_is_forgotten() -> None:
    pods, first, second = PodWorkers(), worker("first"), worker("second")
    for one in (first, second):
        pods.add(one)
    assert list(pods) == [first, second]
    assert pods.by_uid["second"] is second
    assert [pods.containers[state.id] for state in first.states] == [(first, state) for state in first.states]
    pods.forget(first)
    assert list(pods) == [second]
    assert {found for found, _ in pods.containers.values()} == {second}
    assert list(pods.dirty) == ["second"]


def test_pods_can_be_added_and_forgotten_while_all_are_visited() -> None:
    pods = PodWorkers()
    pods.add(worker("first"))
    visited = []
    for one in pods:
        visited.append(one.pod.name)
        pods.forget(one)
        pods.add(worker("second"))
    assert visited == ["first"]
    assert [one.pod.name for one in pods] == ["second"]


def test_a_pod_stays_marked_until_it_has_nothing_to_do() -> None:
    pods, waiting, ended = PodWorkers(), worker("waiting"), worker("ended")
    for one in (waiting, ended):
        pods.add(one)
    for state in ended.states:
        state.started(1.0, NOW)
    pods.settle()
    assert list(pods.dirty) == ["waiting"]  # its containers have not started
    pods.mark_dirty(ended)
    assert list(pods.dirty) == ["waiting", "ended"]
