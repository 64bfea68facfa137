"""API server, controllers and scheduler over nodes that work by themselves, on the machine's time.

They are those of the simulated cluster; they act whenever the cluster is asked for something or time is waited for, and
first take what the nodes have reported. Where the nodes come from is the business of whoever runs this: the user's own
process (`DockerCluster`) or a container of its own (`kitlib.cluster.control_plane.container`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kitlib.api.core import Node
from kitlib.cluster.control_plane.local import LocalControlPlane
from kitlib.cluster.control_plane.polling import TICK, PollingCluster, RealClock
from kitlib.cluster.nodes.container import container_node_config
from kitlib.cluster.nodes.node_object import node_object
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.cluster.store.store import WatchEvent


class RealTimeCluster(PollingCluster, LocalControlPlane):
    """A cluster of nodes that report by themselves; `_make_node` says how to get one.

    Args:
        nodes, settings: as for `LocalControlPlane`.
        clock: one that has begun already.
    """

    _closed = False

    def __init__(self, nodes: Any, *, clock: RealClock | None = None, **settings: Any) -> None:
        super().__init__(nodes, clock=clock or RealClock(), tick=TICK, **settings)

    def _prospective_node(self, one: NodePlan) -> Node:
        return node_object(one, container_node_config(one, self.release), self.now())

    def _on_store_change(self, event: WatchEvent) -> None:
        if isinstance(event.object, Node) and event.type == "DELETED":
            machine = self._nodes.get(event.object.name)
            if machine is not None:
                machine.close()
        super()._on_store_change(event)

    def _pause(self, seconds: float) -> None:
        self.run_for(seconds)

    def let_time_pass(self, seconds: float) -> None:
        """Time passes by itself here: take what has been reported and act on it."""
        self.settle()

    def refresh(self) -> None:
        """Take what the nodes have reported since the last time, and let controllers and scheduler act on it."""
        if self._settling or self._closed:
            return
        some = [machine.take_reports(self.api) for machine in list(self._nodes.values())]
        if any(some):
            super().settle()

    def settle(self) -> None:
        """As far as it goes without time passing; what the nodes have reported counts."""
        if not self._settling:
            for machine in list(self._nodes.values()):
                machine.take_reports(self.api)
        super().settle()

    @property
    def fidelity(self) -> dict[str, Sequence[str]]:
        """Node -> where it cannot be what it should."""
        return {name: machine.fidelity for name, machine in self._nodes.items()}
