"""The options of a cluster, checked in one place and frozen, so that all of its parts see the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kitlib.api.clock import EPOCH
from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.cluster.nodes.plan import NodePlan, Nodes, plan
from kitlib.kubelet.cm.cgroup_tree import Version

if TYPE_CHECKING:
    from kitlib.cluster.control_plane.autoscaler import Autoscaler
    from kitlib.controllers.gate_manager import GateManager
    from kitlib.scheduler.profile import Profile


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """The options of clusters of every kind.

    Attributes:
        nodes: the plans of the first nodes.
        node_defaults: the defaults of all nodes, also of those added later.
        release: the Kubernetes release that the cluster behaves like, with its feature gates.
        seed: the seed of UIDs, generated names, and the scheduler's choice between equal nodes; None = the first name.
        scheduler: a profile or a KubeSchedulerConfiguration; None = the defaults, False = no scheduler.
        controllers: whether kube-controller-manager runs; False = only the controllers of the API server, for a cluster
            whose objects another program reconciles.
        plugins: custom scheduler plugins, which the configuration names.
        autoscaler: adds nodes for unschedulable pods: `{"zones": ["c"], "node": {"cpus": 4}, "after": 30}`.
        gate_manager: a quota manager by scheduling gates, or its arguments: `{"hard": {"cpu": "4"}}`.
    """

    nodes: tuple[NodePlan, ...] = ()
    node_defaults: Mapping[str, object] = field(default_factory=dict)
    release: Release = field(default_factory=Release.followed)
    seed: int | None = None
    scheduler: Profile | Mapping[str, Any] | bool | None = None
    controllers: bool = True
    plugins: tuple[object, ...] = ()
    autoscaler: Autoscaler | Mapping[str, Any] | None = None
    gate_manager: GateManager | Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls,
        nodes: Nodes = 1,
        *,
        release: str | Release | None = None,
        feature_gates: Mapping[str, bool] | None = None,
        seed: int | None = None,
        scheduler: Profile | Mapping[str, Any] | bool | None = None,
        controllers: bool = True,
        plugins: Sequence[object] = (),
        autoscaler: Autoscaler | Mapping[str, Any] | None = None,
        gate_manager: GateManager | Mapping[str, Any] | None = None,
        **node_defaults: object,
    ) -> ClusterOptions:
        """Return the options for these arguments.

        Args:
            nodes: a number, specifications, or Node manifests (see `kitlib.cluster.nodes.plan`).
            release: the Kubernetes release, "1.37"; None = the newest.
            feature_gates: the feature gates that override the release's defaults.
            seed: the seed of random choices, see the attribute.
            scheduler: the scheduler's configuration, see the attribute.
            controllers: whether kube-controller-manager runs.
            plugins: custom scheduler plugins.
            autoscaler: the autoscaler or its arguments.
            gate_manager: the quota manager or its arguments.
            node_defaults: cpus, memory, kubelet, labels, taints, ….

        Raises:
            KitError: an argument is invalid; the error names it.
        """
        if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
            raise KitError(f"seed: must be a whole number or None, got {seed!r}")
        made = cls(
            nodes=tuple(plan(nodes, (), **node_defaults)),
            node_defaults=dict(node_defaults),
            release=Release.of(release, feature_gates),
            seed=seed,
            scheduler=scheduler,
            controllers=controllers,
            plugins=tuple(plugins),
            autoscaler=autoscaler,
            gate_manager=gate_manager,
        )
        made.make_autoscaler()
        made.make_gate_manager()
        return made

    def make_autoscaler(self) -> Autoscaler | None:
        """Return a new autoscaler; None without one.

        Raises:
            KitError: an argument is unknown.
        """
        if self.autoscaler is None:
            return None
        from kitlib.cluster.control_plane.autoscaler import Autoscaler

        return Autoscaler.of(self.autoscaler)

    def make_gate_manager(self) -> GateManager | None:
        """Return the quota manager; None without one.

        Raises:
            KitError: an argument is unknown.
        """
        if not isinstance(self.gate_manager, Mapping):
            return self.gate_manager
        from kitlib.controllers.gate_manager import GateManager

        try:
            return GateManager.of(**self.gate_manager)
        except TypeError as error:
            raise KitError(f"gate_manager: {error}") from error


SHORTEST_TICK = 0.001
"""The minimum of `tick` in seconds."""


@dataclass(frozen=True, kw_only=True)
class SimulationOptions:
    """The options of simulated clusters.

    Attributes:
        kubelets: whether nodes have kubelets and kernels; False = hollow nodes without cgroups, for scheduling alone.
        cgroup_version: the cgroup version of the simulated kernels, 1 or 2.
        start: the date at which the cluster begins.
        tick: the seconds between two steps while time advances.

    Raises:
        KitError: an argument is invalid; the error names it.
    """

    kubelets: bool = True
    cgroup_version: Version = 2
    start: datetime = EPOCH
    tick: float = 1.0

    def __post_init__(self) -> None:
        if self.kubelets not in (True, False):
            raise KitError(f"kubelets: must be True or False, got {self.kubelets!r}")
        if self.cgroup_version not in (1, 2):
            raise KitError(f"cgroup_version: must be 1 or 2, got {self.cgroup_version!r}")
        if not isinstance(self.tick, int | float) or not self.tick >= SHORTEST_TICK:
            raise KitError(f"tick: must be at least {SHORTEST_TICK:g} seconds, got {self.tick!r}")
