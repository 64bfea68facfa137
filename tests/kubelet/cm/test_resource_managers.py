"""The CPU, memory, topology and device managers together, and the desired tree that comes of it."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.errors import KitError
from kitlib.api.serialize import from_dict
from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.cm.assigned import Assigned
from kitlib.kubelet.cm.desired import desired_tree
from kitlib.kubelet.cm.devicemanager.manager import DevicePlugin
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.cm.resource_managers import ResourceManagers
from kitlib.kubelet.cm.topologymanager.manager import AdmissionProblem
from kitlib.kubelet.config.machine import MachineInfo, grouped

GI = 2**30
STATIC = ["--cpu-manager-policy=static", "--kube-reserved=cpu=1,memory=1Gi"]


def pod(name: str, cpu: str = "2", memory: str = "1Gi", containers: int = 1, **limits: str) -> Pod:
    extended = {key.replace("__", "/").replace("_", "."): amount for key, amount in limits.items()}
    resources = {"limits": {"cpu": cpu, "memory": memory, **extended}}
    manifest: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "uid": name},
        "spec": {"containers": [{"name": f"c{i}", "image": "x", "resources": resources} for i in range(containers)]},
    }
    return set_defaults(from_dict(manifest, Pod))


def node(flags: list[str], devices: dict[str, int | None] | None = None, **machine: Any) -> NodeConfig:
    groups = machine.pop("groups", {"sockets": 2, "cores": 4})
    topology = grouped(**groups)
    info = MachineInfo(cores=len(topology), memory=16 * GI, topology=topology, **machine)
    plugins = (DevicePlugin("example.com/gpu", devices),) if devices else ()
    return NodeConfig(machine=info, settings=read_settings(flags), devices=plugins)


def refusal(managers: ResourceManagers, made: Pod) -> AdmissionProblem:
    with pytest.raises(AdmissionProblem) as caught:
        managers.admit(made)
    return caught.value


def test_cpus_memory_and_device_of_a_container_come_from_one_numa_node() -> None:
    flags = [
        *STATIC,
        "--topology-manager-policy=single-numa-node",
        "--memory-manager-policy=Static",
        "--reserved-memory=0:memory=1124Mi",
    ]
    config = node(flags, {"a": 0, "b": 1}, numa_memory={0: 8 * GI, 1: 8 * GI})
    managers = ResourceManagers(config)
    first, second = pod("first", "4", "4Gi", example_com__gpu="1"), pod("second", "4", "4Gi", example_com__gpu="1")
    managers.admit(first)
    managers.admit(second)
    assert managers.assigned(first, first.spec.containers[0]) == Assigned("1-2,9-10", True, "0")
    assert managers.environment("first", "c0") == {"EXAMPLE_COM_GPU": "a"}
    assert managers.assigned(second, second.spec.containers[0]) == Assigned("4-5,12-13", True, "1")
    assert managers.environment("second", "c0") == {"EXAMPLE_COM_GPU": "b"}


def test_a_pod_that_no_single_numa_node_can_hold_is_refused_with_the_kubelets_words_and_keeps_nothing() -> None:
    managers = ResourceManagers(node([*STATIC, "--topology-manager-policy=single-numa-node"]))
    problem = refusal(managers, pod("wide", "10"))
    assert (problem.reason, problem.message) == (
        "TopologyAffinityError",
        "Resources cannot be allocated with Topology locality",
    )
    assert managers.cpus is not None
    assert managers.cpus.state.default == managers.topology.ids


def test_the_scope_pod_puts_all_containers_on_the_same_nodes() -> None:
    flags = [*STATIC, "--topology-manager-policy=restricted"]
    by_container = ResourceManagers(node(flags))
    by_pod = ResourceManagers(node([*flags, "--topology-manager-scope=pod"]))
    made = pod("p", "4", containers=2)
    numa = {cpu.id: cpu.numa for cpu in by_pod.topology.cpus.values()}
    for managers in (by_container, by_pod):
        managers.admit(made)
    nodes = []
    for managers in (by_container, by_pod):
        assert managers.cpus is not None
        sets = managers.cpus.state.assignments["p"].values()
        nodes.append({numa[cpu] for cpus in sets for cpu in cpus})
    assert nodes == [{0, 1}, {1}]


def test_smt_alignment_is_refused_by_its_own_name_and_a_lack_of_cpus_as_unexpected() -> None:
    managers = ResourceManagers(node([*STATIC, "--cpu-manager-policy-options=full-pcpus-only=true"]))
    assert refusal(managers, pod("odd", "3")).reason == "SMTAlignmentError"
    problem = refusal(ResourceManagers(node(STATIC)), pod("huge", "16"))
    assert problem.reason == "UnexpectedAdmissionError"
    assert problem.message == (
        "Allocate failed due to not enough cpus available to satisfy request: requested=16, available=15, which is "
        "unexpected"
    )


def test_a_device_is_given_once_and_comes_back() -> None:
    managers = ResourceManagers(node([], {"gpu-0": None}))
    first, second = pod("first", example_com__gpu="1"), pod("second", example_com__gpu="1")
    managers.admit(first)
    assert managers.environment("first", "c0") == {"EXAMPLE_COM_GPU": "gpu-0"}
    problem = refusal(managers, second)
    assert problem.message == (
        "Allocate failed due to requested number of devices unavailable for example.com/gpu. Requested: 1, "
        "Available: 0, which is unexpected"
    )
    managers.release(first)
    managers.admit(second)
    assert managers.environment("second", "c0") == {"EXAMPLE_COM_GPU": "gpu-0"}


def test_memory_of_a_large_container_binds_two_nodes_into_a_group() -> None:
    flags = ["--memory-manager-policy=Static", "--kube-reserved=memory=1Gi", "--reserved-memory=0:memory=1124Mi"]
    config = node(flags, numa_memory={0: 8 * GI, 1: 8 * GI})
    managers = ResourceManagers(config)
    large, small = pod("large", "1", "10Gi"), pod("small", "1", "1Gi")
    managers.admit(large)
    assert managers.assigned(large, large.spec.containers[0]).mems == "0-1"
    problem = refusal(managers, pod("larger", "1", "8Gi"))
    assert "no NUMA nodes with enough memory is available" in problem.message
    managers.release(large)
    managers.admit(small)
    assert managers.assigned(small, small.spec.containers[0]).mems == "0"
    problem = refusal(managers, pod("large", "1", "10Gi"))
    assert "[memorymanager]" in problem.message


@settings(max_examples=40)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 12)), max_size=10))
def test_memory_that_was_released_is_all_back(steps: list[tuple[bool, int]]) -> None:
    flags = ["--memory-manager-policy=Static", "--kube-reserved=memory=1Gi", "--reserved-memory=0:memory=1124Mi"]
    managers = ResourceManagers(node(flags, numa_memory={0: 8 * GI, 1: 8 * GI}))
    assert managers.memory is not None
    held: list[Pod] = []
    for number, (comes, size) in enumerate(steps):
        if comes:
            made = pod(f"p{number}", "1", f"{size}Gi")
            with contextlib.suppress(AdmissionProblem):
                managers.admit(made)
                held.append(made)
        elif held:
            managers.release(held.pop(0))
        for account in managers.memory.nodes.values():
            assert 0 <= account.free["memory"] <= account.allocatable["memory"]
    for made in held:
        managers.release(made)
    for number, account in managers.memory.nodes.items():
        assert (account.free, account.users, account.group) == (account.allocatable, 0, {number})


def test_exclusive_cpus_switch_the_quota_off_for_container_and_pod() -> None:
    config = node(STATIC)
    pods = [pod("owns", "2"), pod("shares", "1500m")]
    managers = ResourceManagers(config)
    for one in pods:
        managers.admit(one)
    assigned = managers.assignments(pods)
    tree = desired_tree(config, pods, assigned=assigned)

    def value(name: str, kind: str, file: str) -> str:
        return next(c for c in tree.values() if c.uid == name and c.kind == kind)[file].value

    assert [value("owns", kind, "cpu.max") for kind in ("pod", "container")] == ["max 100000"] * 2
    assert [value("shares", kind, "cpu.max") for kind in ("pod", "container")] == ["150000 100000"] * 2
    assert value("owns", "container", "cpuset.cpus") == "1,9"
    assert value("shares", "container", "cpuset.cpus") == "0,2-8,10-15"


def test_a_static_policy_without_reserved_cpus_does_not_start() -> None:
    with pytest.raises(KitError, match="greater than zero"):
        ResourceManagers(node(["--cpu-manager-policy=static"]))
