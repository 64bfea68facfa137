"""A cluster of real nodes, each a container with a kubelet inside, in real time.

API server, controllers and scheduler are those of the simulated cluster and run in this process. They act during each
call on the cluster and while it waits; the nodes work by themselves in between. When this process ends, in whatever
way, the containers end too. By default the control plane has a container of its own
(`kitlib.cluster.control_plane.container`). It runs here for options that need this process, or on request.
"""

from __future__ import annotations

from kitlib.cluster.control_plane.options import ClusterOptions
from kitlib.cluster.control_plane.realtime import RealTimeCluster
from kitlib.cluster.nodes.container import ContainerNode, container_node_config, free_number
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.cluster.nodes.provisioner import Provision, start_all


class DockerCluster(RealTimeCluster):
    """A cluster made by `Cluster.docker(control_plane="process")`.

    Args:
        options: the options of the cluster.
        provision: the options of the nodes' containers.

    Raises:
        KitError: no engine answers, the image cannot be built, or a node does not start. Nothing is left running.
    """

    def __init__(self, options: ClusterOptions, provision: Provision) -> None:
        self.release = options.release
        for one in options.nodes:
            container_node_config(one, options.release)  # impossible settings are reported before anything is started
        self._provisioner = provision.provisioner()
        self._started: dict[str, ContainerNode] = {}
        try:
            self._provisioner.prepare()
            nodes = start_all(options.nodes, self._start_node, provision.progress)
            self._started = {node.name: node for node in nodes}
            super().__init__(options)
        except BaseException:
            self.close()
            raise

    def _start_node(self, node_plan: NodePlan, number: int) -> ContainerNode:
        """Start one node's container and its kubelet."""
        config = container_node_config(node_plan, self.release)
        made, notes = self._provisioner.begin(node_plan, config, number)
        return ContainerNode(node_plan, config, made, self.record_action, notes, number=number)

    def _make_node(self, node_plan: NodePlan) -> ContainerNode:
        ready = self._started.pop(node_plan.name, None)
        if ready is not None:
            return ready
        return self._start_node(node_plan, free_number(node.facts for node in self._nodes.values()))

    def close(self) -> None:
        """End and remove all nodes. The objects can still be read."""
        if self._closed:
            return
        self._stop_serving()
        self._closed = True
        self._provisioner.close()
        self._forget_nodes()
