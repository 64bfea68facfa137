"""API server, controllers and scheduler over nodes that work by themselves, on the machine's time.

They are those of the simulated cluster; they act whenever the cluster is asked for something or time is waited for, and
first take what the nodes have reported. The nodes come from the process that runs this: the user's own
(`DockerCluster`) or one in a container of its own (`kitlib.cluster.control_plane.container`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from kitlib.api.core import Node
from kitlib.apiserver.admission.requester import kubelet, requested_by
from kitlib.apiserver.store.node_leases import Renewed
from kitlib.apiserver.store.store import WatchEvent
from kitlib.cluster.control_plane.local import LocalControlPlane
from kitlib.cluster.control_plane.options import ClusterOptions
from kitlib.cluster.control_plane.polling import TICK, PollingCluster, RealClock
from kitlib.cluster.exclusive import exclusive
from kitlib.cluster.nodes.container import ContainerNode, container_node_config
from kitlib.cluster.nodes.node_object import node_object
from kitlib.cluster.nodes.plan import NodePlan


class RealTimeCluster(PollingCluster, LocalControlPlane[ContainerNode]):
    """A cluster of nodes that report by themselves; `_make_node` says how to get one.

    Args:
        options: of the cluster.
        clock: one that has begun already; None = a new one.
    """

    clock: RealClock

    def __init__(self, options: ClusterOptions, clock: RealClock | None = None) -> None:
        super().__init__(options, clock or RealClock(), TICK)

    def _prospective_node(self, one: NodePlan) -> Node:
        return node_object(one, container_node_config(one, self.release), self.now())

    def _on_store_change(self, event: WatchEvent) -> None:
        if isinstance(event.object, Node) and event.type == "DELETED":
            node = self._nodes.get(event.object.name)
            if node is not None:
                node.close()
        super()._on_store_change(event)

    def _renewals(self, node: ContainerNode) -> Renewed | None:
        return lambda: node.link.renewed

    def _pause(self, seconds: float) -> None:
        time.sleep(seconds)
        self.run_for(0.0)

    def let_time_pass(self, seconds: float) -> None:
        """Time passes by itself here: take what has been reported and act on it."""
        self.settle()

    @exclusive
    def refresh(self) -> None:
        """Take what the nodes have reported since the last time, and let controllers and scheduler act on it."""
        if self._settling or self._closed:
            return
        if self._take_reports() or self.controllers.is_due():
            super().settle()

    @exclusive
    def settle(self) -> None:
        """As far as it goes without time passing; what the nodes have reported counts."""
        if not self._settling:
            self._take_reports()
        super().settle()

    def _take_reports(self) -> bool:
        """Whether the nodes had anything to report."""
        found = False
        for name, node in list(self._nodes.items()):
            with requested_by(kubelet(name)):
                found |= node.take_reports(self.api)
        if found:  # a node that is back wants its pods, though no object has changed
            self._settled = -1
        return found

    @property
    def fidelity(self) -> dict[str, Sequence[str]]:
        """Node -> where it cannot be what it should."""
        return {name: node.fidelity for name, node in self._nodes.items()}
