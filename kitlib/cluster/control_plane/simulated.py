"""A cluster on the simulated kernel: API server, controllers, scheduler and kubelets in one process, in virtual time.

Nothing happens by itself: `apply` lets everything settle at the current time, `advance` moves the clock tick by tick.
The same actions always lead to the same state.
"""

from __future__ import annotations

from kitlib.api.clock import VirtualClock
from kitlib.cluster.control_plane.local import LocalControlPlane
from kitlib.cluster.control_plane.options import ClusterOptions, SimulationOptions
from kitlib.cluster.nodes.interfaces import KernelNode
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.cluster.nodes.simulated import SimulatedNode


class SimulatedCluster(LocalControlPlane[KernelNode]):
    """A cluster made by `Cluster.simulated`.

    Args:
        options: the options of the cluster.
        simulation: the options of simulated clusters.
    """

    clock: VirtualClock

    def __init__(self, options: ClusterOptions, simulation: SimulationOptions) -> None:
        self._simulation = simulation
        self._numbers: dict[str, int] = {}
        super().__init__(options, VirtualClock(simulation.start), simulation.tick)

    def _make_node(self, node_plan: NodePlan) -> KernelNode:
        number = self._numbers.setdefault(node_plan.name, len(self._numbers))  # a recreated node keeps its addresses
        if not self._simulation.kubelets:
            from kitlib.cluster.nodes.hollow import HollowNode

            return HollowNode(node_plan, self.release, number)
        version = node_plan.cgroup_version or self._simulation.cgroup_version
        return SimulatedNode(node_plan, self.release, version, self.record_action, number)
