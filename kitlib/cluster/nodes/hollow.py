"""Hollow nodes: nodes without a kernel, for clusters in which only scheduling matters.

A bound pod runs at once, and terminates at once when it is deleted; there are no cgroups. Thousands of such nodes are
cheap. The name comes from kubemark's hollow nodes.

Source of the status fields: kubelet_node_status.go, status/generate.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NoReturn, overload

from kitlib.api.core import TERMINAL_PHASES, ContainerStatus, Node, Pod
from kitlib.api.meta import Condition
from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.store.events import record
from kitlib.cluster.nodes.bound_pods import BoundPods
from kitlib.cluster.nodes.hollow_admission import HollowAdmission
from kitlib.cluster.nodes.interfaces import NotOnThisNode
from kitlib.cluster.nodes.node_object import put_addresses
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.cm.node_allocatable import Reservations, node_status
from kitlib.kubelet.loop.status import BY_KUBELET, DISRUPTION_TARGET
from kitlib.node.common.network import PodNetwork, node_network


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
        release: the release that the node follows.
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

    def __init__(self, plan: NodePlan, release: Release, number: int = 0) -> None:
        self.plan, self.name = plan, plan.name
        # Without settings nothing is reserved, so allocatable equals capacity.
        self._settings = read_settings(plan.kubelet or ["--eviction-hard="])
        self.network = node_network(number, self._settings.max_pods)
        self._pods = PodNetwork(self.network.pods)
        self._gates = self._settings.gates(release)
        self._admission = HollowAdmission(plan.machine, self._settings, self._gates)

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
        """Admit and start the pods that are bound to this node, and terminate the deleted ones."""
        changed, removed = pods.take()
        self._admission.forget(removed)
        self._admission.forget(p.metadata.uid for p in changed if p.status.phase in TERMINAL_PHASES)
        # Addresses of removed pods are freed only when a new pod needs one: a pass over all pods is expensive.
        if any(pod.status.phase == "Pending" for pod in changed):
            self._pods.keep({pod.metadata.uid for pod in pods if pod.status.phase not in TERMINAL_PHASES})
        for pod in changed:
            if pod.metadata.deletion_timestamp is not None:
                self._admission.forget([pod.metadata.uid])
                api.delete(Pod, pod.name, pod.namespace)
            elif pod.status.phase == "Running":
                self._admission.count(pod)
            elif pod.status.phase == "Pending" and self._admits(api, pod):
                started = deepcopy(pod)
                mark_running(started, api.store.now())
                self._give_address(started)
                api.update_status(started)

    def _admits(self, api: APIServer, pod: Pod) -> bool:
        """Return whether the kubelet admits a pod; a rejected one fails, as do the pods that it preempts."""
        # Without a Node object the kubelet takes the one that it would register. Source: getNodeAnyWay, initialNode.
        node = api.store.find(Node, self.name, copy=False) or self.register(api.store.now())
        refused, victims = self._admission.admit(pod, node)
        if refused is not None:
            record(api, pod, "Warning", *refused, "kubelet")
            self._fail(api, pod, refused.reason, f"Pod was rejected: {refused.message}")
            return False
        for victim in victims:
            from kitlib.kubelet.loop import preemption  # loaded with the first critical pod that lacks room

            self._admission.forget([victim.metadata.uid])
            record(api, victim, "Warning", preemption.REASON, preemption.MESSAGE, "kubelet")
            condition = Condition(
                type=DISRUPTION_TARGET, status="True", reason=BY_KUBELET, message=preemption.DISRUPTION
            )
            disrupted = [condition] if self._gates.enabled("PodDisruptionConditions") else []
            self._fail(api, victim, preemption.REASON, preemption.MESSAGE, disrupted)
        return True

    @staticmethod
    def _fail(api: APIServer, pod: Pod, reason: str, message: str, conditions: Sequence[Condition] = ()) -> None:
        failed = deepcopy(pod)
        failed.status.conditions = [*conditions, *failed.status.conditions]
        failed.status.phase, failed.status.reason, failed.status.message = "Failed", reason, message
        failed.status.start_time = failed.status.start_time or api.store.now()
        api.update_status(failed)

    def _give_address(self, pod: Pod) -> None:
        """Give a pod an address; the node has one for each pod that it admits."""
        own, host = pod.status, self.network.address
        own.host_ip, own.host_ips = host, [{"ip": host}]
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
