"""A kubelet that is restarted and reconfigured: kept state, changed state, and refused starts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster

STATIC = ["--cpu-manager-policy=static", "--reserved-cpus=0", "--kube-reserved=cpu=500m"]


def pod(name: str, cpu: str, memory: str = "64Mi", **spec: Any) -> dict[str, Any]:
    resources = {"limits": {"cpu": cpu, "memory": memory}}
    container = {"name": "c", "image": "busybox", "command": ["sleep", "inf"], "resources": resources}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
    }


def entries(cluster: Any) -> list[str]:
    return sorted(
        cpus
        for containers in json.loads(json.loads(cluster.node().checkpoint())["data"]).get("entries", {}).values()
        for cpus in containers.values()
    )


@pytest.fixture
def cluster() -> Any:
    with Cluster.simulated([{"name": "n", "cpus": 8, "kubelet": STATIC}]) as made:
        made.apply([pod("a", "2"), pod("b", "1")])
        made.advance(5)
        yield made


def test_containers_run_on_with_the_cpus_that_they_had(cluster: Any) -> None:
    before, pids = entries(cluster), sorted(cluster.node().owners())
    cluster.node().restart_kubelet()
    cluster.advance(15)
    assert (entries(cluster), sorted(cluster.node().owners())) == (before, pids)
    assert [p.status.container_statuses[0].restart_count for p in cluster.pods()] == [0, 0]
    assert cluster.node().differences() == []
    assert sum(event.count or 1 for event in cluster.events("n") if event.reason == "Starting") == 2


REFUSED = [
    # siderolabs/talos#7504, gardener/gardener#9265, bottlerocket-os/bottlerocket#1465
    (
        ["--cpu-manager-policy=none"],
        'could not restore state from checkpoint: configured policy "none" differs from state checkpoint policy '
        '"static", please drain this node and delete the CPU manager checkpoint file "cpu_manager_state" before '
        "restarting Kubelet",
    ),
    # scylladb/scylla-operator#1265
    (
        ["--cpu-manager-policy=static", "--reserved-cpus=0,1"],
        'not all reserved cpus: "0-1" are present in defaultCpuSet: "0,4-7"',
    ),
    (
        [*STATIC, "--memory-manager-policy=Static", "--reserved-memory=0:memory=100Mi"],
        'could not restore state from checkpoint: [memorymanager] configured policy "Static" differs from state '
        'checkpoint policy "None", please drain this node and delete the memory manager checkpoint file '
        '"memory_manager_state" before restarting Kubelet',
    ),
]


@pytest.mark.parametrize(("flags", "words"), REFUSED)
def test_a_kubelet_of_another_policy_does_not_start(cluster: Any, flags: list[str], words: str) -> None:
    with pytest.raises(KitError) as refused:
        cluster.node().restart_kubelet(flags)
    assert str(refused.value) == words
    cluster.advance(5)
    assert {p.status.phase for p in cluster.pods()} == {"Running"}
    assert cluster.node().differences() == []


def test_without_its_checkpoint_it_starts_and_everything_is_shared(cluster: Any) -> None:
    cluster.node().restart_kubelet(["--cpu-manager-policy=none"], delete_checkpoints=True)
    cluster.advance(15)
    assert {p.status.phase for p in cluster.pods()} == {"Running"}
    cluster.node().restart_kubelet(STATIC, delete_checkpoints=True)
    cluster.advance(15)
    assert sorted(len(one) for one in entries(cluster)) == [1, 3]  # one CPU, and a pair "x-y"


def test_other_settings_change_what_the_node_offers_and_its_cgroups(cluster: Any) -> None:
    cluster.node().restart_kubelet([*STATIC, "--system-reserved=memory=1Gi"])
    cluster.advance(5)
    assert str(cluster.get("Node", "n").status.allocatable["memory"]) == "7068Mi"
    assert cluster.node().differences() == []


def test_a_pod_that_does_not_fit_any_longer_is_rejected_and_ended(cluster: Any) -> None:
    cluster.node().restart_kubelet([*STATIC, "--max-pods=1"])
    cluster.advance(5)
    phases = {p.name: (p.status.phase, p.status.reason) for p in cluster.pods()}
    assert sorted(phases.values()) == [("Failed", "OutOfpods"), ("Running", "")]
    cluster.advance(30)  # its process has no handler for SIGTERM
    assert len(cluster.node().owners()) == 1


def test_a_pod_that_was_rejected_shows_containers_of_unknown_status_afterwards(cluster: Any) -> None:
    cluster.apply(pod("wide", "64", nodeName="n"))
    cluster.advance(2)
    refused = cluster.pod("wide")
    assert (refused.status.phase, refused.status.container_statuses) == ("Failed", [])
    cluster.node().restart_kubelet()
    cluster.advance(2)
    (status,) = cluster.pod("wide").status.container_statuses
    ended = status.state["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("ContainerStatusUnknown", 137)


def test_a_memory_manager_keeps_its_blocks() -> None:
    node = {
        "name": "n",
        "topology": {"sockets": 2, "numa": 2, "cores": 4},
        "memory": "16Gi",
        "kubelet": [
            *("--cpu-manager-policy=static", "--reserved-cpus=0", "--memory-manager-policy=Static"),
            *("--reserved-memory=0:memory=100Mi", "--topology-manager-policy=single-numa-node"),
            *("--kube-reserved=memory=0", "--system-reserved=memory=0"),
        ],
    }
    with Cluster.simulated([node]) as cluster:
        cluster.apply(pod("a", "2", "2Gi"))
        cluster.advance(2)
        before = cluster.node().kubelet.managers.memory.blocks
        assert before
        cluster.node().restart_kubelet()
        cluster.advance(2)
        assert cluster.node().kubelet.managers.memory.blocks == before
        assert cluster.pod("a").status.phase == "Running"


def test_a_restart_is_in_the_journal_and_is_replayed(cluster: Any) -> None:
    cluster.node().restart_kubelet([*STATIC, "--max-pods=20"])
    with Cluster.simulated([{"name": "n", "cpus": 8, "kubelet": STATIC}]) as again:
        again.replay(cluster.journal)
        assert str(again.get("Node", "n").status.allocatable["pods"]) == "20"


def test_the_driver_cannot_change_below_running_pods(cluster: Any) -> None:
    with pytest.raises(KitError, match="cgroupDriver: Forbidden: cannot change from cgroupfs to systemd"):
        cluster.node().restart_kubelet([*STATIC, "--cgroup-driver=systemd"])
