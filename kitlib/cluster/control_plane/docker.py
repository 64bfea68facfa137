"""A cluster of real nodes: each is a container of its own with the kubelet inside; time is the machine's.

API server, controllers and scheduler are those of the simulated cluster and run in this process; they act whenever the
cluster is asked for something or time is waited for. The nodes work on by themselves in between. When this process
ends, in whatever way, the containers end too. Usually the control plane has a container of its own
(`kitlib.cluster.control_plane.container`); here it stands because of what only this process can do, or because it was
asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from kitlib.api.release import Release
from kitlib.cluster.control_plane.realtime import RealTimeCluster
from kitlib.cluster.nodes.container import ContainerNode, container_node_config
from kitlib.cluster.nodes.plan import NodePlan, plan
from kitlib.cluster.nodes.provision import Provisioner, Show, start_all
from kitlib.node.real.container import Privilege


class DockerCluster(RealTimeCluster):
    """Made by `Cluster.docker(control_plane="process")`.

    Args:
        nodes: as for `Cluster.simulated`. What the engine cannot give is said in `node.fidelity`.
        release, feature_gates, seed, scheduler, plugins: as for `Cluster.simulated`.
        privilege: "least" (the smallest set that can own cgroups) or "full" (`--privileged`).
        image: an image to run; "" = the kit's own, which is built where it is not there.
        progress: called with the number of nodes that are up and of those that were asked for; None = a bar where
            standard error is a terminal.
        autoscaler, gate_manager: as for `Cluster.simulated`.
        common: what holds for all nodes: cpus, memory, kubelet, labels, taints, ….

    Raises:
        KitError: where no engine answers, the image cannot be built, or a node does not start; then nothing is left.
    """

    def __init__(
        self,
        nodes: Any = 1,
        *,
        release: str | Release | None = None,
        feature_gates: dict[str, bool] | None = None,
        seed: int | None = None,
        scheduler: Any = None,
        plugins: Sequence[Any] = (),
        privilege: Privilege = "least",
        image: str = "",
        progress: Show | None = None,
        autoscaler: Any = None,
        gate_manager: Any = None,
        **common: Any,
    ) -> None:
        followed = Release.of(release, feature_gates)
        plans = plan(nodes, **common)
        self.release = followed
        for one in plans:
            container_node_config(one, followed)  # what cannot be is said before anything is started
        self._provisioner = Provisioner(privilege, image)
        self._started: dict[str, ContainerNode] = {}
        try:
            self._provisioner.prepare()
            self._started = {made.name: made for made in start_all(plans, self._begin, progress)}
            super().__init__(
                plans,
                release=followed,
                seed=seed,
                scheduler=scheduler,
                plugins=plugins,
                autoscaler=autoscaler,
                gate_manager=gate_manager,
            )
        except BaseException:
            self.close()
            raise
        self._common = common

    def _begin(self, one: NodePlan, number: int) -> ContainerNode:
        """Start one node's container and its kubelet."""
        config = container_node_config(one, self.release)
        made, notes = self._provisioner.begin(one, config, number)
        return ContainerNode(one, config, made, self._record, notes)

    def _make_node(self, one: NodePlan) -> Any:
        ready = self._started.pop(one.name, None)
        return ready if ready is not None else self._begin(one, len(self._nodes))

    def close(self) -> None:
        """End all nodes; nothing of them is left. The objects can still be read."""
        if self._closed:
            return
        self._closed = True
        self._provisioner.close()
        with suppress(AttributeError):
            self._nodes.clear()
