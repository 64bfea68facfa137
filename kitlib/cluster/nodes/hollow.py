"""Hollow nodes: a node without a kernel, for clusters in which only the scheduling matters.

A pod that is bound to one runs at once, and ends at once when it is deleted; there are no cgroups. Thousands of such
nodes cost next to nothing. The name is Kubernetes' own (kubemark's hollow nodes).

Source of the status fields: kubelet_node_status.go, status/generate.go.
"""

from __future__ import annotations

from datetime import datetime

from kitlib.api.core import ContainerStatus, Node, Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import Condition
from kitlib.api.resource import Quantity
from kitlib.cluster.admission.apiserver import APIServer
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.cm.node_allocatable import Reservations, node_status


class NotOnThisNode(KitError, AttributeError):
    """Asked of a node, what only one with more of a machine can tell; to Python an attribute that is not there."""


class HollowNode:
    """One node of a cluster made with `kubelets=False`.

    Attributes:
        plan: what it was made from.
    """

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

    def sync(self, api: APIServer, pods: list[Pod]) -> None:
        """Start what is bound here, end what is to go."""
        for pod in pods:
            if pod.metadata.deletion_timestamp is not None:
                api.delete(Pod, pod.name, pod.namespace)
            elif pod.status.phase == "Pending":
                running(pod, api.store.now())
                api.update_status(pod)

    def advance(self, seconds: float) -> None:
        """Nothing happens on a hollow node."""

    def __getattr__(self, name: str) -> object:
        called = self.__dict__.get("name")
        raise NotOnThisNode(f"node {called!r} is hollow (kubelets=False): there is no kernel, so no {name}")


def running(pod: Pod, now: datetime) -> None:
    """Write a status that says: everything runs and is ready."""
    pod.status.phase = "Running"
    pod.status.start_time = now
    pod.status.container_statuses = [
        ContainerStatus(
            name=c.name, image=c.image, ready=True, started=True, state={"running": {"startedAt": now.isoformat()}}
        )
        for c in pod.spec.containers
    ]
    kept = [c for c in pod.status.conditions if c.type == "PodScheduled"]
    pod.status.conditions = kept + [
        Condition(type=kind, status="True", last_transition_time=now)
        for kind in ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")
    ]
