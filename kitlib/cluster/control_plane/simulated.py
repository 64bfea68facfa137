"""A cluster on the simulated kernel: API server, controllers, scheduler and kubelets in one process, on virtual time.

Nothing happens by itself: `apply` lets everything settle at the present instant, `advance` moves the clock, a tick at a
time. The same actions always lead to the same state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kitlib.api.clock import EPOCH, VirtualClock
from kitlib.api.release import Release
from kitlib.cluster.control_plane.autoscaler import Autoscaler
from kitlib.cluster.control_plane.local import LocalControlPlane
from kitlib.cluster.controllers.gate_manager import GateManager
from kitlib.cluster.nodes.hollow import HollowNode
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.cluster.nodes.simulated import SimulatedNode
from kitlib.kubelet.cm.cgroup_tree import Version

if TYPE_CHECKING:
    from kitlib.scheduler.profile import Profile

TICK = 1.0


class SimulatedCluster(LocalControlPlane):
    """Made by `Cluster.simulated`.

    Args:
        nodes: a number, specifications, or Node manifests (see `kitlib.cluster.nodes.plan`).
        release: the Kubernetes release, "1.36"; None = the newest.
        feature_gates: set on top of the release's defaults.
        seed: of UIDs, generated names, and the scheduler's choice between equal nodes; None takes the first by name.
        kubelets: False makes hollow nodes: no kernel, no cgroups; for scheduling alone.
        cgroup_version: of the simulated kernels, 1 or 2.
        start: the date at which the cluster begins.
        tick: seconds between two looks at the cluster while time passes.
        scheduler: a profile or a KubeSchedulerConfiguration; None = the defaults, False = nobody schedules.
        plugins: scheduler plugins of the user's own, to be named in the configuration.
        autoscaler: adds nodes for pods that wait: `{"zones": ["c"], "node": {"cpus": 4}, "after": 30}`.
        gate_manager: a quota manager by scheduling gates, or its arguments: `{"hard": {"cpu": "4"}}`.
        common: what holds for all nodes: cpus, memory, kubelet, labels, taints, ….
    """

    def __init__(
        self,
        nodes: Any = 1,
        *,
        release: str | Release | None = None,
        feature_gates: dict[str, bool] | None = None,
        seed: int | None = None,
        kubelets: bool = True,
        cgroup_version: Version = 2,
        start: datetime = EPOCH,
        tick: float = TICK,
        scheduler: Profile | Mapping[str, Any] | bool | None = None,
        plugins: Sequence[Any] = (),
        autoscaler: Autoscaler | Mapping[str, Any] | None = None,
        gate_manager: GateManager | Mapping[str, Any] | None = None,
        **common: Any,
    ) -> None:
        self._kubelets, self._version = kubelets, cgroup_version
        super().__init__(
            nodes,
            release=Release.of(release, feature_gates),
            clock=VirtualClock(start),
            tick=tick,
            seed=seed,
            scheduler=scheduler,
            plugins=plugins,
            autoscaler=autoscaler,
            gate_manager=gate_manager,
            **common,
        )

    def _make_node(self, one: NodePlan) -> Any:
        if not self._kubelets:
            return HollowNode(one)
        return SimulatedNode(one, self.release, one.cgroup_version or self._version, self._record)
