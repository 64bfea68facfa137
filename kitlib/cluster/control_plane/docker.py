"""A cluster of real nodes: each is a container of its own with the kubelet inside; time is the machine's.

API server, controllers and scheduler are those of the simulated cluster and run in this process; they act whenever the
cluster is asked for something or time is waited for. The nodes work on by themselves in between. When this process
ends, in whatever way, the containers end too. Usually the control plane has a container of its own
(`kitlib.cluster.control_plane.container`); it is here because of what only this process can do, or because it was
asked for.
"""

from __future__ import annotations

from kitlib.cluster.control_plane.options import ClusterOptions
from kitlib.cluster.control_plane.realtime import RealTimeCluster
from kitlib.cluster.nodes.container import ContainerNode, container_node_config
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.cluster.nodes.provisioner import Provision, start_all


class DockerCluster(RealTimeCluster):
    """Made by `Cluster.docker(control_plane="process")`.

    Args:
        options: of any cluster.
        provision: how the nodes' containers are made.

    Raises:
        KitError: where no engine answers, the image cannot be built, or a node does not start; then nothing is left.
    """

    def __init__(self, options: ClusterOptions, provision: Provision) -> None:
        self.release = options.release
        for one in options.nodes:
            container_node_config(one, options.release)  # what cannot be is said before anything is started
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

    def _start_node(self, one: NodePlan, number: int) -> ContainerNode:
        """Start one node's container and its kubelet."""
        config = container_node_config(one, self.release)
        made, notes = self._provisioner.begin(one, config, number)
        return ContainerNode(one, config, made, self._record, notes)

    def _make_node(self, one: NodePlan) -> ContainerNode:
        ready = self._started.pop(one.name, None)
        return ready if ready is not None else self._start_node(one, len(self._nodes))

    def close(self) -> None:
        """End all nodes; nothing of them is left. The objects can still be read."""
        if self._closed:
            return
        self._stop_serving()
        self._closed = True
        self._provisioner.close()
        self._forget_nodes()
