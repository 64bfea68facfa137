"""What a learner writes over the served API, in the place of what kubelet and scheduler report, gives no point."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kitlib.apiserver.http.dispatcher import Dispatcher
from kitlib.lab import Lab
from kitlib.lab.progress import Progress
from tests.apiserver.http.conftest import call_of

LAB = Path(__file__).parents[2] / "labs" / "09-pending-three-reasons"
PODS, NODES, MERGE = "/api/v1/namespaces/default/pods", "/api/v1/nodes", "application/merge-patch+json"


def reported(call: Any, pod: str) -> Any:
    running = {"name": "main", "ready": True, "state": {"running": {}}}
    status = {"status": {"phase": "Running", "containerStatuses": [running]}}
    return call("PATCH", f"{PODS}/{pod}/status", status, content_type=MERGE)[0]


def bound(call: Any, pod: str) -> Any:
    target = {"kind": "Node", "name": "fast-1"}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target}
    return call("POST", f"{PODS}/{pod}/binding", body)[0]


def other_node(call: Any, pod: str) -> Any:
    capacity = {"cpu": "64", "memory": "1Ti", "pods": "110"}
    made = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "fast-1"}, "status": {"capacity": capacity}}
    return call("DELETE", f"{NODES}/fast-1")[0], call("POST", NODES, made)[0]


def told(call: Any, pod: str) -> Any:
    event = {
        "metadata": {"name": "x", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "name": pod, "namespace": "default"},
        "reason": "Scheduled",
        "message": f"Successfully assigned default/{pod} to fast-1",
        "source": {"component": "default-scheduler"},
    }
    return call("POST", "/api/v1/namespaces/default/events", event)[0]


def test_what_nobody_reported_gives_no_point(tmp_path: Path) -> None:
    """An event of the scheduler's, a binding, a status, a node without taint: all at once."""
    lab = Lab(LAB, seed=0, progress=Progress(tmp_path))
    pending = next(pod.metadata.name for pod in lab.cluster.pods() if pod.status.phase == "Pending")
    call = call_of(Dispatcher(lab.cluster))
    assert [forge(call, pending) for forge in (told, bound, reported, other_node)] == [201, 201, 200, (200, 201)]
    assert [(result.task, result.points) for result in lab.check().results] == [("reasons", 0.0)]
