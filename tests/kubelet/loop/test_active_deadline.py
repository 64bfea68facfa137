"""Pods that are active for too long fail at their deadline, which an update may set, and say why."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster

MESSAGE = "Pod was active on the node longer than the specified deadline"


def pod(deadline: int | None, image: str = "pause", command: tuple[str, ...] = ()) -> dict[str, Any]:
    container = {"name": "c", "image": image, "command": list(command)}
    spec: dict[str, Any] = {"containers": [container], "terminationGracePeriodSeconds": 2}
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    if deadline is not None:
        spec["activeDeadlineSeconds"] = deadline
    return made


@pytest.mark.parametrize(
    ("image", "command"),
    [
        pytest.param("pause", (), id="ends with 0 at SIGTERM"),
        pytest.param("app", ("sh", "-c", "sleep 1000"), id="is killed"),
        pytest.param("web:404", (), id="never starts"),
    ],
)
@pytest.mark.parametrize("updated", [False, True])
def test_a_pod_fails_at_its_deadline(image: str, command: tuple[str, ...], updated: bool) -> None:
    with Cluster.simulated({"missing_images": ["*:404"]}) as cluster:
        cluster.apply(pod(None if updated else 10, image, command))
        cluster.advance(6)
        if updated:
            cluster.patch("Pod", "p", {"spec": {"activeDeadlineSeconds": 10}})
        cluster.advance(2)
        assert cluster.pod("p").status.phase == ("Pending" if image == "web:404" else "Running")
        cluster.advance(8)
        status = cluster.pod("p").status
        assert (status.phase, status.reason, status.message) == ("Failed", "DeadlineExceeded", MESSAGE)
        assert "DisruptionTarget" not in [one.type for one in status.conditions]
        assert [event.message for event in cluster.events() if event.reason == "DeadlineExceeded"] == [MESSAGE]


def test_a_pod_that_ends_before_its_deadline_succeeds() -> None:
    with Cluster.simulated(1) as cluster:
        made = pod(10, "app", ("sh", "-c", "sleep 3"))
        made["spec"]["restartPolicy"] = "Never"
        cluster.apply(made)
        cluster.advance(20)
        assert cluster.pod("p").status.phase == "Succeeded"
