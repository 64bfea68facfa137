"""Pods with resources of their own and the CPU, memory and topology managers (gate PodLevelResourceManagers)."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict
from kitlib.cluster import Cluster
from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.cm.desired import desired_tree
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.cm.resource_managers import ResourceManagers
from kitlib.kubelet.cm.topologymanager.manager import AdmissionProblem
from kitlib.kubelet.config.machine import MachineInfo, grouped
from kitlib.kubelet.util.cpuset import parse_cpus

GI = 2**30
GATE = ["--feature-gates=PodLevelResourceManagers=true"]
CPUS = ["--cpu-manager-policy=static", "--reserved-cpus=0"]
MEMORY = [
    *("--memory-manager-policy=Static", "--kube-reserved=memory=1Gi", "--eviction-hard=memory.available<100Mi"),
    "--reserved-memory=0:memory=1124Mi",
]
SINGLE = ["--topology-manager-policy=single-numa-node"]
BY_POD = ["--topology-manager-policy=restricted", "--topology-manager-scope=pod"]
MINE = {"cpu": "2", "memory": "1Gi"}


def give_back(managers: ResourceManagers) -> None:
    """What the next admission or tick of the CPU manager does first: released CPUs return to the pool."""
    assert managers.cpu_manager is not None
    managers.cpu_manager.remove_stale_state()


def container(name: str, own: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": "x", **({"resources": {"limits": own, "requests": own}} if own else {}), **more}


def pod(name: str, total: dict[str, str], *containers: dict[str, Any], inits: tuple[Any, ...] = ()) -> Pod:
    spec = {
        "containers": list(containers),
        "initContainers": list(inits),
        "resources": {"limits": total, "requests": total},
    }
    return set_defaults(from_dict({"kind": "Pod", "metadata": {"name": name, "uid": name}, "spec": spec}, Pod))


def node(*flags: str) -> NodeConfig:
    topology = grouped(sockets=2, cores=8, threads=1)
    machine = MachineInfo(cores=16, memory=16 * GI, topology=topology, numa_memory={0: 8 * GI, 1: 8 * GI})
    return NodeConfig(machine=machine, settings=read_settings([*flags]))


def given(managers: ResourceManagers, made: Pod) -> dict[str, tuple[str, bool, str]]:
    """Container -> its CPUs, whether for itself, its NUMA nodes."""
    everything = [*made.spec.init_containers, *made.spec.containers]
    return {c.name: managers.assigned(made, c)[:3] for c in everything}


EIGHT = {"cpu": "6", "memory": "4Gi"}
MIXED = pod("mixed", EIGHT, container("own", MINE), container("log"), container("half", {"cpu": "500m"}))


def test_without_the_gate_all_containers_share() -> None:
    managers = ResourceManagers(node(*CPUS, *BY_POD))
    managers.admit(MIXED)
    assert {cpus for cpus, _, _ in given(managers, MIXED).values()} == {"0-15"}


def test_in_the_scope_of_the_pod_its_containers_share_out_one_set_of_one_numa_node() -> None:
    managers = ResourceManagers(node(*GATE, *CPUS, *MEMORY, *BY_POD))
    managers.admit(MIXED)
    assert given(managers, MIXED) == {
        "own": ("1-2", True, "0"),
        "log": ("3-6", False, "0"),
        "half": ("3-6", False, "0"),
    }
    assert managers.cpus is not None
    assert managers.memory is not None
    assert managers.cpus.state.default == parse_cpus("0,7-15")
    assert managers.memory.pods["mixed"][0][:] == ("memory", frozenset({0}), 4 * GI)
    second = pod("second", EIGHT, container("log"))
    managers.admit(second)
    assert given(managers, second) == {"log": ("8-13", False, "1")}, "six more do not fit on the first NUMA node"
    managers.release(MIXED)
    managers.release(second)
    give_back(managers)
    assert managers.cpus.state.default == parse_cpus("0-15")
    assert not managers.memory.pods
    assert all(one.free == one.allocatable and not one.users for one in managers.memory.nodes.values())


def test_in_the_scope_of_the_container_only_those_with_cpus_of_their_own_are_aligned() -> None:
    managers = ResourceManagers(node(*GATE, *CPUS, *MEMORY, *SINGLE))
    managers.admit(MIXED)
    assert given(managers, MIXED) == {
        "own": ("1-2", True, "0"),
        "log": ("0,3-15", False, ""),
        "half": ("0,3-15", False, ""),
    }


def test_what_an_init_container_had_is_shared_afterwards_and_a_sidecar_keeps_its_own() -> None:
    made = pod(
        "phases",
        EIGHT,
        container("own", MINE),
        container("log"),
        inits=(container("first", {"cpu": "4", "memory": "1Gi"}), container("proxy", MINE, restartPolicy="Always"),
               container("last")),
    )  # fmt: skip
    managers = ResourceManagers(node(*GATE, *CPUS, *BY_POD))
    managers.admit(made)
    cpus = {name: cpus for name, (cpus, _, _) in given(managers, made).items()}
    assert cpus == {"first": "1-4", "proxy": "1-2", "last": "3-6", "own": "3-4", "log": "5-6"}


TWO = {"cpu": "2", "memory": "2Gi"}


@pytest.mark.parametrize(
    ("policy", "made", "reason", "message"),
    [
        # policy, pod, reason, message
        (
            "best-effort",
            pod("full", TWO, container("own", MINE), container("log")),
            "EmptyPodSharedPoolError",
            "pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared "
            "containers",
        ),
        (
            "best-effort",
            pod("inits", TWO, container("own", MINE), inits=(
                container("proxy", MINE, restartPolicy="Always"), container("first"))),
            "EmptyPodSharedPoolError",
            "pod rejected, pod has shared init containers but no cpus available for them",
        ),
        (
            "best-effort",
            pod("large", TWO, container("log"), inits=(
                container("proxy", {"cpu": "1", "memory": "1Gi"}, restartPolicy="Always"), container("first", MINE))),
            "EmptyPodSharedPoolError",
            "pod rejected, largest exclusive init container requests 2 cpus, but only 1 available",
        ),
        (
            "best-effort",
            pod("memory", {"cpu": "3", "memory": "1Gi"}, container("own", MINE), container("log")),
            "EmptyPodSharedPoolError",
            "pod rejected, sum of exclusive container memory requests equals pod budget, leaving no memory for shared "
            "containers",
        ),
        (
            "restricted",
            pod("full", TWO, container("own", MINE), container("log")),
            "TopologyAffinityError",
            "pod with pod-level resources failed admission under pod-scope topology manager",
        ),
        (
            "single-numa-node",
            pod("wide", {"cpu": "10", "memory": "1Gi"}, container("log")),
            "TopologyAffinityError",
            "pod with pod-level resources failed admission under pod-scope topology manager",
        ),
    ],
)  # fmt: skip
def test_a_pod_that_leaves_its_containers_nothing_is_refused(policy: str, made: Pod, reason: str, message: str) -> None:
    flags = [f"--topology-manager-policy={policy}", "--topology-manager-scope=pod"]
    managers = ResourceManagers(node(*GATE, *CPUS, *MEMORY, *flags))
    with pytest.raises(AdmissionProblem) as caught:
        managers.admit(made)
    assert (caught.value.reason, caught.value.message) == (reason, message)
    give_back(managers)
    assert managers.cpus is not None
    assert managers.cpus.state.default == parse_cpus("0-15")
    assert managers.memory is not None
    assert all(one.free == one.allocatable for one in managers.memory.nodes.values())


def test_whole_cores_are_asked_of_the_pod_not_of_its_containers() -> None:
    topology = grouped(sockets=1, cores=4, threads=2)
    machine = MachineInfo(cores=8, memory=16 * GI, topology=topology)
    flags = [*GATE, "--cpu-manager-policy=static", "--reserved-cpus=0,4", *BY_POD]
    settings = read_settings([*flags, "--cpu-manager-policy-options=full-pcpus-only=true"])
    managers = ResourceManagers(NodeConfig(machine=machine, settings=settings))
    one = {"cpu": "1", "memory": "1Gi"}
    managers.admit(pod("even", {"cpu": "2", "memory": "2Gi"}, container("own", one), container("log")))
    with pytest.raises(AdmissionProblem, match="requested 3 cpus not multiple cpus per core = 2"):
        managers.admit(pod("odd", {"cpu": "3", "memory": "2Gi"}, container("log")))


def test_only_containers_with_cpus_of_their_own_have_no_quota_and_the_file_says_whose_they_are() -> None:
    config = node(*GATE, *CPUS, *BY_POD)
    managers = ResourceManagers(config)
    managers.admit(MIXED)
    tree = desired_tree(config, [MIXED], assigned=managers.assignments([MIXED]))
    files = {c.container: c for c in tree.values() if c.kind == "container"}
    assert files["own"]["cpu.max"].value == "max 100000"
    assert files["half"]["cpu.max"].value == "50000 100000"
    assert str(files["half"]["cpuset.cpus"].why).startswith("the pod's CPUs that none of its containers has for itself")


def test_after_a_restart_of_the_kubelet_the_pod_has_what_it_had() -> None:
    config = node(*GATE, *CPUS, *BY_POD)
    before = ResourceManagers(config)
    before.admit(pod("gone", EIGHT, container("log")))
    before.admit(MIXED)
    before.release(pod("gone", EIGHT, container("log")))
    give_back(before)
    after = ResourceManagers(config, before.checkpoint())
    after.admit(MIXED)
    assert given(after, MIXED) == given(before, MIXED)
    assert '\\"podEntries\\":{\\"mixed\\":{\\"cpuSet\\":\\"8-13\\"}}' in before.checkpoint()


def test_a_node_pins_the_containers_of_such_a_pod() -> None:
    one = {"cpus": 8, "memory": "16Gi", "kubelet": [*GATE, *CPUS, *BY_POD]}
    with Cluster.simulated([one], scheduler=False) as cluster:
        total = {"cpu": "4", "memory": "2Gi"}
        spec = {
            "nodeName": "node-1",
            "resources": {"limits": total, "requests": total},
            "containers": [container("own", MINE), container("log")],
        }
        cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec})
        cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "other"}, "spec": {
            "nodeName": "node-1", "containers": [container("c")]}})  # fmt: skip
        assert cluster.pod("web").status.phase == "Running"
        allowed = cluster.node()
        assert allowed.proc("web", "own")["Cpus_allowed_list"] == "1-2"
        assert allowed.proc("web", "log")["Cpus_allowed_list"] == "3-4"
        assert allowed.proc("other")["Cpus_allowed_list"] == "0,5-7"
        assert not allowed.differences()
