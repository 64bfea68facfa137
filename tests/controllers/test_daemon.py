"""DaemonSets: where pods run, rolling updates with maxUnavailable and maxSurge."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kitlib.api.apps import DaemonSet
from kitlib.api.core import Pod
from kitlib.api.serialize import from_dict
from kitlib.controllers.daemon.update import max_surge, max_unavailable, rolling_update
from tests.controllers.builders import hollow, image, told, workload

NOW = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)


def daemon_set(**rolling: int | str) -> DaemonSet:
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    found: DaemonSet = from_dict(workload("DaemonSet", updateStrategy=strategy), DaemonSet)
    return found


def made(name: str, revision: str, ready: bool = True) -> Pod:
    state = {"type": "Ready", "status": str(ready), "lastTransitionTime": "2026-01-05T07:00:00Z"}
    meta = {"name": name, "labels": {"controller-revision-hash": revision}}
    found: Pod = from_dict({"metadata": meta, "status": {"phase": "Running", "conditions": [state]}}, Pod)
    return found


@pytest.mark.parametrize(
    ("rolling", "surge", "unavailable"),
    [({}, 0, 1), ({"maxUnavailable": "30%"}, 0, 3), ({"maxSurge": 2, "maxUnavailable": 0}, 2, 0)],
)
def test_shares_of_ten_nodes_are_rounded_up(rolling, surge, unavailable):
    one = daemon_set(**rolling)
    assert (max_surge(one, 10), max_unavailable(one, 10)) == (surge, unavailable)


@pytest.mark.parametrize(
    ("rolling", "nodes", "deleted", "surged"),
    [
        pytest.param({"maxUnavailable": 1}, [[("a", "old")], [("b", "old")]], ["a"], [], id="one at a time"),
        pytest.param({"maxUnavailable": 1}, [[("a", "new", False)], [("b", "old")]], [], [], id="waits for the new"),
        pytest.param(
            {"maxUnavailable": 1},
            [[("a", "new", False)], [("b", "old", False)]],
            ["b"],
            [],
            id="unavailable goes",
        ),
        pytest.param({"maxUnavailable": 2}, [[("a", "old")], [("b", "old")], []], ["a"], [], id="an empty node counts"),
        pytest.param(
            {"maxSurge": 1, "maxUnavailable": 0}, [[("a", "old")], [("b", "old")]], [], ["n0"], id="a new one beside it"
        ),
        pytest.param(
            {"maxSurge": 1, "maxUnavailable": 0},
            [[("a", "old"), ("c", "new")], [("b", "old")]],
            ["a"],
            ["n1"],
            id="the old one goes when the new is available",
        ),
    ],
)
def test_a_step_of_a_rolling_update(rolling, nodes, deleted, surged):
    by_node = {f"n{i}": [made(*pod) for pod in pods] for i, pods in enumerate(nodes)}
    delete, create = rolling_update(daemon_set(**rolling), by_node, len(nodes), "new", NOW)
    assert ([pod.name for pod in delete], create) == (deleted, surged)


def test_a_new_template_replaces_every_pod():
    cluster = hollow(3)
    cluster.apply([workload("DaemonSet", "agent")])
    cluster.patch("DaemonSet", "agent", image(2))
    assert {pod.spec.containers[0].image for pod in cluster.pods()} == {"app:2"}
    status = cluster.get("ds", "agent").status
    assert (status["desiredNumberScheduled"], status["updatedNumberScheduled"], status["numberAvailable"]) == (3, 3, 3)
    assert sum(reason == "SuccessfulDelete" for reason, _ in told(cluster, "DaemonSet")) == 3


def test_with_on_delete_nothing_is_replaced():
    cluster = hollow(2)
    cluster.apply([workload("DaemonSet", "agent", updateStrategy={"type": "OnDelete"})])
    cluster.patch("DaemonSet", "agent", image(2))
    assert {pod.spec.containers[0].image for pod in cluster.pods()} == {"app:1"}
    assert "updatedNumberScheduled" not in cluster.get("ds", "agent").status


def test_pods_follow_node_labels_and_taints():
    cluster = hollow(2)
    cluster.apply([workload("DaemonSet", "agent")])
    cluster.patch("Node", "node-1", {"spec": {"taints": [{"key": "x", "effect": "NoSchedule"}]}})
    assert len(cluster.pods()) == 2, "NoSchedule does not end a pod that runs"
    cluster.patch("Node", "node-1", {"spec": {"taints": [{"key": "x", "effect": "NoExecute"}]}})
    assert [pod.spec.node_name for pod in cluster.pods()] == ["node-2"]
