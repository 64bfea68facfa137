"""Tests of the rate of statuses while a machine shuts down, by the release's default of the kubelet's client."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from kitlib.cluster import Cluster

PERIODS = {"shutdownGracePeriod": "60s", "shutdownGracePeriodCriticalPods": "10s"}


def pods(count: int, seconds: float, **spec: Any) -> list[dict[str, Any]]:
    """Pods whose program ends these seconds after SIGTERM."""
    command = ["sh", "-c", f"trap 'sleep {seconds}; exit 1' TERM; while true; do sleep 1; done"]
    spec = {"containers": [{"name": "c", "image": "app", "command": command}], "nodeName": "a", **spec}
    return [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{i}"}, "spec": spec} for i in range(count)]


def phases(release: str, *manifests: dict[str, Any], advance: float = 30) -> dict[str, int]:
    with Cluster.simulated([{"name": "a", "kubelet": PERIODS}], release=release) as made:
        made.apply(list(manifests))
        made.advance(3)
        made.node("a").shutdown()
        made.advance(advance)
        return Counter(one.status.phase for one in made.pods())


@pytest.mark.parametrize(("release", "told"), [("1.26", 5), ("1.27", 12)])
def test_a_machine_does_not_wait_for_statuses_beyond_the_clients_burst(release: str, told: int) -> None:
    """Two requests a status: 10 at once until 1.26, 100 since."""
    found = phases(release, *pods(12, 0))
    assert (found["Failed"], found["Running"]) == (told, 12 - told)


def test_what_waits_is_sent_while_another_pod_takes_its_time() -> None:
    slow = pods(1, 20)[0]
    slow["metadata"]["name"] = "slow"
    assert phases("1.26", *pods(12, 0), slow)["Failed"] == 13


def test_a_pod_that_is_deleted_meanwhile_is_gone_with_its_last_status() -> None:
    with Cluster.simulated([{"name": "a", "kubelet": PERIODS}], release="1.26") as made:
        made.apply([*pods(8, 0), *(slow := pods(9, 8)[8:])])
        made.advance(3)
        made.node("a").shutdown()
        made.delete("Pod", slow[0]["metadata"]["name"])
        made.advance(60)
        assert Counter(one.status.phase for one in made.pods()) == {"Failed": 8}
