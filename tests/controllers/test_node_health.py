"""Nodes of other owners, with a health that depends on their writes."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster
from kitlib.controllers.node_health import NODE_MONITOR_PERIOD


def node(name: str, **status: Any) -> dict[str, Any]:
    amounts = {"cpu": "4", "memory": "4Gi", "pods": "10"}
    status = {"capacity": amounts, "allocatable": amounts, **status}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def lease(cluster: Any, name: str, ago: float = 0.0) -> None:
    """Renew a node's Lease as its kubelet does."""
    spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": cluster.now().isoformat()}
    meta = {"name": name, "namespace": "kube-node-lease"}
    cluster.apply({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec})


def conditions(cluster: Any, name: str) -> dict[str, tuple[str, str]]:
    return {c.type: (c.status, c.reason) for c in cluster.get("Node", name).status.conditions}


READY = {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}
NEVER, STOPPED = ("Unknown", "NodeStatusNeverUpdated"), ("Unknown", "NodeStatusUnknown")


def test_a_node_without_a_kubelet_is_unknown_after_a_minute() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(node("theirs"))
    cluster.advance(59)
    assert conditions(cluster, "theirs") == {}
    cluster.advance(7)
    assert conditions(cluster, "theirs") == dict.fromkeys(
        ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure"), NEVER
    )
    ready = next(c for c in cluster.get("Node", "theirs").status.conditions if c.type == "Ready")
    assert ready.message == "Kubelet never posted node status."
    effects = {(t.key, t.effect) for t in cluster.get("Node", "theirs").spec.taints}
    assert effects == {("node.kubernetes.io/unreachable", effect) for effect in ("NoSchedule", "NoExecute")}
    assert conditions(cluster, "node-1")["Ready"] == ("True", "KubeletReady")


@pytest.mark.parametrize(("release", "seconds"), [("1.31", 40), ("1.32", 50)])
def test_the_grace_period_follows_the_release(release: str, seconds: int) -> None:
    cluster = Cluster.simulated(1, release=release)
    cluster.apply(node("theirs", **READY))
    lease(cluster, "theirs")
    cluster.advance(NODE_MONITOR_PERIOD + seconds)  # its silence counts from the first check
    assert conditions(cluster, "theirs")["Ready"] == ("True", "KubeletReady")
    cluster.advance(NODE_MONITOR_PERIOD)
    assert conditions(cluster, "theirs")["Ready"] == STOPPED


def test_a_cluster_of_one_silent_node_evicts_nobody() -> None:
    cluster = Cluster.simulated(0)
    cluster.apply(node("theirs"))
    cluster.advance(600)
    assert {t.effect for t in cluster.get("Node", "theirs").spec.taints} == {"NoSchedule"}


def test_a_node_lives_by_its_lease_alone() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(node("theirs", **READY))
    for _ in range(30):
        lease(cluster, "theirs")
        cluster.advance(10)
    assert conditions(cluster, "theirs")["Ready"] == ("True", "KubeletReady")
    cluster.advance(39)
    assert conditions(cluster, "theirs")["Ready"] == ("True", "KubeletReady"), "49 s after the last renewal"
    cluster.advance(16)
    assert conditions(cluster, "theirs")["Ready"] == STOPPED
    assert conditions(cluster, "theirs")["MemoryPressure"] == NEVER, "it never posted that one"


def test_a_node_lives_by_its_status_alone() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(node("theirs", **READY))
    for _ in range(10):
        cluster.advance(40)
        standing = cluster.get("Node", "theirs")
        standing.status.conditions[0].last_heartbeat_time = cluster.now()
        cluster.api.update_status(standing)
    assert conditions(cluster, "theirs")["Ready"] == ("True", "KubeletReady")


def test_a_node_with_a_lease_that_never_posted_a_status_is_left_alone() -> None:
    """Source: the note in tryUpdateNodeHealth."""
    cluster = Cluster.simulated(1)
    cluster.apply(node("theirs"))
    for _ in range(20):
        lease(cluster, "theirs")
        cluster.advance(10)
    assert conditions(cluster, "theirs") == {}


def test_a_clock_that_goes_wrong_does_not_matter_as_long_as_it_goes() -> None:
    """The renewTime has to be another one, and the time when that was noticed counts."""
    cluster = Cluster.simulated(1)
    cluster.apply(node("theirs", **READY))
    for i in range(20):
        spec = {"holderIdentity": "theirs", "renewTime": f"1999-01-01T00:{i:02}:00.000000Z"}
        meta = {"name": "theirs", "namespace": "kube-node-lease"}
        cluster.apply({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec})
        cluster.advance(10)
    assert conditions(cluster, "theirs")["Ready"] == ("True", "KubeletReady")


def test_where_one_answers_again_the_silence_of_the_others_counts_anew() -> None:
    cluster = Cluster.simulated(0)
    cluster.apply([node("a", **READY), node("b", **READY)])
    cluster.advance(100)
    assert {conditions(cluster, name)["Ready"] for name in "ab"} == {STOPPED}
    standing = cluster.get("Node", "a")
    standing.status.conditions = [c for c in standing.status.conditions if c.type != "Ready"]
    now = cluster.now().isoformat()
    ready = {**READY["conditions"][0], "lastHeartbeatTime": now}
    cluster.patch_status("Node", "a", {"status": {"conditions": [ready]}})
    for _ in range(3):
        lease(cluster, "a")
        cluster.advance(10)
    assert conditions(cluster, "a")["Ready"] == ("True", "KubeletReady")
    assert ("node.kubernetes.io/unreachable", "NoExecute") in {
        (t.key, t.effect) for t in cluster.get("Node", "b").spec.taints
    }
