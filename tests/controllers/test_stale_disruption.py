"""An eviction that was announced and did not come. Source: syncStalePodDisruption."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.meta import Condition
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster


def cluster(reason: str) -> SimulatedCluster:
    made = Cluster.simulated([{"cpus": 2}])
    spec = {"containers": [{"name": "c", "image": "x"}]}
    made.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    pod = made.api.store.get("Pod", "p", "default")
    told = Condition(type="DisruptionTarget", status="True", reason=reason, last_transition_time=made.now())
    pod.status.conditions = [*pod.status.conditions, told]
    made.api.update_status(pod)
    return made


def condition(made: SimulatedCluster) -> Any:
    return next((c for c in made.pod("p").status.conditions if c.type == "DisruptionTarget"), None)


@pytest.mark.parametrize(
    ("reason", "seconds", "expected"),
    [("EvictionByEvictionAPI", 100, "True"), ("EvictionByEvictionAPI", 130, "False")],
    ids=["within two minutes", "after two minutes"],
)
def test_the_condition_is_taken_back_after_two_minutes(reason: str, seconds: int, expected: str) -> None:
    made = cluster(reason)
    made.advance(seconds)
    assert condition(made).status == expected
