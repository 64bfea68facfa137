"""Streams into simulated containers stay open while the container runs and end with it."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.streams import LogOptions, StreamEvent
from kitlib.cluster import Cluster

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  restartPolicy: Never
  containers: [{name: c, image: "x:1"}]
"""
WHERE = ("default", "web", "c")


@pytest.fixture
def cluster() -> Any:
    with Cluster.simulated([{"name": "n", "cpus": 2}]) as made:
        made.apply(POD)
        yield made


def opened(node: Any, how: str, heard: Any) -> Any:
    ways = {
        "logs -f": lambda: node.follow(*WHERE, heard, LogOptions(follow=True)),
        "attach": lambda: node.attach(*WHERE, heard, stdin=False, tty=False),
        "attach -i": lambda: node.attach(*WHERE, heard, stdin=True, tty=False),
        "exec -i sh": lambda: node.exec(*WHERE, ["sh"], heard, stdin=True, tty=False),
    }
    return ways[how]()


@pytest.mark.parametrize(("how", "code"), [("logs -f", 0), ("attach", 0), ("attach -i", 137), ("exec -i sh", 137)])
@pytest.mark.parametrize("ending", ["its process is killed", "its pod is deleted"])
def test_a_stream_ends_with_its_container(cluster: Any, how: str, code: int, ending: str) -> None:
    events: list[StreamEvent] = []
    node = cluster.node("n")
    opened(node, how, events.append)
    cluster.advance(5)
    assert not any(event.ended for event in events), "the container runs"
    if ending == "its process is killed":
        node.signal("web", "c")
        cluster.advance(2)
    else:
        cluster.delete("pod", "web")
        cluster.advance(60)
    assert [event.code for event in events if event.ended] == [code]


def test_a_log_that_is_not_followed_ends_at_once(cluster: Any) -> None:
    events: list[StreamEvent] = []
    cluster.node("n").follow(*WHERE, events.append, LogOptions())
    assert [event.ended for event in events] == [True]


def test_a_stream_that_its_user_closed_hears_nothing_more(cluster: Any) -> None:
    events: list[StreamEvent] = []
    node = cluster.node("n")
    opened(node, "logs -f", events.append).close()
    node.signal("web", "c")
    cluster.advance(2)
    assert not events
    assert not node.followed


def test_a_container_that_started_again_has_other_streams(cluster: Any) -> None:
    events: list[StreamEvent] = []
    cluster.apply(POD.replace("name: web", "name: again").replace("Never", "Always"))
    node = cluster.node("n")
    node.follow("default", "again", "c", events.append, LogOptions(follow=True))
    node.signal("again", "c")
    cluster.advance(30)
    assert [event.ended for event in events] == [True]
    assert node.pid("default", "again", "c")


def test_the_exit_of_an_attached_program_ends_its_container_also_when_it_is_replayed(cluster: Any) -> None:
    cluster.apply(POD.replace("name: web", "name: box").replace("{name: c,", "{name: c, stdin: true,"))
    node = cluster.node("n")
    stream = node.attach("default", "box", "c", lambda event: None, stdin=True, tty=False)
    stream.write(b"exit 3\n")
    cluster.advance(1)
    with Cluster.simulated([{"name": "n", "cpus": 2}]) as other:
        other.replay(cluster.journal)
        for one in (cluster, other):
            state = one.get("pod", "box").status.container_statuses[0].state
            assert state["terminated"]["exitCode"] == 3
