"""A cluster on the simulated kernel: API server, controllers, scheduler and kubelets in one process, on virtual time.

Nothing happens by itself: `apply` lets everything settle at the present instant, `advance` moves the clock, a tick at a
time. The same actions always lead to the same state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kitlib.api.core import Node, Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.errors import KitError, NotFound
from kitlib.api.release import Release
from kitlib.api.serialize import deepcopy
from kitlib.cluster.apiserver import APIServer
from kitlib.cluster.autoscaler import Autoscaler
from kitlib.cluster.clock import START, VirtualClock
from kitlib.cluster.cluster import Cluster
from kitlib.cluster.controllers import reconcile
from kitlib.cluster.gate_manager import GateManager
from kitlib.cluster.hollow import HollowNode
from kitlib.cluster.live import LiveNode
from kitlib.cluster.nodes import NodePlan, from_node, plan
from kitlib.cluster.scheduling import ClusterScheduler
from kitlib.cluster.still import StillNode
from kitlib.cluster.store import WatchEvent
from kitlib.kubelet.cgroup_tree import Version
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.profile import Profile

TICK = 1.0
_ROUNDS = 100


class SimulatedCluster(Cluster):
    """Made by `Cluster.simulated`.

    Args:
        nodes: a number, specifications, or Node manifests (see `kitlib.cluster.nodes`).
        release: the Kubernetes release, "1.36"; None = the newest.
        feature_gates: set on top of the release's defaults.
        seed: of UIDs, generated names, and the scheduler's choice between equal nodes; None takes the first by name.
        kubelets: False makes hollow nodes: no kernel, no cgroups; for scheduling alone. "still" makes nodes with cgroup
            files, but without processes in them.
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
        kubelets: bool | str = True,
        cgroup_version: Version = 2,
        start: datetime = START,
        tick: float = TICK,
        scheduler: Profile | Mapping[str, Any] | bool | None = None,
        plugins: Sequence[Any] = (),
        autoscaler: Autoscaler | Mapping[str, Any] | None = None,
        gate_manager: GateManager | Mapping[str, Any] | None = None,
        **common: Any,
    ) -> None:
        followed = Release.of(release, feature_gates)
        if tick <= 0:
            raise KitError(f"tick: {tick!r} must be greater than 0 seconds")
        self.clock = self._clock(start)
        super().__init__(APIServer(self.clock.now, seed or 0, followed), followed)
        self._tick, self._kubelets, self._common = tick, kubelets, common
        self._version = cgroup_version
        self._machines: dict[str, Any] = {}
        self._by_node: dict[str, dict[tuple[str, str], Pod]] = {}
        self._settling, self._settled = False, -1
        self._gates = GateManager.of(**gate_manager) if isinstance(gate_manager, Mapping) else gate_manager
        if self._gates is not None:
            self.api.mutators.append(self._gates.mutate)
        self._autoscaler = Autoscaler.of(autoscaler)
        self.scheduler: ClusterScheduler | None = None
        if scheduler is not False:
            wanted = None if scheduler is True else scheduler
            self.scheduler = ClusterScheduler(
                self.api, followed, wanted, seed, lambda: self.clock.seconds, tuple(plugins)
            )
        self.api.store.subscribe(self._heard)
        with self.api.store.transaction():
            for one in plan(nodes, **common):
                self._add(one)
        self.settle()

    def _clock(self, start: datetime) -> Any:
        """The clock that scheduler and statuses go by."""
        return VirtualClock(start)

    # Nodes.

    def node(self, name: str = "") -> Any:
        """The machine behind a Node object; the name may be left out where there is only one."""
        if not name and len(self._machines) == 1:
            return next(iter(self._machines.values()))
        if name not in self._machines:
            raise NotFound("nodes", name)
        return self._machines[name]

    def add_nodes(self, nodes: Any, **common: Any) -> list[Node]:
        """More nodes, as for `Cluster.simulated(nodes=…)`; the Node objects that they register.

        Raises:
            KitError: also where a name is taken.
        """
        plans = plan(nodes, **{**self._common, **common})
        for one in plans:
            if one.name in self._machines:
                raise KitError(f'nodes "{one.name}" already exists')
        for one in plans:
            self._add(one)
        self.settle()
        return [self.api.store.get(Node, one.name) for one in plans]

    def _add(self, one: NodePlan) -> None:
        machine = self._machine(one)
        self._machines[one.name] = machine
        self.api.create(machine.register(self.now()))

    def _would_be(self, one: NodePlan) -> Node:
        """The Node object that a plan would become."""
        node: Node = self._machine(one).register(self.now())
        return node

    def _machine(self, one: NodePlan) -> Any:
        if not self._kubelets:
            return HollowNode(one)
        kind = StillNode if self._kubelets == "still" else LiveNode
        return kind(one, self.release, one.cgroup_version or self._version, self._record)

    def _heard(self, event: WatchEvent) -> None:
        """Keep up with what the store says: which pods stand on which node, which nodes come and go."""
        obj = event.object
        if isinstance(obj, Pod):
            key = (obj.namespace, obj.name)
            if event.type == "DELETED" or not obj.spec.node_name:
                self._by_node.get(obj.spec.node_name, {}).pop(key, None)
            else:
                self._by_node.setdefault(obj.spec.node_name, {})[key] = obj
        elif isinstance(obj, Node):
            if event.type == "DELETED":
                self._machines.pop(obj.name, None)
            elif event.type == "ADDED" and obj.name not in self._machines:
                self._machines[obj.name] = self._machine(from_node(obj))

    # Scheduling.

    def decision(self, name: str, namespace: str = "default") -> Decision:
        """What the scheduler thought about a pod when it last tried it.

        Raises:
            NotFound: where there is no such pod. KitError: where it was never tried.
        """
        pod = self.pod(name, namespace)
        found = self.scheduler.decisions.get(pod.metadata.uid) if self.scheduler is not None else None
        if found is None:
            raise KitError(f'pods "{name}": the scheduler has not tried it: {self._why_not(pod)}')
        return found

    def _why_not(self, pod: Pod) -> str:
        if self.scheduler is None:
            return "this cluster has none (scheduler=False)"
        if pod.spec.scheduling_gates:
            return f"it has scheduling gates ({', '.join(g.name for g in pod.spec.scheduling_gates)})"
        if pod.spec.node_name:
            return f"its manifest names the node {pod.spec.node_name}"
        return f"no profile is called {pod.spec.scheduler_name!r}"

    def explain(self, pod: Pod | str, namespace: str = "default") -> Decision:
        """What the scheduler would decide for a pod now, the pod's own place left out; nothing is changed."""
        if self.scheduler is None:
            raise KitError("this cluster has no scheduler (scheduler=False)")
        wanted = self.pod(pod, namespace) if isinstance(pod, str) else set_defaults(deepcopy(pod))
        return self.scheduler.explain(wanted)

    # Time.

    def settle(self) -> None:
        """Controllers, scheduler and kubelets do what they can do now, until none of them finds anything to do."""
        idle = self.api.store.version == self._settled
        if self._settling or (idle and not (self.scheduler is not None and self.scheduler.due())):
            return
        self._settling = True
        try:
            for _ in range(_ROUNDS):
                before = self.api.store.version
                reconcile(self.api)
                if self._gates is not None:
                    self._gates.sync(self.api)
                if self.scheduler is not None:
                    self.scheduler.sync()
                for name, machine in list(self._machines.items()):
                    pods = self._by_node.get(name)
                    if pods is not None:  # empty, once the last pod has gone: its containers must end
                        machine.sync(self.api, list(pods.values()))
                if self.api.store.version == before:
                    break
        finally:
            self._settling = False
        self._settled = self.api.store.version

    def advance(self, seconds: float) -> None:
        """Let time pass: kernels run, kubelets look, the scheduler's back-offs end.

        Raises:
            KitError: for a time that is negative or no number.
        """
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 <= seconds < float("inf"):
            raise KitError(f"advance: {seconds!r} is no number of seconds")
        self._record("advance", seconds=seconds)
        left = float(seconds)
        while left > 1e-9:
            part = min(self._tick, left)
            left -= part
            self._pass(part)

    def step(self) -> None:
        """One tick."""
        self.advance(self._tick)

    def _pass(self, seconds: float) -> None:
        self.clock.move(seconds)
        for machine in list(self._machines.values()):
            machine.advance(seconds)
        if self._autoscaler is not None and self.scheduler is not None:
            seconds_now = self.clock.seconds
            self._autoscaler.sync(self.api, self.scheduler, seconds_now, self._would_be, self._add)
        self.settle()

    def close(self) -> None:
        """Forget the nodes; the objects can still be read."""
        self._machines.clear()
