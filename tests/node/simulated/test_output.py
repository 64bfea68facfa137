"""The output of simulated containers, as `kubectl logs` shows it."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.streams import LogOptions, StreamEvent
from kitlib.cluster import Cluster


def pod(script: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "busybox", "command": ["sh", "-c", script]}
    meta = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    return {**meta, "spec": {"containers": [container], **spec}}


def logs(cluster: Any, heard: list[StreamEvent] | None = None, **options: Any) -> str:
    events: list[StreamEvent] = [] if heard is None else heard
    cluster.node().follow("default", "p", "c", events.append, LogOptions(**options))
    return b"".join(one.data for one in events).decode()


@pytest.fixture
def cluster() -> Any:
    with Cluster.simulated(1) as made:
        yield made


def test_what_has_been_written_so_far_is_shown(cluster: Any) -> None:
    cluster.apply(pod("echo one; sleep 10; echo two; echo bad >&2; sleep 100"))
    cluster.advance(2)
    assert logs(cluster) == "one\n"
    cluster.advance(10)
    assert logs(cluster) == "one\ntwo\nbad\n"
    assert logs(cluster, tail=1) == "bad\n"
    assert logs(cluster, limit=3) == "one"


def test_a_loop_writes_on(cluster: Any) -> None:
    cluster.apply(pod("echo begin; while true; do echo round; sleep 5; done"))
    cluster.advance(21)
    assert logs(cluster) == "begin\n" + "round\n" * 5


def test_a_counting_loop_counts(cluster: Any) -> None:
    cluster.apply(pod("i=0; while true; do echo $i; i=$((i+1)); sleep 1; done"))
    cluster.advance(4)
    assert logs(cluster).split() == ["0", "1", "2", "3", "4"][: len(logs(cluster).split())]
    assert len(logs(cluster).split()) >= 4


def test_the_log_of_a_completed_container_stays(cluster: Any) -> None:
    cluster.apply(pod("echo done", restartPolicy="Never"))
    cluster.advance(3)
    assert cluster.pod("p").status.phase == "Succeeded"
    assert logs(cluster) == "done\n"


def test_previous_is_the_run_before(cluster: Any) -> None:
    cluster.apply(pod("echo began; sleep 3; echo ended; exit 1"))
    cluster.advance(5)
    assert logs(cluster) == "began\n"
    assert logs(cluster, previous=True) == "began\nended\n"


def test_times_are_those_of_the_cluster(cluster: Any) -> None:
    cluster.apply(pod("sleep 2; echo late; sleep 100"))
    cluster.advance(5)
    started = cluster.pod("p").status.container_statuses[0].state["running"]["startedAt"]
    (line,) = logs(cluster, timestamps=True).splitlines()
    assert line.endswith("Z late")
    assert line[:17] == str(started)[:17]


def test_who_follows_hears_new_lines_and_the_end(cluster: Any) -> None:
    heard: list[StreamEvent] = []
    cluster.apply(pod("echo one; sleep 5; echo two; sleep 5; echo three", restartPolicy="Never"))
    cluster.advance(1)
    logs(cluster, heard, follow=True)
    assert b"".join(one.data for one in heard) == b"one\n"
    cluster.advance(6)
    assert b"".join(one.data for one in heard) == b"one\ntwo\n"
    cluster.advance(10)
    assert b"".join(one.data for one in heard) == b"one\ntwo\nthree\n"
    assert heard[-1].ended


def test_a_program_that_is_not_known_prints_nothing(cluster: Any) -> None:
    made = pod("")
    made["spec"]["containers"][0]["command"] = ["/app"]
    cluster.apply(made)
    cluster.advance(2)
    assert logs(cluster) == ""
