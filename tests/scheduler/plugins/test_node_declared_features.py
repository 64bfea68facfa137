"""NodeDeclaredFeatures: messages and queueing hints; the decisions are in tests/vectors/scheduler_gates."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Node, Pod
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.scheduler.framework.events import node_change_events
from kitlib.scheduler.framework.plugin import Context
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.plugins.node_declared_features import NodeDeclaredFeatures
from kitlib.scheduler.scheduler import Scheduler

RESTART = "RestartAllContainersOnContainerExits"


def node(name: str, *features: str, **labels: str) -> Node:
    status = {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "9"}, "declaredFeatures": list(features)}
    made: Node = from_dict({"metadata": {"name": name, "labels": labels}, "status": status}, Node)
    return made


def pod(action: str = "RestartAllContainers", name: str = "p") -> Pod:
    rule = {"action": action, "exitCodes": {"operator": "In", "values": [1]}}
    container = {"name": "c", "image": "i", "restartPolicy": "Never", "restartPolicyRules": [rule]}
    made: Pod = from_dict(
        {"metadata": {"name": name, "namespace": "default", "uid": name}, "spec": {"containers": [container]}}, Pod
    )
    return made


def test_only_nodes_that_declare_the_feature_take_the_pod() -> None:
    decision = Scheduler([node("old"), node("new", RESTART)], [], release="1.36").explain(pod())
    assert decision.feasible == ["new"]
    assert [status.message for status in decision.statuses("old")] == ["node(s) didn't match Pod's required features"]
    assert Scheduler([node("old")], [], release="1.35").explain(pod()).feasible == ["old"]


def hint(number: int, pod: Pod, old: Any, new: Any) -> bool:
    context = Context(Snapshot([], Release("1.36")), Release("1.36"))
    found = NodeDeclaredFeatures().events_to_register(context)[number][1]
    assert found is not None
    return found(pod, old, new)


@pytest.mark.parametrize(
    ("old", "new", "queues"),
    [
        (None, node("n"), True),
        (node("n"), node("n", RESTART), True),
        (node("n", RESTART), node("n", RESTART, disk="ssd"), False),
    ],
)
def test_a_node_that_declares_other_features_brings_the_pod_back(old: Node | None, new: Node, queues: bool) -> None:
    assert hint(0, pod(), old, new) is queues


@pytest.mark.parametrize(
    ("old", "new", "queues"),
    [(pod(), pod("Restart"), True), (pod(), pod(), False), (pod(name="q"), pod("Restart", name="q"), False)],
)
def test_an_update_of_the_pod_itself_brings_it_back_if_it_needs_other_features(
    old: Pod, new: Pod, queues: bool
) -> None:
    assert hint(1, pod(), old, new) is queues


def test_other_declared_features_are_an_event_of_their_own() -> None:
    happened = node_change_events(node("n", RESTART), node("n"))
    assert [event.label for event in happened] == ["NodeUpdateNodeDeclaredFeature"]
