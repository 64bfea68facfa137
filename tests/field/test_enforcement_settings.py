"""Rows of the log of `test_enforcement.py` that are about settings of node, runtime and topology."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from tests.field.test_enforcement import GI, MI, pod, read, simulated

STATIC = ("--cpu-manager-policy=static", "--reserved-cpus=0,16")


@pytest.mark.parametrize(
    ("limit", "runtime", "quotas"),
    [
        ("1235m", "runc", {"scope": "124000"}),
        ("1235m", "runc<1.3.2", {"scope": "123500"}),
        ("1235m", "crun", {"scope": "124000", "container": "123500"}),
        ("51m", "runc", {"scope": "6000"}),
        ("51m", "runc<1.3.2", {"scope": "5100"}),
        ("51m", "crun<1.23", {"scope": "6000", "container": "5100"}),
    ],
)
def test_the_runtime_rounds_a_containers_quota_under_systemd(limit: str, runtime: str, quotas: dict[str, str]) -> None:
    """Rows 3, 4: opencontainers/runc#4622, opencontainers/cgroups#4, kubernetes#61192. The pod's slice is rounded."""
    pods_slice = "124000" if limit == "1235m" else "6000"
    with simulated(pod(limits={"cpu": limit}), runtime=runtime, kubelet={"cgroupDriver": "systemd"}) as cluster:
        found: dict[str, str] = {}
        for one in cluster.node().desired().values():
            if one.pod == "default/p" and one.kind != "sandbox" and (one.container or one.kind == "pod"):
                quota = cluster.node().read(one.path, "cpu.max").split()[0]
                found.setdefault(one.path.rpartition(".")[2] if "." in one.path[-8:] else "container", quota)
        assert found == {"slice": pods_slice, **quotas}


def _placed(policy: str, requests: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    flags = [*STATIC, f"--topology-manager-policy={policy}"]
    node = {"topology": {"sockets": 2, "cores": 8, "threads": 2}, "memory": "32Gi", "kubelet": flags}
    with Cluster.simulated([{"name": "n", **node}]) as cluster:
        for number, cpus in enumerate(requests):
            cluster.apply(pod(f"p{number}", limits={"cpu": cpus, "memory": "64Mi"}))
            cluster.advance(1)
        hints = [one.message for one in cluster.events() if "hints of" in one.message]
        return [(one.status.phase, one.status.reason) for one in cluster.pods()], hints


def test_what_is_left_of_two_nodes_is_not_restricted_to_one() -> None:
    """Row 9: kubernetes#84597. Four pods of 6 CPUs fit into one NUMA node each; the fifth has the rest of two."""
    states, hints = _placed("restricted", ["6"] * 5)
    assert states == [("Running", "")] * 4 + [("Failed", "TopologyAffinityError")]
    assert hints == ["topology manager, policy restricted, hints of c: cpu: [0 1] false; merged: [0 1] false"]


def test_a_pod_that_is_wider_than_a_numa_node_shows_its_hints() -> None:
    """Row 12: kubernetes#128669."""
    states, hints = _placed("single-numa-node", ["20"])
    assert states == [("Failed", "TopologyAffinityError")]
    assert hints == ["topology manager, policy single-numa-node, hints of c: cpu: [0 1] true; merged: any false"]


def test_a_refused_replica_set_makes_pods_at_its_clients_pace() -> None:
    """Row 14: kubernetes#84869."""
    flags = [STATIC[0], "--reserved-cpus=0,4", "--cpu-manager-policy-options=full-pcpus-only=true"]
    node = {"topology": {"sockets": 1, "cores": 4, "threads": 2}, "memory": "8Gi", "kubelet": flags}
    spec: dict[str, Any] = pod(limits={"cpu": "1", "memory": "64Mi"})["spec"]
    template = {"metadata": {"labels": {"app": "d"}}, "spec": spec}
    meta = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "d"}}
    wanted = {"replicas": 1, "selector": {"matchLabels": {"app": "d"}}, "template": template}
    with Cluster.simulated([{"name": "n", **node}]) as cluster:
        cluster.apply({**meta, "spec": wanted})
        cluster.advance(20)
        assert {one.status.reason for one in cluster.pods()} == {"SMTAlignmentError"}
        assert 100 < len(cluster.pods()) < 200


def test_the_limit_of_all_pods_includes_huge_pages() -> None:
    """Row 26: kubernetes#84426, PR 99943, PR 119171."""
    with simulated(kubelet={"systemReserved": {"memory": "1Gi"}}, huge_pages={"2Mi": 2048}) as cluster:
        path = next(one.path for one in cluster.node().desired().values() if one.kind == "kubepods")
        assert cluster.node().read(path, "memory.max") == str(15 * 1024 * MI)
        assert cluster.nodes[0].status.allocatable["memory"].value() == (15 * 1024 - 4096 - 100) * MI


def test_a_bomb_ends_at_the_pods_limit_of_processes() -> None:
    """Row 35: kubernetes#98206, #78930. It is not evicted: no threshold of pid.available is crossed."""
    bomb = pod("bomb", image="bash", command=["bash", "-c", ":(){ :|:& };:"])
    with simulated(bomb, pod("calm"), kubelet={"podPidsLimit": 100}) as cluster:
        cluster.advance(5)
        assert read(cluster, "bomb", "pids.current") == read(cluster, "bomb", "pids.max") == "100"
        assert {one.status.phase for one in cluster.pods()} == {"Running"}


def test_pressure_shortens_the_end_of_a_pod_that_is_going() -> None:
    """Row 41: kubernetes#122297. A pod evicted over the API has 300 s; under pressure the kubelet leaves it two."""
    stubborn = pod("a", load="memory=2Gi", command=["sh", "-c", "trap '' TERM; sleep inf"])
    stubborn["spec"]["terminationGracePeriodSeconds"] = 300
    hard = {"evictionHard": {"memory.available": "1Gi"}}
    with simulated(stubborn, kubelet=hard, memory="4Gi") as cluster:
        cluster.evict("a")
        cluster.advance(2)
        cluster.apply(pod("b", load="memory=1500Mi"))
        cluster.advance(30)
        assert [(one.name, one.status.phase) for one in cluster.pods()] == [("b", "Running")]


def test_a_guaranteed_pod_with_own_processors_is_not_resized() -> None:
    """Row 50: enhancements PR 5555, kubernetes#127262."""
    flags = ["--cpu-manager-policy=static", "--reserved-cpus=0"]
    with simulated(pod(limits={"cpu": "2", "memory": "64Mi"}), kubelet=flags) as cluster:
        cluster.resize("p", {"c": {"limits": {"cpu": "3"}, "requests": {"cpu": "3"}}})
        cluster.advance(15)
        (pending,) = [one for one in cluster.pod("p").status.conditions if "Resize" in one.type]
        assert pending.reason == "Infeasible"
        assert pending.message == 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"'
        assert json.loads(json.loads(cluster.node().checkpoint())["data"])["entries"]


def test_a_deferred_resize_is_done_once_there_is_room() -> None:
    """Row 51: website PR 48503."""
    with simulated(pod("a", requests={"cpu": "5"}), pod("b", requests={"cpu": "2"})) as cluster:
        cluster.resize("b", {"c": {"requests": {"cpu": "4"}}})
        cluster.advance(5)
        (pending,) = [one for one in cluster.pod("b").status.conditions if "Resize" in one.type]
        expected = "Node didn't have enough resource: cpu, requested: 4000, used: 5000, capacity: 8000"
        assert (pending.reason, pending.message) == ("Deferred", expected)
        cluster.delete("Pod", "a", grace=0)
        cluster.advance(15)
        assert not [one for one in cluster.pod("b").status.conditions if "Resize" in one.type]
        assert read(cluster, "b", "cpu.weight") == "157"


@pytest.mark.parametrize("made", [(), ("/system.slice",)], ids=["by systemd", "by the administrator"])
def test_systemd_makes_its_slices_not_in_every_hierarchy_of_version_1(made: tuple[str, ...]) -> None:
    """Row 21: kubernetes#125763. Both paths are in the message; an administrator who makes them lets it start."""
    settings = {
        "cgroupDriver": "systemd",
        "failCgroupV1": False,
        "systemReserved": {"memory": "1Gi"},
        "systemReservedCgroup": "/system",
        "enforceNodeAllocatable": ["pods", "system-reserved"],
    }
    if made:
        with simulated(version=1, kubelet=settings, cgroups=made) as cluster:
            assert cluster.node().read("/system.slice", "memory.limit_in_bytes") == str(GI)
        return
    paths = "/sys/fs/cgroup/cpuset/system.slice, /sys/fs/cgroup/hugetlb/system.slice"
    with pytest.raises(KitError) as refused:
        simulated(version=1, kubelet=settings)
    why = f'cgroup ["system"] has some missing paths: {paths}'
    assert f'Failed to enforce System Reserved Cgroup Limits on "/system": {why}' in str(refused.value)
    settings["cgroupDriver"] = "cgroupfs"
    with pytest.raises(KitError, match="/sys/fs/cgroup/cpu/system, /sys/fs/cgroup/cpuacct/system"):
        simulated(version=1, kubelet=settings)
