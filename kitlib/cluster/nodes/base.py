"""What every node with cgroup files has in common: it registers as the kubelet does, and its files can be looked at.

Where the files are (on a simulated kernel, on a real one behind a stream) and what the kubelet wants of them is said by
the kind of node.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from kitlib.api.core import Node
from kitlib.api.resource import Quantity
from kitlib.cluster.admission.apiserver import APIServer
from kitlib.cluster.controllers.pods import record
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.cluster.nodes.reports import image_list
from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupTree, Difference
from kitlib.kubelet.cm.node_allocatable import node_status
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.loop.node_conditions import first_conditions, first_events

Record = Callable[..., None]


class NodeBase(ABC):
    """One node.

    Attributes:
        plan: what it was made from.
        config: what its kubelet works with.
        name: of the node.
        cgroupfs: its cgroup file system (`kitlib.kubelet.loop.interfaces.CgroupFS`, with `tree`).
        has_kubelet: whether one runs there.
    """

    plan: NodePlan
    config: NodeConfig
    name: str
    cgroupfs: Any
    has_kubelet = True
    _record: Record

    def register(self, now: datetime) -> Node:
        """The Node object with capacity and allocatable as the kubelet publishes them."""
        return node_object(self.plan, self.config, now)

    def registered(self, api: APIServer) -> None:
        """The Node object stands: its kubelet tells that it has started."""
        node: Node | None = api.store.find(Node, self.name)
        if self.has_kubelet and node is not None:
            for event in first_events(self.name, self.config.settings):
                record(api, node, "Normal", event.reason, event.message, "kubelet")

    @abstractmethod
    def desired(self) -> CgroupTree:
        """The tree that the kubelet wants, with the reason for every value."""

    def tree(self) -> CgroupTree:
        """The tree read back from the files, with the desired tree's titles and reasons."""
        wanted = self.desired()
        return described(self.cgroupfs.tree(wanted.driver, like=wanted), wanted)

    def differences(self) -> list[Difference]:
        """Where the files show something else than the kubelet wants."""
        return self.desired().diff(self.tree())

    def read(self, path: str, file: str) -> str:
        """The content of a cgroup file."""
        return str(self.cgroupfs.read(path, file))

    def write(self, path: str, file: str, value: str) -> None:
        """Write a cgroup file by hand.

        Raises:
            KitError: where the kernel refuses it.
        """
        whose = self._whose(path)
        self.cgroupfs.write(path, file, str(value))
        self._record("write", node=self.name, path=path, file=file, value=str(value), **whose)

    def _whose(self, path: str) -> dict[str, str]:
        """What the journal must say of a cgroup beside its path."""
        return {}


def node_object(plan: NodePlan, config: NodeConfig, now: datetime) -> Node:
    """The Node object with capacity and allocatable as the kubelet publishes them."""
    node = plan.node()
    settings = config.settings
    found = node_status(plan.machine, config.reservations, settings.max_pods, settings.pods_per_core)
    offered = {name: Quantity.from_int(n, "DecimalSI") for name, n in plan.offered.items()}
    node.status.capacity = {**found.capacity, **offered}
    node.status.allocatable = {**found.allocatable, **offered}
    node.status.conditions = first_conditions(now)
    node.status.addresses = [{"type": "Hostname", "address": plan.name}]  # no IP: a node has no network
    node.status.images = image_list(plan.images)
    node.status.node_info = {
        "kubeletVersion": f"v{config.release.name}.0",
        "operatingSystem": "linux",
        "architecture": "amd64",
    }
    return node


def described(observed: CgroupTree, desired: CgroupTree) -> CgroupTree:
    """An observed tree whose cgroups know what they are, and whose files know why they are so, from the desired one."""

    def known(cgroup: Cgroup) -> Cgroup:
        twin = desired.get(cgroup.path)
        if twin is None:
            return cgroup
        files = {n: f._replace(why=twin[n].why, written=twin[n].written) if n in twin else f for n, f in cgroup.items()}
        return replace(twin, files=files)

    return CgroupTree(observed.version, observed.driver, map(known, observed.values()))
