"""The pod behind a Service for requests of the API server: selected, ready, not terminating, with the port."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod, Service
from kitlib.api.serialize import from_dict
from kitlib.apiserver.admission.service_pods import PodPort, ready_pod
from kitlib.apiserver.store.store import Store

SERVICE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "http"}]},
}


def pod(name: str, *, ready: str = "True", app: str = "web", port: str = "http", **meta: Any) -> Pod:
    ports = [{"name": port, "containerPort": 8080}]
    made: Pod = from_dict(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "labels": {"app": app}, **meta},
            "spec": {"nodeName": "node-1", "containers": [{"name": "c", "image": "x", "ports": ports}]},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        }
    )
    return made


CASES = [
    ("the first by name", [pod("b"), pod("a")], "a"),
    ("one that is not ready is passed over", [pod("a", ready="False"), pod("b")], "b"),
    ("one that terminates is passed over", [pod("a", deletionTimestamp="2026-01-01T00:00:00Z"), pod("b")], "b"),
    ("one without the named port is passed over", [pod("a", port="other"), pod("b")], "b"),
    ("labels must match", [pod("a", app="other")], ""),
    ("no pods", [], ""),
]


@pytest.mark.parametrize(("pods", "expected"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_the_pod_behind_a_service(pods: list[Pod], expected: str) -> None:
    store, service = Store(), from_dict(SERVICE, Service)
    for one in pods:
        store.create(one)
    found = ready_pod(store, service, service.spec.ports[0])
    assert found == (PodPort("node-1", "default", expected, 8080) if expected else None)


def test_a_service_without_a_selector_has_no_pods() -> None:
    store, service = Store(), from_dict({**SERVICE, "spec": {"ports": [{"port": 80}]}}, Service)
    store.create(pod("a"))
    assert ready_pod(store, service, service.spec.ports[0]) is None
