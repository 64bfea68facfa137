"""Hollow nodes: nodes without a kernel, for clusters in which only scheduling matters.

A bound pod runs at once, and terminates at once when it is deleted; there are no cgroups. Thousands of such nodes are
cheap. The name comes from kubemark's hollow nodes.

Source of the status fields: kubelet_node_status.go, status/generate.go.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import NoReturn, overload

from kitlib.api.core import TERMINAL_PHASES, ContainerStatus, Node, Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import Condition
from kitlib.api.resource import Quantity
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.cluster.nodes.bound_pods import BoundPods
from kitlib.cluster.nodes.interfaces import NotOnThisNode
from kitlib.cluster.nodes.node_object import put_addresses
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.cm.node_allocatable import Reservations, node_status
from kitlib.node.simulated.network import PodNetwork, node_network


class NeedsKernel:
    """A member of `KernelNode` that a hollow node lacks: access raises an error that explains it."""

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

    Args:
        plan: the node's plan.
        number: the node's number in its cluster, which determines its addresses.

    Attributes:
        plan: the node's plan.
        name: the node's name.
        network: the node's addresses.
    """

    config = NeedsKernel()
    cgroupfs = NeedsKernel()
    origin = NeedsKernel()
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
    restart_kubelet = NeedsKernel()
    shutdown = NeedsKernel()
    cancel_shutdown = NeedsKernel()
    reboot = NeedsKernel()
    signal = NeedsKernel()
    signals = NeedsKernel()
    usages = NeedsKernel()
    total_usage = NeedsKernel()
    host_time = NeedsKernel()
    usage = NeedsKernel()

    def __init__(self, plan: NodePlan, number: int = 0) -> None:
        self.plan, self.name = plan, plan.name
        # Without settings nothing is reserved, so allocatable equals capacity.
        self._settings = read_settings(plan.kubelet or ["--eviction-hard="])
        self.network = node_network(number, self._settings.max_pods)
        self._pods = PodNetwork(self.network.pods)

    def register(self, now: datetime) -> Node:
        """Return the Node object; allocatable is the whole machine, unless the kubelet's settings reserve a part."""
        node = self.plan.node()
        settings = self._settings
        reserved = Reservations(settings.kube_reserved, settings.system_reserved, settings.eviction_hard)
        found = node_status(self.plan.machine, reserved, settings.max_pods, settings.pods_per_core)
        offered = {name: Quantity.from_int(n, "DecimalSI") for name, n in self.plan.offered.items()}
        node.status.capacity = {**found.capacity, **offered}
        node.status.allocatable = {**found.allocatable, **offered}
        put_addresses(node, self.network)
        node.status.conditions = [
            Condition(type="Ready", status="True", reason="KubeletReady", last_transition_time=now)
        ]
        return node

    def registered(self, api: APIServer) -> None:
        """Do nothing: no kubelet starts, so there are no events."""

    def sync(self, api: APIServer, pods: BoundPods) -> None:
        """Start the pods that are bound to this node, and terminate the deleted ones."""
        changed = pods.take().changed
        # Addresses of removed pods are freed only when a new pod needs one: a pass over all pods is expensive.
        if any(pod.status.phase == "Pending" for pod in changed):
            self._pods.keep({pod.metadata.uid for pod in pods if pod.status.phase not in TERMINAL_PHASES})
        for pod in changed:
            if pod.metadata.deletion_timestamp is not None:
                api.delete(Pod, pod.name, pod.namespace)
            elif pod.status.phase == "Pending":
                started = deepcopy(pod)
                mark_running(started, api.store.now())
                self._give_address(started)
                api.update_status(started)

    def _give_address(self, pod: Pod) -> None:
        """Give a pod an address; pods beyond the range run without one, since no runtime rejects them."""
        own, host = pod.status, self.network.address
        own.host_ip, own.host_ips = host, [{"ip": host}]
        with suppress(KitError):
            own.pod_ip = host if pod.spec.host_network else self._pods.take(pod.metadata.uid)
        own.pod_ips = [{"ip": own.pod_ip}] if own.pod_ip else []

    def advance(self, seconds: float) -> None:
        """Do nothing: nothing changes on a hollow node."""

    def close(self) -> None:
        """Do nothing: a hollow node has no resources."""


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
