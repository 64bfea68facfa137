"""A pod that is taken away by force makes room at once for the one that waited for it."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster


def pod(name: str, cpu: str) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


@pytest.mark.parametrize("grace", [0, 1, None])
def test_the_room_of_a_pod_that_has_gone_is_free_for_the_next(grace: int | None) -> None:
    cluster = Cluster.simulated(1, cpus=1)
    cluster.apply(pod("first", "600m"))
    cluster.apply(pod("second", "600m"))
    assert cluster.pod("second").status.phase == "Pending"
    cluster.delete("Pod", "first", grace=grace)
    cluster.advance(40)
    assert cluster.pod("second").status.phase == "Running"
