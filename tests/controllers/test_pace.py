"""Workloads with pods that are refused as soon as they are made: rate, cost and messages.

The limits of kube-controller-manager's client (20 requests a second, 30 at once) and of PodGC.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from kitlib.apiserver.store.store import WatchEvent
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster
from kitlib.controllers import podgc
from tests.controllers.builders import pod, workload
from tests.sizes import sampled


def refused(kind: str, replicas: int = 1, **spec: Any) -> dict[str, Any]:
    """Return a workload with pods that name the node and request more than it has."""
    made = workload(kind, "d", replicas, **spec)
    template = made["spec"]["template"]["spec"]
    template["nodeName"] = "node-1"
    template["containers"][0]["resources"] = {"requests": {"cpu": "500"}}
    return made


def creations(cluster: SimulatedCluster) -> list[str]:
    """Collect the pods that are created from now on, by name."""
    names: list[str] = []

    def note(event: WatchEvent) -> None:
        if event.type == "ADDED" and event.object.kind == "Pod":
            names.append(event.object.metadata.name)

    cluster.api.store.subscribe(note)
    return names


@pytest.mark.parametrize(
    ("kind", "first", "each"),
    sampled(
        [
            pytest.param("ReplicaSet", 11, 20 / 3),
            pytest.param("ReplicationController", 11, 20 / 3),
            pytest.param("StatefulSet", 8, 5),
        ],
        2,
        pytest.mark.thorough,
    ),
)
def test_refused_pods_are_replaced_as_fast_as_the_controllers_client_allows(kind: str, first: int, each: float) -> None:
    cluster = Cluster.simulated(1)
    wanted = refused(kind)
    if kind == "ReplicationController":
        wanted["apiVersion"], wanted["spec"]["selector"] = "v1", {"app": "d"}
    made = creations(cluster)
    cluster.apply(wanted)
    assert len(made) == first
    cluster.advance(60)
    assert len(made) == pytest.approx(first + 60 * each, abs=2)


def test_what_is_refused_is_said_in_one_sentence(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(refused("ReplicaSet"))
    cluster.advance(120)
    (said,) = [one.getMessage() for one in caplog.records]
    assert said == (
        "ReplicaSet default/d: its pods are refused again and again (OutOfcpu: Pod was rejected: Node didn't have "
        "enough resource: cpu, requested: 500000, used: 0, capacity: 4000); 6.7 a second are made, as fast as its "
        "client may ask"
    )


def test_pods_that_can_run_are_not_slowed_down() -> None:
    """Replacements wait only for pods that ended at once; all others are made at once."""
    cluster = Cluster.simulated(1, kubelets=False)
    cluster.apply(workload("ReplicaSet", "web", 100))
    assert Counter(one.status.phase for one in cluster.pods()) == {"Running": 100}
    cluster.advance(5)
    for one in cluster.pods()[:50]:
        cluster.delete("Pod", one.name)
    assert Counter(one.status.phase for one in cluster.pods()) == {"Running": 100}


def test_the_loop_ends_when_the_pods_fit() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(refused("ReplicaSet", replicas=3))
    cluster.advance(10)
    changed = refused("ReplicaSet", replicas=3)
    changed["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m"}}
    cluster.apply(changed)
    cluster.advance(2)
    assert Counter(one.status.phase for one in cluster.pods())["Running"] == 3
    before = len(cluster.pods())
    cluster.advance(30)
    assert len(cluster.pods()) == before


def test_of_ended_pods_the_threshold_is_kept_and_evicted_ones_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(podgc, "TERMINATED_POD_THRESHOLD", 40)
    cluster = Cluster.simulated(1, kubelets=False)
    cluster.apply([pod(f"p{i:02}") for i in range(50)])
    for number, one in enumerate(cluster.pods()):
        one.status.phase = "Failed"
        one.status.reason = "Evicted" if number >= 44 else ""
        cluster.api.update_status(one)
        cluster.advance(0.1)
    assert len(cluster.pods()) == 50
    cluster.advance(20)
    assert [one.name for one in cluster.pods()] == [f"p{i:02}" for i in range(4, 44)]


def test_a_refused_pod_costs_the_kubelet_nothing_later() -> None:
    """Pods that were refused are not on the node; deleting one removes the object."""
    cluster = Cluster.simulated(1)
    cluster.apply(refused("ReplicaSet"))
    cluster.advance(20)
    failed = cluster.pods()
    assert len(failed) > 100
    assert [worker.pod.name for worker in cluster.node().kubelet.workers] == []
    cluster.delete("ReplicaSet", "d")
    cluster.advance(1)
    assert cluster.pods() == []
