"""What could not be started is tried again every ten seconds, as the kubelet's pod workers do."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.kubelet.loop.interfaces import ContainerProblem

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: c, image: nginx}]
"""


def failing(monkeypatch: pytest.MonkeyPatch, node: Any, method: str, error: Exception, times: int) -> list[float]:
    """The runtime refuses so many times; when it was asked."""
    real, asked = getattr(node.runtime, method), []

    def start(*about: Any) -> None:
        asked.append(node.kernel.now)
        if len(asked) <= times:
            raise error
        real(*about)

    monkeypatch.setattr(node.runtime, method, start)
    return asked


def test_a_container_that_could_not_be_created_is_created_later(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster.simulated(1)
    error = ContainerProblem("CreateContainerError", "no room")
    asked = failing(monkeypatch, cluster.node(), "start", error, 2)
    cluster.apply(POD)
    (status,) = cluster.pod("web").status.container_statuses
    assert status.state == {"waiting": {"reason": "CreateContainerError", "message": "no room"}}
    assert cluster.pod("web").status.phase == "Pending"
    cluster.advance(15)
    assert cluster.pod("web").status.phase == "Pending"
    cluster.advance(15)
    (status,) = cluster.pod("web").status.container_statuses
    assert "running" in status.state and status.restart_count == 0
    assert cluster.pod("web").status.phase == "Running"
    assert asked == [0, 10, 20]
    (failed,) = [e for e in cluster.events("web") if e.reason == "Failed"]
    assert (failed.message, failed.count) == ("Error: no room", 2)


def test_a_sandbox_that_could_not_be_created_is_an_event_and_is_created_later(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster.simulated(1)
    asked = failing(monkeypatch, cluster.node(), "run_sandbox", KitError("no room"), 1)
    cluster.apply(POD)
    assert cluster.pod("web").status.phase == "Pending"
    (failed,) = [e for e in cluster.events("web") if e.reason == "FailedCreatePodSandBox"]
    assert failed.message == "Failed to create pod sandbox: no room"
    cluster.advance(11)
    assert cluster.pod("web").status.phase == "Running"
    assert asked == [0, 10]
    cluster.delete("Pod", "web")
    cluster.advance(60)
    assert cluster.pods() == []
