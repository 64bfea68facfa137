"""Probes really ask a container on a real node: with what they find it becomes ready, or is started again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kitlib.cluster.control_plane.docker import DockerCluster

SERVER = "python3 -c 'import http.server as h; h.test(h.SimpleHTTPRequestHandler, port=8080)'"
SCRIPT = f"cd /tmp; (sleep 7; touch ready; sleep 4; touch ill) & sleep 2; {SERVER}"
ALIVE = "test ! -e /tmp/ill || (echo is ill; exit 1)"
EVERY_SECOND = {"periodSeconds": 1}
CONTAINER = {
    "name": "main",
    "image": "x",
    "command": ["sh", "-c", SCRIPT],
    "startupProbe": {"tcpSocket": {"port": 8080}, "failureThreshold": 30, **EVERY_SECOND},
    "readinessProbe": {"httpGet": {"port": 8080, "path": "/ready"}, "failureThreshold": 1, **EVERY_SECOND},
    "livenessProbe": {"exec": {"command": ["sh", "-c", ALIVE]}, "failureThreshold": 2, **EVERY_SECOND},
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [CONTAINER], "terminationGracePeriodSeconds": 0},
}


def status(cluster: DockerCluster) -> Any:
    return cluster.pod("web").status.container_statuses[0]


def messages(cluster: DockerCluster) -> list[str]:
    return [event.message for event in cluster.events() if event.involved_object.name == "web"]


def test_a_server_starts_is_ready_and_is_restarted_by_what_its_probes_find(start: Callable[..., DockerCluster]) -> None:
    cluster = start(1)
    cluster.apply(POD)
    cluster.wait(lambda c: c.pod("web").status.container_statuses and status(c).started, 60)
    assert not status(cluster).ready
    cluster.wait(lambda c: status(c).ready, 30)
    cluster.wait(lambda c: status(c).restart_count == 1, 30)
    said = messages(cluster)
    refused = f"Startup probe failed: dial tcp {cluster.pod('web').status.pod_ip}:8080: connect: connection refused"
    assert any(refused in text for text in said)
    assert "Readiness probe failed: HTTP probe failed with statuscode: 404" in said
    assert "Liveness probe failed: is ill\n" in said
    assert "Container main failed liveness probe, will be restarted" in said
