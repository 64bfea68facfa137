"""Hollow nodes: a node without a kernel, for clusters in which only the scheduling matters.

A pod that is bound to one runs at once, and ends at once when it is deleted; there are no cgroups. Thousands of such
nodes cost next to nothing. The name is Kubernetes' own (kubemark's hollow nodes).

Source of the status fields: kubelet_node_status.go, status/generate.go.
"""

from __future__ import annotations

from datetime import datetime
from typing import NoReturn, overload

from kitlib.api.core import ContainerStatus, Node, Pod
from kitlib.api.meta import Condition
from kitlib.api.resource import Quantity
from kitlib.api.serialize import deepcopy
from kitlib.cluster.admission.apiserver import APIServer
from kitlib.cluster.nodes.interfaces import NotOnThisNode
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.cm.node_allocatable import Reservations, node_status


class NeedsKernel:
    """A member of `KernelNode` that a hollow node has not: asking for it says so."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, node: None, owner: type) -> NeedsKernel: ...

    @overload
    def __get__(self, node: HollowNode, owner: type) -> NoReturn: ...

    def __get__(self, node: HollowNode | None, owner: type) -> NeedsKernel:
        if node is None:
            return self
        raise NotOnThisNode(f"node {node.name!r} is hollow (kubelets=False): there is no kernel, so no {self._name}")


class HollowNode:
    """One node of a cluster made with `kubelets=False`.

    Attributes:
        plan: what it was made from.
        name: of the node.
    """

    config = NeedsKernel()
    cgroupfs = NeedsKernel()
    desired = NeedsKernel()
    tree = NeedsKernel()
    differences = NeedsKernel()
    read = NeedsKernel()
    write = NeedsKernel()
    kernel_log = NeedsKernel()
    uptime = NeedsKernel()
    timeline = NeedsKernel()
    cgroup_changes = NeedsKernel()
    checkpoint = NeedsKernel()
    processes = NeedsKernel()
    process = NeedsKernel()
    owners = NeedsKernel()
    proc = NeedsKernel()
    program_exits = NeedsKernel()
    signal = NeedsKernel()
    signals = NeedsKernel()
    usages = NeedsKernel()
    total_usage = NeedsKernel()
    usage = NeedsKernel()

    def __init__(self, plan: NodePlan) -> None:
        self.plan, self.name = plan, plan.name

    def register(self, now: datetime) -> Node:
        """The Node object: pods may have all of the machine, unless the kubelet's settings reserve some of it."""
        node = self.plan.node()
        settings = read_settings(self.plan.kubelet or ["--eviction-hard="])
        reserved = Reservations(settings.kube_reserved, settings.system_reserved, settings.eviction_hard)
        found = node_status(self.plan.machine, reserved, settings.max_pods, settings.pods_per_core)
        offered = {name: Quantity.from_int(n, "DecimalSI") for name, n in self.plan.offered.items()}
        node.status.capacity = {**found.capacity, **offered}
        node.status.allocatable = {**found.allocatable, **offered}
        node.status.conditions = [
            Condition(type="Ready", status="True", reason="KubeletReady", last_transition_time=now)
        ]
        return node

    def registered(self, api: APIServer) -> None:
        """No kubelet starts, so it records no events."""

    def sync(self, api: APIServer, pods: list[Pod]) -> None:
        """Start the pods that are bound here, end those that are deleted."""
        for pod in pods:
            if pod.metadata.deletion_timestamp is not None:
                api.delete(Pod, pod.name, pod.namespace)
            elif pod.status.phase == "Pending":
                started = deepcopy(pod)
                mark_running(started, api.store.now())
                api.update_status(started)

    def advance(self, seconds: float) -> None:
        """Nothing happens on a hollow node."""

    def close(self) -> None:
        """Nothing to end."""


def mark_running(pod: Pod, now: datetime) -> None:
    """Write a status in which every container runs and is ready."""
    pod.status.phase = "Running"
    pod.status.start_time = now
    pod.status.container_statuses = [
        ContainerStatus(
            name=c.name,
            image=c.image,
            ready=True,
            started=True,
            state={"running": {"startedAt": now.isoformat()}},
            allocated_resources=c.resources.requests,
            resources=c.resources,
        )
        for c in pod.spec.containers
    ]
    kept = [c for c in pod.status.conditions if c.type == "PodScheduled"]
    pod.status.conditions = kept + [
        Condition(type=kind, status="True", last_transition_time=now)
        for kind in ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")
    ]
