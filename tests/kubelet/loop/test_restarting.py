"""A container's rule restarts all containers of its pod (KEP-5532)."""

from __future__ import annotations

from typing import Any

from kitlib.api.core import Pod, PodStatus
from kitlib.apiserver.store.watch_events import WatchEvent
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster

RULE = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
REMOVED = {
    "exitCode": 137,
    "reason": "RestartingAllContainers",
    "message": "The container is removed because RestartAllContainers in place",
}


DEAF = ["sh", "-c", "trap '' TERM; sleep infinity & wait"]


def made(
    release: str = "1.36", inits: tuple[str, ...] = (), *, deaf: bool = False
) -> tuple[SimulatedCluster, list[PodStatus]]:
    """A pod with a container that ends with code 42 after ten seconds and one that runs on; the statuses stored."""
    cluster = Cluster.simulated([{"cpus": 2, "memory": "2Gi"}], release=release)
    notes = {
        "kitlib.dev/workload.worker": "10s cpu=0.1 exit=42",
        **({} if deaf else {"kitlib.dev/workload.other": "cpu=0.1"}),
    }
    notes |= {f"kitlib.dev/workload.{name}": "5s cpu=0.1 exit=0" for name in inits}
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "initContainers": [{"name": name, "image": "x"} for name in inits],
        "containers": [
            {"name": "worker", "image": "x", "restartPolicy": "Never", "restartPolicyRules": [RULE]},
            {"name": "other", "image": "x", **({"command": DEAF} if deaf else {})},
        ],
    }
    stored: list[PodStatus] = []

    def note(event: WatchEvent) -> None:
        if isinstance(event.object, Pod):
            stored.append(event.object.status)

    cluster.api.store.subscribe(note)
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "annotations": notes}, "spec": spec})
    return cluster, stored


def shown(status: PodStatus) -> tuple[str, list[tuple[str, str]], int, str]:
    """Phase, the state and its reason by container, restarts of the second, and AllContainersRestarting."""
    states = [next((k, v.get("reason", "")) for k, v in one.state.items()) for one in status.container_statuses]
    restarting = next(c.status for c in status.conditions if c.type == "AllContainersRestarting")
    return status.phase, states, status.container_statuses[-1].restart_count, restarting


def test_all_containers_are_removed_and_started_again_without_a_back_off() -> None:
    cluster, stored = made()
    cluster.advance(15)
    running = [("running", ""), ("running", "")]
    removed = ("waiting", "RestartingAllContainers")
    assert [shown(one) for one in stored[2:]] == [
        ("Running", running, 0, "False"),
        ("Running", [("terminated", "Error"), ("running", "")], 0, "True"),
        ("Running", [removed, removed], 1, "False"),
        ("Running", running, 1, "False"),
    ]
    assert [one.last_state["terminated"] for one in stored[-1].container_statuses] == [REMOVED, REMOVED]
    assert {one.state["running"]["startedAt"] for one in stored[-1].container_statuses} == {"2026-01-05T08:00:10Z"}
    assert [e.message for e in cluster.events("a") if e.reason == "Killing"] == ["killing"]
    cluster.advance(10)
    assert [one.restart_count for one in cluster.pod("a").status.container_statuses] == [2, 2]


def test_init_containers_run_again_and_the_pod_stays_initialized() -> None:
    cluster, stored = made(inits=("first", "second"))
    cluster.advance(22)  # 10 s of init containers, 10 s until the exit
    phases = [(one.phase, one.init_container_statuses[0].restart_count) for one in stored[-2:]]
    assert phases == [("Running", 1), ("Pending", 1)]
    conditions = {one.type: one.status for one in cluster.pod("a").status.conditions}
    assert (conditions["Initialized"], conditions["Ready"]) == ("True", "False")
    cluster.advance(10)
    status = cluster.pod("a").status
    assert (status.phase, [one.restart_count for one in status.init_container_statuses]) == ("Running", [1, 1])


def test_without_the_gate_only_the_ended_container_is_concerned() -> None:
    cluster, _ = made("1.35")
    cluster.advance(15)
    status = cluster.pod("a").status
    assert [next(iter(one.state)) for one in status.container_statuses] == ["terminated", "running"]
    assert not [one for one in status.conditions if one.type == "AllContainersRestarting"]


def test_a_container_that_does_not_listen_has_two_seconds() -> None:
    cluster, _ = made(deaf=True)
    cluster.advance(11)
    condition = next(c for c in cluster.pod("a").status.conditions if c.type == "AllContainersRestarting")
    assert (condition.status, condition.reason) == ("True", "RestartAllContainersStarted")
    assert [e.message for e in cluster.events("a") if e.reason == "Killing"] == ["killing"]
    cluster.advance(2)
    statuses = cluster.pod("a").status.container_statuses
    assert [(next(iter(one.state)), one.restart_count) for one in statuses] == [("running", 1), ("running", 1)]


def test_a_pod_that_is_deleted_meanwhile_ends() -> None:
    cluster, stored = made(deaf=True)
    cluster.advance(11)
    cluster.delete("Pod", "a", grace=1)
    cluster.advance(5)
    assert cluster.pods() == []
    assert "running" not in stored[-1].container_statuses[0].state
