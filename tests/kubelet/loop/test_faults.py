"""A defect in the work on one pod fails this pod only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.serialize import from_dict
from kitlib.kubelet.loop.faults import Faults


class Worker:
    """The parts of a pod's worker that a failure uses."""

    def __init__(self, name: str) -> None:
        self.pod = from_dict({"metadata": {"name": name, "namespace": "n"}}, Pod)
        self.rejected: tuple[str, str] | None = None
        self.states: list[Any] = []
        self.sandbox, self.has_sandbox = f"{name}-sandbox", True


class Recorder:
    """The kubelet's reports and its runtime."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []
        self.statuses: list[tuple[str, str, str]] = []
        self.stopped: list[str] = []
        self.dropped: list[Worker] = []
        self.faults: Any = Faults("node-1", self, self, self.dropped.append)  # type: ignore[arg-type]

    def event(self, pod: Any, kind: str, reason: str, text: str) -> None:
        self.events.append((pod.metadata.name if pod else "", reason, text))

    def status(self, pod: Any, status: Any) -> None:
        self.statuses.append((pod.metadata.name, status.phase, status.reason))

    def stop(self, identity: str, grace: float) -> None:
        self.stopped.append(identity)
        raise RuntimeError("stopping raises, too")


def fails_for(*names: str) -> Callable[[Any], None]:
    """Return work on one or several pods that raises for some of them."""

    def work(given: Any) -> None:
        for worker in given if isinstance(given, list) else [given]:
            done.append(worker.pod.metadata.name)
            if worker.pod.metadata.name in names:
                raise ValueError(f"no {worker.pod.metadata.name}")

    done: list[str] = []
    work.done = done  # type: ignore[attr-defined]
    return work


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")


@pytest.mark.parametrize("how", ["each", "together"])
@pytest.mark.parametrize(
    ("pods", "bad"), [("a", ""), ("a", "a"), ("abc", "b"), ("abc", "ac"), ("ab", "ab"), ("", ""), ("abc", "")]
)
def test_exactly_the_pods_whose_work_raises_fail(how: str, pods: str, bad: str) -> None:
    recorder, work = Recorder(), fails_for(*bad)
    workers = [Worker(name) for name in pods]
    getattr(recorder.faults, how)(workers, work)
    assert [worker.pod.metadata.name for worker in workers if worker.rejected] == list(bad)
    text = "error syncing pod, skipping: ValueError: no "
    assert recorder.events == [(name, "FailedSync", text + name) for name in bad]
    assert [worker.rejected for worker in workers if worker.rejected] == [
        ("InternalError", text + name) for name in bad
    ]
    assert set(work.done) == set(pods)  # type: ignore[attr-defined]


def test_work_on_one_pod_is_not_repeated_and_on_several_pods_once_for_each() -> None:
    for pods, expected in (("a", ["a"]), ("ab", ["a", "a", "b"])):
        work = fails_for("a")
        Recorder().faults.together([Worker(name) for name in pods], work)
        assert work.done == expected  # type: ignore[attr-defined]


def test_work_without_pods_that_raises_is_the_nodes() -> None:
    recorder = Recorder()

    def raises(pods: Any) -> None:
        raise KeyError("x")

    recorder.faults.together([], raises)
    assert recorder.events == [("", "KubeletError", "pods: KeyError: 'x'")]


def test_a_second_failure_stops_the_containers_and_drops_the_pod() -> None:
    recorder, worker = Recorder(), Worker("a")
    state = type("State", (), {"id": "container"})
    worker.states = [state]
    recorder.faults.each([worker], fails_for("a"))
    first = worker.rejected
    assert (recorder.stopped, recorder.dropped, recorder.statuses, worker.has_sandbox) == ([], [], [], True)
    recorder.faults.each([worker], fails_for("a"))
    assert recorder.stopped == ["container", "a-sandbox"]
    assert (recorder.dropped, worker.has_sandbox) == ([worker], False)
    assert recorder.statuses == [("a", "Failed", "InternalError")]
    assert worker.rejected == first


def test_a_pod_that_was_rejected_for_another_reason_keeps_it() -> None:
    recorder, worker = Recorder(), Worker("a")
    worker.rejected = ("OutOfcpu", "x")
    recorder.faults.each([worker], fails_for("a"))
    assert worker.rejected == ("OutOfcpu", "x")
    assert recorder.dropped == [worker]


def test_a_part_of_the_work_on_the_node() -> None:
    recorder = Recorder()
    assert recorder.faults.part("images", lambda: 1) is True
    assert recorder.faults.part("images", lambda: None) is False
    assert recorder.events == []
    assert recorder.faults.part("images", lambda: 1 // 0) is False
    assert [reason for _, reason, _ in recorder.events] == ["KubeletError"]


def test_a_manifest_that_cannot_be_taken_fails_its_pod() -> None:
    recorder, worker = Recorder(), Worker("a")
    assert recorder.faults.manifests.run(worker.pod, lambda: 1 // 0) is False
    assert recorder.statuses == [("a", "Failed", "InternalError")]
    assert [(name, reason) for name, reason, _ in recorder.events] == [("a", "FailedSync")]
