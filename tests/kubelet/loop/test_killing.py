"""A pod that is being ended can be given less time, never more."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster

DEAF = "trap '' TERM; sleep infinity & wait"


def ending(grace: int, script: str = DEAF) -> SimulatedCluster:
    """A cluster in which a pod has been told to end."""
    cluster = Cluster.simulated([{"name": "n"}])
    container: dict[str, Any] = {"name": "c", "image": "x", "command": ["sh", "-c", script]}
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}})
    cluster.delete("Pod", "p", grace=grace)
    return cluster


def seconds_left(cluster: SimulatedCluster) -> int:
    for passed in range(100):
        if not cluster.pods() and not cluster.node().owners():
            return passed
        cluster.advance(1)
    raise AssertionError("it never goes")


def test_the_time_of_deletion_is_when_the_pod_must_be_gone() -> None:
    cluster = ending(30)
    meta = cluster.pod("p").metadata
    assert (meta.deletion_timestamp, meta.deletion_grace_period_seconds) == (cluster.now() + timedelta(seconds=30), 30)


@pytest.mark.parametrize(
    ("first", "after", "second", "seconds", "until"),
    [
        (30, 5, 10, 10, 10),  # the shorter time runs from the second request on
        (30, 5, 60, 25, 30),
        (30, 5, 30, 25, 30),
        (30, 5, None, 25, 30),
        (30, 20, 10, 2, 20),  # ten seconds from the first request are over: the shortest there is
        (30, 5, -3, 2, 5),
        (30, 5, 0, 2, None),  # the object is gone at once, its process has two seconds whatever the grace
        (8, 5, 6, 6, 6),  # even if it lives longer by that: the kubelet begins anew with six seconds
    ],
)
def test_a_second_deletion_can_only_shorten_the_time(
    first: int, after: int, second: int | None, seconds: int, until: int | None
) -> None:
    cluster = ending(first)
    began = cluster.now()
    cluster.advance(after)
    cluster.delete("Pod", "p", grace=second)
    if until is not None:
        assert cluster.pod("p").metadata.deletion_timestamp == began + timedelta(seconds=until)
    assert seconds_left(cluster) == seconds


def test_a_process_that_tidies_up_is_not_kept_longer_by_a_second_deletion() -> None:
    cluster = ending(30, "trap 'sleep 8; exit 0' TERM; sleep infinity & wait")
    cluster.advance(2)
    cluster.delete("Pod", "p", grace=20)
    assert seconds_left(cluster) == 6


def test_the_kubelet_tells_that_it_stops_a_container_sooner() -> None:
    cluster = ending(30)
    cluster.advance(5)
    cluster.delete("Pod", "p", grace=10)
    told = [entry for entry in cluster.node().timeline() if "stopping" in entry.action]
    assert [(entry.action, entry.detail) for entry in told] == [
        ("stopping container", "grace 30 s"),
        ("stopping container sooner", "grace 10 s from now"),
    ]
    killing = [event for event in cluster.events("p") if event.reason == "Killing"]
    assert [(event.message, event.count) for event in killing] == [("Stopping container c", 2)]
