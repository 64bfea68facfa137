"""The static memory policy: memory and huge pages of Guaranteed pods are allocated from selected NUMA nodes.

A NUMA node serves containers that need one node, or it belongs to one group of nodes that together serve larger
containers, never both. The allocated nodes become the container's `cpuset.mems`.

Source: kubelet memorymanager policy_static.go; KEP-1769.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from kitlib.api.core import Container, Pod, ResourceList
from kitlib.api.errors import KitError
from kitlib.api.podresources import containers_of
from kitlib.api.release import Release
from kitlib.kubelet.cm.memorymanager.checkpoint import MemoryCheckpoint
from kitlib.kubelet.cm.pod_level import partition, pool_problem
from kitlib.kubelet.cm.topologymanager.hints import EmptyPodSharedPoolError, Hints, TopologyHint, narrower, node_sets
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.kubelet.config.settings import ReservedMemory
from kitlib.kubelet.qos.qos_class import (
    get_pod_qos,
    is_regular_init,
    is_restartable_init,
    pod_level_managed,
    pod_level_resources,
    resembles_guaranteed,
)

Nodes = frozenset[int]


class Block(NamedTuple):
    """Memory of a container: `size` bytes of a resource, from these nodes."""

    resource: str
    nodes: Nodes
    size: int


@dataclass
class NUMANode:
    """The memory of a NUMA node and its allocation.

    Attributes:
        allocatable, free: resource -> bytes.
        users: the number of blocks that it serves.
        group: the nodes that serve these blocks together; the node alone without blocks.
    """

    allocatable: dict[str, int]
    free: dict[str, int]
    group: Nodes
    users: int = 0


@dataclass
class MemoryManager:
    """Allocates memory to containers and releases it.

    Args:
        nodes: NUMA node -> its memory.
        release: the release that determines the feature gates.

    Attributes:
        blocks: (pod UID, container) -> its memory.
        pods: UID of a pod with pod-level resources -> the memory of all of its containers together.
    """

    nodes: dict[int, NUMANode]
    release: Release
    blocks: dict[tuple[str, str], list[Block]] = field(default_factory=dict)
    pods: dict[str, list[Block]] = field(default_factory=dict)
    _reusable: tuple[str, dict[tuple[Nodes, str], int]] = ("", {})

    @classmethod
    def of(cls, machine: MachineInfo, reserved: Iterable[ReservedMemory], release: Release) -> MemoryManager:
        """Make the manager of a machine; huge pages are distributed evenly over the nodes.

        Source: getDefaultMachineState.
        """
        ids = sorted({cpu.numa for cpu in machine.cpus} | set(machine.numa_memory))
        reusable: dict[int, Mapping[str, int]] = {
            reserved_memory.numa_node: {name: amount.value() for name, amount in reserved_memory.limits.items()}
            for reserved_memory in reserved
        }
        made = {}
        for node in ids:
            total = machine.numa_memory.get(node, 0)
            if not machine.numa_memory:
                total = machine.memory if node == ids[0] else 0
            pages = {
                pool.resource_name: pool.page_size * (pool.pages // len(ids) + (node < pool.pages % len(ids)))
                for pool in machine.huge_pages
            }
            # Huge pages are reserved in advance, so their memory cannot be allocated as ordinary memory.
            sizes = {**pages, "memory": total - sum(pages.values())}
            usable = {name: max(size - reusable.get(node, {}).get(name, 0), 0) for name, size in sizes.items()}
            made[node] = NUMANode(usable, dict(usable), frozenset({node}))
        return cls(made, release)

    def checkpoint(self) -> MemoryCheckpoint:
        """Return the state as it is written to the checkpoint."""
        return MemoryCheckpoint(
            "Static",
            {number: dict(node.allocatable) for number, node in self.nodes.items()},
            {key: tuple(blocks) for key, blocks in self.blocks.items()},
            {uid: tuple(blocks) for uid, blocks in self.pods.items()},
            {number: (dict(node.free), node.group, node.users) for number, node in self.nodes.items()},
        )

    def restore(self, written: MemoryCheckpoint) -> None:
        """Restore the state from a checkpoint.

        Raises:
            KitError: the machine's memory or its reservation has changed.

        Source: staticPolicy.validateState, areMachineStatesEqual.
        """
        if not written.nodes:
            return
        if {number: node.allocatable for number, node in self.nodes.items()} != dict(written.allocatable):
            raise KitError("[memorymanager] the expected machine state is different from the real one")
        self.blocks = {key: [Block(*block) for block in blocks] for key, blocks in written.blocks.items()}
        self.pods = {uid: [Block(*block) for block in blocks] for uid, blocks in written.pods.items()}
        for number, (free, group, users) in written.nodes.items():
            node = self.nodes[number]
            node.free, node.group, node.users = dict(free), group, users

    def hints(self, pod: Pod, container: Container) -> Hints:
        """Return the sets of NUMA nodes that can serve a container, by resource.

        Source: staticPolicy.GetTopologyHints.
        """
        if not self._manages(pod):
            return {}
        wanted, has = self._requests(pod, container), self.blocks.get((pod.metadata.uid, container.name))
        return self._again(has, wanted) if has is not None else self._possible(pod.metadata.uid, wanted)

    def pod_hints(self, pod: Pod) -> Hints:
        """Return the sets of NUMA nodes that can serve the whole pod, by resource.

        Source: staticPolicy.GetPodTopologyHints, getPodRequestedResources.
        """
        if not self._manages(pod):
            return {}
        wanted, uid = self._pod_requests(pod), pod.metadata.uid
        if uid in self.pods:
            return self._again(self.pods[uid], wanted)
        if pod_level_managed(pod, self.release) and self._pool_problem(pod, wanted):
            return {name: [] for name in wanted}
        for container in containers_of(pod):
            has = self.blocks.get((pod.metadata.uid, container.name))
            if has is not None:
                return self._again(has, wanted)
        return self._possible(pod.metadata.uid, wanted)

    def _manages(self, pod: Pod) -> bool:
        return get_pod_qos(pod, self.release) == "Guaranteed" and (
            not pod_level_resources(pod, self.release) or pod_level_managed(pod, self.release)
        )

    def _requests(self, pod: Pod, container: Container) -> dict[str, int]:
        """Return the requested memory and huge pages of a container in bytes.

        In a pod with pod-level resources, {} if the container's own requests differ from its limits.

        Source: getContainerRequestedResources.
        """
        if pod_level_managed(pod, self.release) and not resembles_guaranteed(container):
            return {}
        return _memory(container.resources.requests)

    def _pod_requests(self, pod: Pod) -> dict[str, int]:
        """Return the maximum that a pod's containers need at the same time, or its pod-level request, in bytes.

        Source: getPodRequestedResources; KEP-753, KEP-5526.
        """
        if pod_level_managed(pod, self.release):
            assert pod.spec.resources is not None
            return _memory(pod.spec.resources.requests)
        return _needed_at_once(pod)

    def _pool_problem(self, pod: Pod, total: Mapping[str, int]) -> str:
        return pool_problem(pod, total, partial(self._requests, pod))

    @staticmethod
    def _again(has: list[Block], wanted: Mapping[str, int]) -> Hints:
        """Return the nodes of the allocated memory as the only hints, for a pod that is admitted again after a restart.

        Source: regenerateHints.
        """
        if {block.resource: block.size for block in has} != dict(wanted):
            return {}
        return {block.resource: [TopologyHint(block.nodes, True)] for block in has}

    def _possible(self, uid: str, wanted: Mapping[str, int]) -> Hints:
        """Return the sets of nodes that have enough free memory and may serve together.

        Source: staticPolicy.calculateHints.
        """
        least, found = len(self.nodes), []
        for nodes in node_sets(self.nodes):
            if any(self._sum(nodes, name, "allocatable") < size for name, size in wanted.items()):
                continue
            # The minimum counts all memory, allocated or not, so a busy machine may have no preferred hint.
            least = min(least, len(nodes))
            if len(nodes) == 1 and any(len(self.nodes[node].group) > 1 for node in nodes):
                continue
            if len(nodes) > 1 and self._mixed(nodes):
                continue
            if all(self._sum(nodes, n, "free") + self._left_by_inits(uid, nodes, n) >= s for n, s in wanted.items()):
                found.append(nodes)
        if not found:
            return {}
        return {name: [TopologyHint(nodes, len(nodes) == least) for nodes in found] for name in wanted}

    def _sum(self, nodes: Nodes, resource: str, what: str) -> int:
        return sum(getattr(self.nodes[node], what).get(resource, 0) for node in nodes)

    def _mixed(self, nodes: Nodes) -> bool:
        """Return whether one of these nodes already serves alone or in another group.

        Source: isAffinityViolatingNUMAAllocations.
        """
        return any(self.nodes[n].users and self.nodes[n].group != nodes for n in nodes)

    def allocate(self, pod: Pod, container: Container, hint: TopologyHint) -> None:
        """Allocate a container's memory.

        Raises:
            KitError: the request cannot be satisfied; the message is the kubelet's, and the state is unchanged.

        Source: staticPolicy.Allocate.
        """
        if not self._manages(pod):
            return
        uid, wanted = pod.metadata.uid, self._requests(pod, container)
        key = (uid, container.name)
        if key in self.blocks:
            self._update_reusable(pod, container, self.blocks[key])
            return
        if not wanted and pod_level_managed(pod, self.release):
            return  # its memory may come from any node
        nodes = self._fitting(uid, wanted, hint)
        made = [Block(name, nodes, size) for name, size in sorted(wanted.items())]
        for block in made:
            # The memory of init containers that have ended is still subtracted from the nodes: only the excess is new.
            self._take(block, max(block.size - self._left_by_inits(uid, nodes, block.resource), 0))
        self._update_reusable(pod, container, made)
        self.blocks[key] = made
        self._shrink_inits(pod, container, made)

    def allocate_pod(self, pod: Pod, hint: TopologyHint) -> None:
        """Allocate the memory of a pod with pod-level resources, and divide it among its containers.

        Raises:
            EmptyPodSharedPoolError, KitError: the request cannot be satisfied; the message is the kubelet's, and the
                state is unchanged.

        Source: staticPolicy.AllocatePod.
        """
        uid = pod.metadata.uid
        wanted = self._pod_requests(pod) if self._manages(pod) else {}
        if not wanted or uid in self.pods:
            return
        problem = self._pool_problem(pod, wanted)
        if problem:
            raise EmptyPodSharedPoolError(problem)
        nodes = self._fitting(uid, wanted, hint)
        self.pods[uid] = [Block(name, nodes, size) for name, size in sorted(wanted.items())]
        for block in self.pods[uid]:
            self._take(block, block.size)
        for name, sizes in partition(pod, wanted, partial(self._requests, pod), _split).items():
            self.blocks[uid, name] = [Block(kind, nodes, size) for kind, size in sorted(sizes.items()) if size > 0]

    def _fitting(self, uid: str, wanted: Mapping[str, int], hint: TopologyHint) -> Nodes:
        """Return the hinted nodes, extended if they have too little memory; without a hint the best nodes."""
        nodes, preferred = hint
        if nodes is None:
            best = self._best(uid, wanted, frozenset(), "get the default NUMA affinity, no NUMA nodes with enough "
                              "memory is available")  # fmt: skip
            if preferred and not best.preferred:
                raise KitError("[memorymanager] failed to find the default preferred hint")
            nodes, preferred = best
        assert nodes is not None
        # Upstream's isAffinitySatisfyRequest ignores the reusable memory of init containers, which the hints include.
        # So a hint that depends on it is extended, although it suffices.
        if any(self._sum(nodes, name, "free") < size for name, size in wanted.items()):
            best = self._best(uid, wanted, nodes, "find NUMA nodes to extend the current topology hint")
            if preferred and not best.preferred:
                raise KitError("[memorymanager] failed to find the extended preferred hint")
            nodes = best.nodes
        assert nodes is not None
        if len(nodes) > 1 and self._mixed(nodes):
            raise KitError("[memorymanager] preferred hint violates NUMA node allocation")
        return nodes

    def _best(self, uid: str, wanted: Mapping[str, int], at_least: Nodes, what: str) -> TopologyHint:
        """Return the best hint that includes these nodes.

        Source: getDefaultHint, extendTopologyManagerHint, findBestHint.
        """
        fits = [h for h in self._possible(uid, wanted).get("memory") or () if at_least <= (h.nodes or frozenset())]
        if not fits:
            raise KitError(f"[memorymanager] failed to {what}")
        best = fits[0]
        for hint in fits[1:]:
            assert hint.nodes is not None
            assert best.nodes is not None
            if hint.preferred > best.preferred or (
                hint.preferred == best.preferred and narrower(hint.nodes, best.nodes)
            ):
                best = hint
        return best

    def _take(self, block: Block, size: int) -> None:
        """Subtract `size` bytes from the block's nodes, the lowest node first.

        Source: staticPolicy.updateMachineState.
        """
        for node in sorted(block.nodes):
            account = self.nodes[node]
            account.users += 1
            account.group = block.nodes
            part = min(size, account.free.get(block.resource, 0))
            account.free[block.resource] = account.free.get(block.resource, 0) - part
            size -= part

    def release_container(self, uid: str, container: str) -> None:
        """Release a container's memory. Source: staticPolicy.RemoveContainer."""
        blocks: Iterable[Block] = self.blocks.pop((uid, container), ())
        if uid in self.pods:  # pod-level memory is released with the last container
            blocks = () if any(key[0] == uid for key in self.blocks) else self.pods.pop(uid)
        for block in blocks:
            size = block.size
            for node in sorted(block.nodes):
                account = self.nodes[node]
                account.users -= 1
                if not account.users:
                    account.group = frozenset({node})
                used = account.allocatable.get(block.resource, 0) - account.free.get(block.resource, 0)
                part = min(size, used)
                account.free[block.resource] = account.free.get(block.resource, 0) + part
                size -= part

    def nodes_of(self, uid: str, container: str) -> Nodes:
        """Return the nodes that a container's memory comes from; empty = any. Source: GetMemoryNUMANodes."""
        return frozenset().union(*(block.nodes for block in self.blocks.get((uid, container), ())))

    def _left_by_inits(self, uid: str, nodes: Nodes, resource: str) -> int:
        """Return the reusable bytes of the pod's regular init containers. Source: getPodReusableMemory."""
        owner, reusable = self._reusable
        return reusable.get((nodes, resource), 0) if owner == uid else 0

    def _update_reusable(self, pod: Pod, container: Container, blocks: Iterable[Block]) -> None:
        """Update the reusable memory of the pod's regular init containers.

        Source: staticPolicy.updatePodReusableMemory.
        """
        uid = pod.metadata.uid
        reusable = dict(self._reusable[1]) if self._reusable[0] == uid else {}
        once = is_regular_init(pod, container)
        for block in blocks:
            key = (block.nodes, block.resource)
            before = reusable.get(key, 0)
            # Regular init containers run in turn and reuse each other's memory, so the largest block counts.
            reusable[key] = max(before, block.size) if once else max(before - block.size, 0)
        self._reusable = (uid, reusable)

    def _shrink_inits(self, pod: Pod, container: Container, blocks: Iterable[Block]) -> None:
        """Subtract reused memory from the init containers' blocks.

        Source: staticPolicy.updateInitContainersMemoryBlocks.
        """
        # Upstream does so only to keep the sum of all blocks equal to the allocated memory; an init container's block
        # may become 0. Without it, a release would free more memory than the pod has.
        for block in blocks:
            size = block.size
            for init in pod.spec.init_containers:
                key = (pod.metadata.uid, init.name)
                if init.name == container.name or not size:
                    break
                if is_restartable_init(init) or key not in self.blocks:
                    continue
                remaining = []
                for old in self.blocks[key]:
                    part = min(old.size, size) if old[:2] == block[:2] else 0
                    size -= part
                    remaining.append(old._replace(size=old.size - part))
                self.blocks[key] = remaining


def _memory(requests: ResourceList) -> dict[str, int]:
    """Return the memory and huge pages of requests in bytes."""
    return {
        name: amount.value() for name, amount in requests.items() if name == "memory" or name.startswith("hugepages-")
    }


def _needed_at_once(pod: Pod) -> dict[str, int]:
    sidecars: dict[str, int] = {}
    most: dict[str, int] = {}
    for init in pod.spec.init_containers:
        for name, size in _memory(init.resources.requests).items():
            if is_restartable_init(init):
                sidecars[name] = sidecars.get(name, 0) + size
            else:
                most[name] = max(most.get(name, 0), sidecars.get(name, 0) + size)
    total: dict[str, int] = {}
    for container in pod.spec.containers:
        for name, size in _memory(container.resources.requests).items():
            total[name] = total.get(name, 0) + size
    return {name: max(size + sidecars.get(name, 0), most.get(name, 0)) for name, size in total.items()}


def _split(left: dict[str, int], wanted: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """Split amounts into the wanted part and the rest."""
    return dict(wanted), {name: size - wanted.get(name, 0) for name, size in left.items()}
