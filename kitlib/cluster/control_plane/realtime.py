"""API server, controllers and scheduler over nodes that work by themselves, in real time.

The control plane is that of the simulated cluster. It acts during each call and while it waits, and first processes the
nodes' new reports. It runs in the user's process (`DockerCluster`) or in a container of its own
(`kitlib.cluster.control_plane.container`).
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
from kitlib.cluster.control_plane.polling import PollingCluster
from kitlib.cluster.control_plane.real_clock import TICK, RealClock
from kitlib.cluster.exclusive import exclusive
from kitlib.cluster.nodes.container import ContainerNode, container_node_config
from kitlib.cluster.nodes.node_object import node_object
from kitlib.cluster.nodes.plan import NodePlan


class RealTimeCluster(PollingCluster, LocalControlPlane[ContainerNode]):
    """A cluster of nodes that report by themselves; `_make_node` provides them.

    Args:
        options: the options of the cluster.
        clock: a clock that is already running; None = a new one.
    """

    clock: RealClock

    def __init__(self, options: ClusterOptions, clock: RealClock | None = None) -> None:
        super().__init__(options, clock or RealClock(), TICK)

    def _prospective_node(self, node_plan: NodePlan) -> Node:
        return node_object(node_plan, container_node_config(node_plan, self.release), self.now())

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
        """Process new reports; time advances by itself here."""
        self.settle()

    @exclusive
    def refresh(self) -> None:
        """Process the nodes' new reports and run controllers and scheduler on them."""
        if self._settling or self._closed:
            return
        self._expire()  # also of a cluster that is only asked, for which no time is waited
        if self._take_reports() or self.controllers.is_due():
            super().settle()

    @exclusive
    def settle(self) -> None:
        """Process the nodes' reports and run controllers and scheduler until nothing is left to do now."""
        if not self._settling:
            self._take_reports()
        super().settle()

    def _take_reports(self) -> bool:
        """Process the reports of all nodes; return whether there were any."""
        found = False
        for name, node in list(self._nodes.items()):
            with requested_by(kubelet(name)):
                found |= node.take_reports(self.api)
        if found:  # a node that is back needs its pods, although no object has changed
            self._settled = -1
        return found

    @property
    def fidelity(self) -> dict[str, Sequence[str]]:
        """The differences of each node from the declared machine, as sentences by name."""
        return {name: node.fidelity for name, node in self._nodes.items()}
