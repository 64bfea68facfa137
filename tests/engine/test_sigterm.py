"""Process 1 of a container ends at SIGTERM only if it has a handler, on real and simulated nodes alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster
from tests.engine.helpers import pod

PODS: dict[str, dict[str, Any]] = {
    "sleep": {"command": ["sleep", "1000"]},
    "shell": {"command": "while true; do sleep 1; done"},
    "foreground": {"command": "trap 'exit 0' TERM; sleep 1000"},
    "trap": {"command": "trap 'exit 0' TERM; sleep 1000 & wait"},
    "shared": {"command": ["sleep", "1000"], "shareProcessNamespace": True},
    "declared": {"workload": "cpu=0.1"},
    "stress": {"command": ["stress-ng", "--cpu", "1", "--cpu-load", "1"]},
}
AT_ONCE = {"trap", "shared", "declared", "stress", "image"}
GRACE = 600


def pods() -> list[dict[str, Any]]:
    image = {"name": "c", "image": "nginx"}
    made = [pod(name=name, **{"command": "", **settings}) for name, settings in PODS.items()]
    made.append(pod(name="image", containers=[image]))
    for one in made:
        one["spec"]["terminationGracePeriodSeconds"] = GRACE
    return made


def until(cluster: Any, condition: Callable[[Any], bool]) -> None:
    """Wait; on virtual time two seconds are enough."""
    if isinstance(cluster, SimulatedCluster):
        cluster.advance(2)
        assert condition(cluster)
    else:
        cluster.wait(condition, 60)


@pytest.fixture(params=["simulated", "real"])
def cluster(request: pytest.FixtureRequest, start: Callable[..., Any]) -> Any:
    return start(1) if request.param == "real" else Cluster.simulated(1)


def test_sigterm_ends_process_1_only_by_a_handler(cluster: Any) -> None:
    cluster.apply(pods())
    until(cluster, lambda c: {one.status.phase for one in c.pods()} == {"Running"})
    cluster.advance(1)  # a shell has set its trap
    for one in cluster.pods():
        cluster.delete("Pod", one.name)
    until(cluster, lambda c: not AT_ONCE & {one.name for one in c.pods()})
    cluster.advance(2)
    left = {one.name: one for one in cluster.pods()}
    assert left.keys() == {"sleep", "shell", "foreground"}
    assert all("running" in one.status.container_statuses[0].state for one in left.values())
    for one in left:
        cluster.delete("Pod", one, grace=1)
    until(cluster, lambda c: not c.pods())
