"""The reasons why a cluster does not reach a state."""

from __future__ import annotations

from kitlib.api.core import Event, Node, ObjectReference, Pod
from kitlib.api.serialize import from_dict
from kitlib.cluster.control_plane.obstacles import obstacles


def pod(name: str, phase: str, reason: str = "", node: str = "") -> Pod:
    """Return a pod in this state, with a container that waits for the reason."""
    statuses = [{"name": "c", "state": {"waiting": {"reason": reason}}}] if reason else []
    data = {"metadata": {"name": name, "namespace": "default"}, "spec": {"nodeName": node}}
    made: Pod = from_dict({**data, "status": {"phase": phase, "containerStatuses": statuses}}, Pod)
    return made


def node(name: str, ready: str, message: str) -> Node:
    """Return a node with a condition Ready."""
    conditions = [{"type": "Ready", "status": ready, "message": message}]
    made: Node = from_dict({"metadata": {"name": name}, "status": {"conditions": conditions}}, Node)
    return made


def test_nothing_is_said_where_all_is_well() -> None:
    assert obstacles([node("n", "True", "posting")], [pod("a", "Running"), pod("b", "Succeeded")], []) == []


def test_nodes_pods_and_warnings_are_said_in_this_order() -> None:
    warning = Event(type="Warning", reason="Failed", message="no image", involved_object=ObjectReference(name="a"))
    normal = Event(type="Normal", reason="Pulled", message="present", involved_object=ObjectReference(name="a"))
    found = obstacles([node("n", "Unknown", "stopped")], [pod("a", "Pending", "ErrImagePull", "n")], [normal, warning])
    assert found == [
        "node n is not ready: stopped",
        "default/a is Pending on n: ErrImagePull",
        "Failed (a): no image",
    ]


def test_five_pods_are_named_and_the_others_counted() -> None:
    found = obstacles([], [pod(f"p{number}", "Pending") for number in range(8)], [])
    assert [one.partition(" ")[0] for one in found[:5]] == [f"default/p{number}" for number in range(5)]
    assert found[5:] == ["3 more pods do not run"]


def test_the_newest_warning_of_a_pod_that_does_not_run_comes_first() -> None:
    events = [
        Event(type="Warning", reason=reason, involved_object=ObjectReference(kind=kind, name=name, namespace=namespace))
        for reason, kind, name, namespace in [
            ("FailedCreatePodSandBox", "Pod", "a", "default"),
            ("BackOff", "Pod", "a", "default"),
            ("Unhealthy", "Pod", "runs", "default"),
            *[("CgroupV1", "Node", "n", "")] * 5,
        ]
    ]
    found = obstacles([], [pod("a", "Pending"), pod("runs", "Running")], events)
    assert [one.partition(" ")[0] for one in found] == [
        *("default/a", "BackOff", "FailedCreatePodSandBox"),
        *["CgroupV1"] * 3,
    ]
