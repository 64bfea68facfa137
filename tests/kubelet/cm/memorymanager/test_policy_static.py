"""The static memory policy by itself: which NUMA nodes are hinted, taken, grouped, reused by a pod and given back."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.api.serialize import from_dict
from kitlib.kubelet.cm.memorymanager.policy_static import Block, MemoryManager, NUMANode
from kitlib.kubelet.cm.topologymanager.hints import TopologyHint
from kitlib.kubelet.config.machine import HugePages, MachineInfo, grouped
from kitlib.kubelet.config.settings import ReservedMemory

GI, MI = 2**30, 2**20
RELEASE = Release("1.36")
ANY = TopologyHint(None, False)


def manager(*sizes: int, **others: int) -> MemoryManager:
    """Return the manager of NUMA nodes with these Gi of memory, each also with these bytes of other resources."""
    nodes = {}
    for number, size in enumerate(sizes):
        has = {"memory": size * GI, **{name.replace("_", "-"): amount for name, amount in others.items()}}
        nodes[number] = NUMANode(has, dict(has), frozenset({number}))
    return MemoryManager(nodes, RELEASE)


def pod(*sizes: int, name: str = "p", init: tuple[int, ...] = (), sidecar: int = 0, **others: str) -> Pod:
    """Return a Guaranteed pod whose containers request so many Gi of memory."""

    def container(kind: str, number: int, size: int, **more: str) -> dict[str, Any]:
        limits = {
            "cpu": "1",
            "memory": f"{size}Gi",
            **{key.replace("_", "-"): amount for key, amount in others.items()},
        }
        return {"name": f"{kind}{number}", "image": "x", "resources": {"limits": limits}, **more}

    inits = [container("i", number, size) for number, size in enumerate(init)]
    if sidecar:
        inits.append(container("s", 0, sidecar, restartPolicy="Always"))
    spec = {"containers": [container("c", n, size) for n, size in enumerate(sizes)], "initContainers": inits}
    data = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "uid": name}, "spec": spec}
    return set_defaults(from_dict(data, Pod))


def give(memory: MemoryManager, made: Pod, hint: TopologyHint = ANY) -> None:
    for container in (*made.spec.init_containers, *made.spec.containers):
        memory.allocate(made, container, hint)


def free(memory: MemoryManager) -> list[float]:
    return [node.free["memory"] / GI for node in memory.nodes.values()]


def shown(hints: list[TopologyHint] | None) -> dict[str, bool]:
    """Return the hints as text: their nodes, and whether they are preferred."""
    return {"".join(map(str, sorted(one.nodes or ()))): one.preferred for one in hints or ()}


@pytest.mark.parametrize(
    ("held", "wanted", "expected"),
    [
        ((), 4, {"0": True, "1": True, "01": False}),
        ((), 8, {"0": True, "1": True, "01": False}),
        ((), 9, {"01": True}),
        ((), 17, {}),
        ((5,), 3, {"0": True, "1": True}),
        ((5,), 4, {"1": True}),
        ((5,), 9, {}),
        ((12,), 2, {"01": False}),
        ((12,), 4, {"01": False}),
        ((12,), 5, {}),
        ((8, 8), 1, {}),
    ],
    ids=[
        "every set with room, the smallest preferred", "a node is used up to its last byte", "two nodes together",
        "more than the machine", "a node that serves alone joins no group", "the other node", "no group with it",
        "a group's nodes serve only together", "the group's last bytes", "more than the group has left", "all taken",
    ],
)  # fmt: skip
def test_the_hints_of_two_nodes_of_8_gi(held: tuple[int, ...], wanted: int, expected: dict[str, bool]) -> None:
    """Source: staticPolicy.calculateHints, isAffinityViolatingNUMAAllocations."""
    memory = manager(8, 8)
    for number, size in enumerate(held):
        give(memory, pod(size, name=f"held{number}"))
    made = pod(wanted)
    hints = memory.hints(made, made.spec.containers[0])
    assert shown(hints.get("memory")) == expected
    assert memory.pod_hints(made) == hints


def test_every_resource_of_a_container_has_to_fit() -> None:
    memory = manager(8, 8, hugepages_2Mi=4 * MI)
    made = pod(1, hugepages_2Mi="6Mi")
    assert {name: shown(hints) for name, hints in memory.hints(made, made.spec.containers[0]).items()} == {
        "memory": {"01": True},
        "hugepages-2Mi": {"01": True},
    }
    give(memory, made)
    assert memory.blocks["p", "c0"] == [
        Block("hugepages-2Mi", frozenset({0, 1}), 6 * MI),
        Block("memory", frozenset({0, 1}), GI),
    ]
    assert [node.free["hugepages-2Mi"] for node in memory.nodes.values()] == [0, 2 * MI]
    assert [node.users for node in memory.nodes.values()] == [2, 2]


@pytest.mark.parametrize(
    ("hint", "wanted", "left"),
    [
        (ANY, 3, [5, 8]),
        (TopologyHint(frozenset({1}), True), 3, [8, 5]),
        (TopologyHint(frozenset({0, 1}), False), 3, [5, 8]),
        (TopologyHint(frozenset({1}), False), 10, [0, 6]),
    ],
    ids=["the lowest node", "the hinted node", "from a group's lowest node", "a hint with too little is extended"],
)
def test_where_memory_is_taken(hint: TopologyHint, wanted: int, left: list[float]) -> None:
    """Source: staticPolicy.Allocate, updateMachineState, extendTopologyManagerHint."""
    memory = manager(8, 8)
    give(memory, pod(wanted), hint)
    assert free(memory) == left
    memory.release_container("p", "c0")
    assert free(memory) == [8, 8]
    assert [(node.users, node.group) for node in memory.nodes.values()] == [(0, {0}), (0, {1})]


def test_what_does_not_fit_changes_nothing() -> None:
    memory = manager(8, 8)
    give(memory, pod(5, name="a"), TopologyHint(frozenset({0}), True))
    for hint, text in (
        (ANY, "get the default NUMA affinity, no NUMA nodes with enough memory is available"),
        (TopologyHint(frozenset({1}), True), "find NUMA nodes to extend the current topology hint"),
        (TopologyHint(frozenset({0, 1}), True), "preferred hint violates NUMA node allocation"),
    ):
        with pytest.raises(KitError, match=text):
            give(memory, pod(2 if "violates" in text else 9), hint)
    assert free(memory) == [3, 8]
    assert set(memory.blocks) == {("a", "c0")}


def test_a_preferred_hint_is_not_replaced_by_another_kind() -> None:
    memory = manager(8, 8)
    give(memory, pod(12, name="group"))
    for hint, text in (
        (TopologyHint(None, True), "failed to find the default preferred hint"),
        (TopologyHint(frozenset({0}), True), "failed to find the extended preferred hint"),
    ):
        with pytest.raises(KitError, match=text):
            give(memory, pod(2), hint)
    give(memory, pod(2), TopologyHint(None, False))
    assert free(memory) == [0, 2]


def test_containers_reuse_what_init_containers_of_their_pod_had() -> None:
    """Source: updatePodReusableMemory, updateInitContainersMemoryBlocks."""
    memory = manager(8)
    made = pod(3, 2, init=(2, 4))
    give(memory, made)
    assert free(memory) == [3]
    assert {name: blocks[0].size / GI for (_, name), blocks in memory.blocks.items()} == {
        "i0": 0, "i1": 0, "c0": 3, "c1": 2,
    }  # fmt: skip
    give(memory, made)  # the same pod again, as after a restart: nothing new is taken
    assert free(memory) == [3]
    for name in ("i0", "i1", "c0", "c1"):
        memory.release_container("p", name)
    assert free(memory) == [8]


def test_a_sidecar_keeps_its_memory() -> None:
    memory = manager(8)
    give(memory, pod(3, init=(2,), sidecar=1))
    assert {name: blocks[0].size / GI for (_, name), blocks in memory.blocks.items()} == {"i0": 0, "s0": 1, "c0": 3}
    assert free(memory) == [4]


def test_another_pod_reuses_nothing() -> None:
    memory = manager(8)
    made, other = pod(1, init=(4,)), pod(5, name="other")
    memory.allocate(made, made.spec.init_containers[0], ANY)
    assert memory.hints(other, other.spec.containers[0]) == {}
    assert shown(memory.hints(made, pod(8).spec.containers[0]).get("memory")) == {"0": True}


@pytest.mark.parametrize(
    ("made", "needed"),
    [
        (pod(3, 2), 5),
        (pod(1, init=(4, 3)), 4),
        (pod(1, init=(4,), sidecar=2), 4),
        (pod(3, init=(4,), sidecar=2), 5),
    ],
    ids=["the sum", "the largest init container", "before the sidecar", "containers and sidecar"],
)
def test_a_pod_needs_what_runs_at_the_same_time(made: Pod, needed: int) -> None:
    """Source: getPodRequestedResources; KEP-753."""
    for size, fits in ((needed, True), (needed - 1, False)):
        assert bool(manager(size).pod_hints(made)) is fits


def test_a_pod_that_is_admitted_again_is_hinted_to_its_nodes() -> None:
    """Source: regenerateHints."""
    memory = manager(8, 8)
    made = pod(3)
    give(memory, made, TopologyHint(frozenset({1}), True))
    assert memory.hints(made, made.spec.containers[0]) == {"memory": [TopologyHint(frozenset({1}), True)]}
    assert memory.pod_hints(made) == {"memory": [TopologyHint(frozenset({1}), True)]}
    assert memory.hints(pod(4), made.spec.containers[0]) != {}
    assert memory.hints(made, pod(4).spec.containers[0]) == {}
    assert memory.nodes_of("p", "c0") == {1} and memory.nodes_of("p", "other") == frozenset()


def test_a_burstable_pod_is_not_managed() -> None:
    memory, made = manager(8), pod(1)
    made.spec.containers[0].resources.requests["memory"] = Quantity.parse("1Mi")
    give(memory, made)
    assert (memory.hints(made, made.spec.containers[0]), memory.pod_hints(made), memory.blocks) == ({}, {}, {})


def test_the_memory_of_a_machine() -> None:
    """Source: getDefaultMachineState."""
    machine = MachineInfo(
        cores=16,
        memory=16 * GI,
        topology=grouped(sockets=2, cores=4),
        numa_memory={0: 10 * GI, 1: 6 * GI},
        huge_pages=(HugePages(2 * MI, 5),),
    )
    kept = [ReservedMemory(1, {"memory": Quantity.parse("1Gi"), "hugepages-2Mi": Quantity.parse("6Mi")})]
    memory = MemoryManager.of(machine, kept, RELEASE)
    assert {number: node.free for number, node in memory.nodes.items()} == {
        0: {"hugepages-2Mi": 6 * MI, "memory": 10 * GI - 6 * MI},
        1: {"hugepages-2Mi": 0, "memory": 5 * GI - 4 * MI},
    }
    plain = MemoryManager.of(MachineInfo(cores=16, memory=GI, topology=grouped(sockets=2, cores=4)), [], RELEASE)
    assert [node.free["memory"] for node in plain.nodes.values()] == [GI, 0]


def test_a_checkpoint_brings_everything_back_on_the_same_machine_only() -> None:
    """Source: staticPolicy.validateState, areMachineStatesEqual."""
    memory = manager(8, 8)
    give(memory, pod(10))
    written, again = memory.checkpoint(), manager(8, 8)
    again.restore(written)
    assert (again.nodes, again.blocks) == (memory.nodes, memory.blocks)
    with pytest.raises(KitError, match="expected machine state is different"):
        manager(8, 9).restore(written)
