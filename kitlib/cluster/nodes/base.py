"""The common part of nodes with a kernel: registration like the kubelet's, and access to cgroup files."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import replace
from datetime import datetime

from kitlib.api.core import Node
from kitlib.api.errors import KitError
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.store.events import record
from kitlib.cluster.nodes.interfaces import NodeCgroupFS, Record
from kitlib.cluster.nodes.node_object import node_object
from kitlib.cluster.nodes.origin import Origin, with_reasons
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupTree, Difference
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.loop.node_conditions import first_events
from kitlib.kubelet.loop.timeline import TimelineEntry
from kitlib.node.common.network import NodeNetwork


class NodeBase(ABC):
    """One node with a kernel.

    Attributes:
        plan: the node's plan.
        config: the kubelet's configuration.
        name: the node's name.
        network: the node's addresses; None = no network.
        boots: the number of the machine's boots.
    """

    network: NodeNetwork | None = None
    boots: int = 1
    plan: NodePlan
    config: NodeConfig
    name: str
    _record: Record

    @property
    @abstractmethod
    def cgroupfs(self) -> NodeCgroupFS:
        """The node's cgroup file system."""

    @property
    @abstractmethod
    def origin(self) -> Origin:
        """The origin of this node's values, and the refusals of its host."""

    @abstractmethod
    def desired(self) -> CgroupTree:
        """Return the tree that the kubelet wants, with the reason for every value."""

    @abstractmethod
    def _node_info(self) -> dict[str, str]:
        """Return the fields that this kind of node adds to `status.nodeInfo`."""

    def register(self, now: datetime) -> Node:
        """Return the Node object with capacity and allocatable as the kubelet publishes them."""
        node = node_object(self.plan, self.config, now, self.network)
        own = {"bootID": self._boot_id(), **self._node_info()}
        node.status.node_info = {**(node.status.node_info or {}), **own}
        return node

    def _boot_id(self) -> str:
        """Return the content of /proc/sys/kernel/random/boot_id, which each boot changes."""
        digits = hashlib.sha256(f"{self.name}/{self.boots}".encode()).hexdigest()
        return "-".join((digits[:8], digits[8:12], f"4{digits[13:16]}", f"a{digits[17:20]}", digits[20:32]))

    def registered(self, api: APIServer, boot: str = "") -> None:
        """Record the events of the kubelet's start, after a reboot with its ID; called when the Node object exists."""
        node: Node | None = api.store.find(Node, self.name)
        if node is not None:
            for event in first_events(self.name, self.config.settings, self.cgroupfs.version, boot):
                record(api, node, event.kind, event.reason, event.message, "kubelet")

    def _post_again(self, api: APIServer) -> None:
        """Post the node's status after a start of its kubelet, and record its events. Source: tryRegisterWithAPIServer.

        The event Rebooted follows from the boot ID of the stored status.
        """
        stored: Node = api.store.get(Node, self.name)
        status, fresh = stored.status, self.register(api.store.now()).status
        rebooted = (status.node_info or {}).get("bootID") != self._boot_id()
        status.capacity, status.allocatable, status.node_info = fresh.capacity, fresh.allocatable, fresh.node_info
        api.update_status(stored)
        self.registered(api, self._boot_id() if rebooted else "")

    def shutdown(self) -> None:
        """Shut the machine of a simulated node down.

        Raises:
            KitError: the node runs in a container.
        """
        raise KitError(
            f"node {self.name}: a node in a container cannot be shut down, because no systemd announces the shutdown "
            "to its kubelet; remove the node, or use a simulated node"
        )

    cancel_shutdown = shutdown

    def tree(self) -> CgroupTree:
        """Return the tree read back from the files, with the desired tree's titles and reasons."""
        wanted = self.desired()
        return with_reasons(described(self.cgroupfs.tree(wanted.driver, like=wanted), wanted), wanted, self.origin)

    def differences(self) -> list[Difference]:
        """Return the differences between the files and the tree that the kubelet wants."""
        return self.desired().diff(self.tree())

    def read(self, path: str, file: str) -> str:
        """Return the content of a cgroup file."""
        return str(self.cgroupfs.read(path, file))

    @abstractmethod
    def timeline(self) -> list[TimelineEntry]:
        """Return the kubelet's actions with times and reasons, oldest first."""

    def cgroup_changes(self) -> list[tuple[float, str, str]]:
        """Return (seconds, cgroup, file) of each write that the kubelet recorded; "" as file = made or removed."""
        return [
            (step.time, step.about, file)
            for step in self.timeline()
            if step.about.startswith("/")
            for file in ("", *step.files())
        ]

    def write(self, path: str, file: str, value: str) -> None:
        """Write a cgroup file by hand.

        Raises:
            KitError: the kernel rejects the write.
        """
        owner = self._owner_of(path)
        self.cgroupfs.write(path, file, str(value))
        self._record("write", node=self.name, path=path, file=file, value=str(value), **owner)

    def _owner_of(self, path: str) -> dict[str, str]:
        """Return the fields that identify a cgroup in the journal besides its path."""
        return {}


def described(observed: CgroupTree, desired: CgroupTree) -> CgroupTree:
    """Return an observed tree with the titles of cgroups and the reasons of files from the desired one."""

    def known(cgroup: Cgroup) -> Cgroup:
        twin = desired.get(cgroup.path)
        if twin is None:
            return cgroup
        files = {n: f._replace(why=twin[n].why, written=twin[n].written) if n in twin else f for n, f in cgroup.items()}
        return replace(twin, files=files)

    return CgroupTree(observed.version, observed.driver, map(known, observed.values()))
