"""API server, controllers and scheduler in one process: the common part of simulated and real clusters.

`settle` runs everything that can happen at the current time, `advance` lets time pass. The kinds of clusters define
their nodes and their clock.

Methods hold the cluster's lock if they are `exclusive`. `advance` is not: it releases the lock between two ticks, so
that other threads are served meanwhile.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

from kitlib.api.collector import full_collections_postponed
from kitlib.api.core import Node, Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.errors import AlreadyExists, KitError
from kitlib.api.guard import Guard, described
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.admission.requester import kubelet, requested_by
from kitlib.apiserver.store.events import expire, record
from kitlib.apiserver.store.node_leases import Renewed
from kitlib.apiserver.store.store import WatchEvent
from kitlib.cluster.base import Clock, check_seconds
from kitlib.cluster.control_plane.options import ClusterOptions
from kitlib.cluster.control_plane.verbs import LocalVerbs
from kitlib.cluster.control_plane.work_limit import WorkLimit
from kitlib.cluster.exclusive import exclusive
from kitlib.cluster.nodes.bound_pods import BoundPods
from kitlib.cluster.nodes.interfaces import KernelNode, NotOnThisNode
from kitlib.cluster.nodes.kubelets import asks_for_kubelet, node_of
from kitlib.cluster.nodes.plan import NodePlan, Nodes, from_node, plan
from kitlib.controllers.descriptors import descriptors_of
from kitlib.controllers.manager import ControllerManager

if TYPE_CHECKING:
    from kitlib.cluster.control_plane.scheduling import ClusterScheduler
    from kitlib.scheduler.decision import Decision

EXPIRE_EVERY = 60.0
"""The interval in seconds at which expired events are deleted."""
N = TypeVar("N", bound=KernelNode)


class LocalControlPlane(LocalVerbs, Generic[N]):
    """A cluster's control plane and its nodes.

    Args:
        options: the options of the cluster.
        clock: the clock of the scheduler and of timestamps.
        tick: the seconds between two steps while time advances.

    Attributes:
        controllers: the controllers of kube-controller-manager.
    """

    def __init__(self, options: ClusterOptions, clock: Clock, tick: float) -> None:
        self.clock = clock
        # Names and UIDs are always drawn from a seed; the scheduler gets None without one: no random choices.
        super().__init__(APIServer(clock.now, options.seed or 0, options.release), options.release)
        self.api.store.steady_now = clock.steady_now
        self._tick, self._options = tick, options
        self._nodes: dict[str, N] = {}
        # Nodes whose kubelet has not reported its start yet; the next settle does it.
        self._unannounced: list[N] = []
        self._by_node: dict[str, BoundPods] = {}
        self._unbound: set[tuple[str, str]] = set()
        # _settled: the store's version after the last settle. If it is unchanged, there may be nothing to do.
        self._settling, self._settled = False, -1
        self._next_expiry = EXPIRE_EVERY
        self._work_limit = WorkLimit()
        # Logs an exception of the work on a node, with a traceback the first time, and records an event on the Node.
        self._guard: Guard[str] = Guard("node", self._node_failed)
        self.controllers = ControllerManager(self.api, descriptors_of(manager=options.controllers))
        self.controllers.metrics = self._usages
        # The kit's quota manager by scheduling gates: it adds its gate at admission, and removes it while settling.
        self._gates = options.make_gate_manager()
        # `mutators` change new pods as webhooks do, `node_checks` reject Node objects before they are stored.
        if self._gates is not None:
            self.api.mutators.append(self._gates.mutate)
        self.api.node_checks.append(self._check_node)
        self._autoscaler = options.make_autoscaler()
        self._scheduler: ClusterScheduler | None = None
        # None = the default configuration, False = no scheduler, else the given configuration.
        self._configuration = None if options.scheduler is True else options.scheduler
        if self._configuration is not False and (self._configuration is not None or options.plugins):
            self.load()  # reports an invalid configuration now
        self.api.store.subscribe(self._on_store_change)
        with self.api.store.transaction():  # all nodes or none
            for node in options.nodes:
                self._add_node(node)
        self.settle()

    # Nodes.

    @exclusive
    def node(self, name: str = "") -> N:
        """Return the node behind a Node object; the name is optional if there is only one."""
        stored = bool(name) and self.api.store.find(Node, name, copy=False) is not None
        return node_of(self._nodes, name, stored=stored)

    @exclusive
    def runs_kubelet(self, name: str) -> bool:
        """Return whether the kit runs the kubelet of the Node object with this name.

        The name is enough: the machine is removed with its Node object, so a later object of the same name has none.
        """
        return name in self._nodes

    @exclusive
    def add_nodes(self, nodes: Nodes, **common: object) -> list[Node]:
        """Add nodes, as for `Cluster.simulated(nodes=…)`; return the Node objects that they register.

        Raises:
            KitError: an argument is invalid, or a name is already in use.
        """
        taken = [node.name for node in self.api.store.list(Node, copy=False)]
        plans = plan(nodes, taken, **{**self._options.node_defaults, **common})
        for one in plans:
            self._check_name_is_free(one)
        for one in plans:
            self._add_node(one)
        self.settle()
        return [self.api.store.get(Node, one.name) for one in plans]

    def _check_name_is_free(self, node_plan: NodePlan) -> None:
        if self.runs_kubelet(node_plan.name) or self.api.store.find(Node, node_plan.name, copy=False) is not None:
            raise AlreadyExists("nodes", node_plan.name)

    def _check_node(self, node: Node) -> None:
        """Reject a Node object that asks for a machine which cannot be made, before the object is stored."""
        if asks_for_kubelet(node) and not self.runs_kubelet(node.name):
            from_node(node)

    def _add_node(self, node_plan: NodePlan) -> None:
        self._check_name_is_free(node_plan)
        node = self._make_node(node_plan)
        # Before the object is created: its ADDED event would otherwise make a second machine.
        self._nodes[node_plan.name] = node
        self._unannounced.append(node)
        try:
            with requested_by(kubelet(node_plan.name)):
                self.api.create(node.register(self.now()))
        except BaseException:  # no machine without its object: it would keep the name
            self._nodes.pop(node_plan.name, None)
            self._unannounced.remove(node)
            raise

    def _prospective_node(self, node_plan: NodePlan) -> Node:
        """Return the Node object that a node of the plan would register; its machine is dropped, nothing is stored."""
        return self._make_node(node_plan).register(self.now())

    @abstractmethod
    def _make_node(self, one: NodePlan) -> N:
        """Make a node from its plan."""

    def _on_store_change(self, event: WatchEvent) -> None:
        """Update the pods of each node and the machines after a change of the store.

        A machine is removed with its Node object. A new object that asks for a kubelet gets a machine, which reports
        its start in the next settle, not in the current one. The pods of a removed node stay in `_by_node`, for a new
        node of the same name.
        """
        obj = event.object
        if isinstance(obj, Pod):
            key = (obj.namespace, obj.name)
            if event.type == "DELETED" or obj.spec.node_name:
                self._unbound.discard(key)
            else:
                self._unbound.add(key)
            if event.type == "DELETED" or not obj.spec.node_name:
                # The BoundPods stays, even if empty: the node must still end the containers of its last pod.
                if obj.spec.node_name in self._by_node:
                    self._by_node[obj.spec.node_name].remove(obj)
            else:
                self._by_node.setdefault(obj.spec.node_name, BoundPods()).put(obj)
        elif isinstance(obj, Node):
            if event.type == "DELETED":
                self._nodes.pop(obj.name, None)
                self.api.leases.drop(obj.name)
            elif event.type == "ADDED" and asks_for_kubelet(obj) and not self.runs_kubelet(obj.name):
                self._nodes[obj.name] = self._make_node(from_node(obj))
                self._unannounced.append(self._nodes[obj.name])
            if event.type == "ADDED" and self.runs_kubelet(obj.name):
                self.api.leases.keep(obj, self._renewals(self._nodes[obj.name]))

    def _renewals(self, node: N) -> Renewed | None:
        """Return a function that returns the last renewal of a node's Lease; None = the Lease is always renewed.

        None fits virtual time. Clusters in real time override this method.
        """
        return None

    def _usages(self) -> dict[tuple[str, str], Mapping[str, tuple[float, int]]]:
        """Return the current usage of every container, measured by the nodes; hollow nodes measure nothing."""
        found: dict[tuple[str, str], Mapping[str, tuple[float, int]]] = {}
        for node in self._nodes.values():
            try:
                found |= node.usages()
            except NotOnThisNode:
                continue
        return found

    @property
    def options(self) -> ClusterOptions:
        """The options of the cluster."""
        return self._options

    # Scheduling.

    @property
    def scheduler(self) -> ClusterScheduler | None:
        """The scheduler; None with `scheduler=False`."""
        self.load()
        return self._scheduler

    @exclusive
    def load(self) -> None:
        """Load the scheduler now; otherwise the first pod without a node loads it, which takes time.

        Raises:
            KitError: numpy is not available, as in a browser without network.
        """
        if self._scheduler is None and self._configuration is not False:
            try:
                from kitlib.cluster.control_plane.scheduling import ClusterScheduler
            except ModuleNotFoundError as error:
                if error.name != "numpy":
                    raise
                raise KitError(
                    "the scheduler requires numpy, which cannot be imported: install numpy, set spec.nodeName in each "
                    "pod, or create the cluster with scheduler=False"
                ) from error

            self._scheduler = ClusterScheduler(
                self.api,
                self.release,
                self._configuration or None,
                self._options.seed,
                lambda: self.clock.seconds,
                self._options.plugins,
            )

    def _schedule(self) -> None:
        if self._scheduler is None and self._configuration is not False:
            if not self._unbound:
                return
            self.load()
        if self._scheduler is not None:
            self._scheduler.sync()

    @exclusive
    def decision(self, name: str, namespace: str = "default") -> Decision:
        """Return the scheduler's last decision about a pod.

        Raises:
            NotFound: the pod does not exist.
            KitError: the scheduler has not tried the pod.
        """
        pod = self.pod(name, namespace)
        scheduler = self.scheduler
        found = scheduler.decisions.get(pod.metadata.uid) if scheduler is not None else None
        if found is None:
            raise KitError(f'pods "{name}": the scheduler has not tried to schedule this pod: {self._why_not(pod)}')
        return found

    def _why_not(self, pod: Pod) -> str:
        if self._configuration is False:
            return "this cluster has none (scheduler=False)"
        if pod.spec.scheduling_gates:
            return f"it has scheduling gates ({', '.join(g.name for g in pod.spec.scheduling_gates)})"
        if pod.spec.node_name:
            return f"its manifest names the node {pod.spec.node_name}"
        if pod.spec.resource_claims and self._scheduler is not None:
            gate = self._scheduler.pre_enqueue(pod)
            if not gate.ok:
                return gate.message
        # Also the answer if a PreEnqueue plugin other than those above holds the pod.
        return f"no profile is called {pod.spec.scheduler_name!r}"

    @exclusive
    def explain(self, pod: Pod | str, namespace: str = "default") -> Decision:
        """Return the decision that the scheduler would make for a pod now; nothing is changed.

        A pod that has a node is treated as if it had none, and without its own usage.
        """
        scheduler = self.scheduler
        if scheduler is None:
            raise KitError("this cluster has no scheduler, because it was created with scheduler=False")
        wanted = self.pod(pod, namespace) if isinstance(pod, str) else set_defaults(deepcopy(pod))
        return scheduler.explain(wanted)

    # Time.

    @exclusive
    def settle(self) -> None:
        """Run controllers, scheduler and kubelets until none of them has anything to do at the current time.

        If they undo each other's work forever, the rounds stop, and the log names the objects that still change.
        """
        idle = self.api.store.version == self._settled and not self.controllers.is_due()
        # Plugins and webhooks may call methods that settle; the rounds at hand handle their writes.
        if self._settling or (idle and not (self._scheduler is not None and self._scheduler.due())):
            return
        self._settling = True
        try:
            with full_collections_postponed():
                self._settle()
        finally:
            self._settling = False
        self._settled = self.api.store.version

    def _settle(self) -> None:
        for node in self._unannounced:
            with requested_by(kubelet(node.name)):
                self._post_status(node)
                node.registered(self.api)
        self._unannounced.clear()
        # The limit is per second of the cluster's time. It is never 0, so `before` is always set below.
        for _ in range(self._work_limit.rounds(self.clock.seconds)):
            before = self.api.store.version
            self.controllers.run()
            if self._gates is not None:
                self._gates.sync(self.api)
            self._schedule()
            for name, node in list(self._nodes.items()):
                pods = self._by_node.get(name)
                if pods is not None:  # also when it is empty: the containers of the last pod must end
                    try:
                        with requested_by(kubelet(name)):
                            node.sync(self.api, pods)
                    except Exception as error:
                        # The changes were taken already; the next sync must see all pods again.
                        pods.repeat()
                        self._guard.caught(name, error)
            if self.api.store.version == before:
                return
            if self.controllers.is_restless:  # the controllers have used up their own limit of rounds
                break
        self._work_limit.used_up(self.clock.seconds, self.api.store.changes(before))

    def _post_status(self, node: N) -> None:
        """Post the kubelet's status of a machine made for an existing Node object.

        Such an object has no Ready condition. A node that registered itself has one, so nothing is posted.

        Source: updateNodeStatus.
        """
        stored: Node | None = self.api.store.find(Node, node.name)
        if stored is not None and not any(condition.type == "Ready" for condition in stored.status.conditions):
            stored.status = node.register(self.now()).status
            self.api.update_status(stored)

    def advance(self, seconds: float) -> None:
        """Let time pass: kernels run, kubelets sync, the scheduler's back-offs end.

        Raises:
            KitError: the time is not a non-negative number, or too long.
        """
        check_seconds(seconds)
        self._check_open()
        self.record_action("advance", seconds=seconds)
        left = float(seconds)
        # A remainder below a nanosecond is a rounding error of the subtractions.
        while left > 1e-9:
            part = min(self._tick, left)
            left -= part
            self.run_for(part)

    @exclusive
    def let_time_pass(self, seconds: float) -> None:
        """Advance by one step of a server that keeps time; equal steps in succession are one entry of the journal."""
        # A replay must not record its own steps again. `advance` records itself with `record_action`.
        if seconds and self.journal.is_open and not self._replaying:
            self.journal.step(seconds)
        self.run_for(seconds)

    def step(self) -> None:
        """Advance by one tick."""
        self.advance(self._tick)

    @exclusive
    def run_for(self, seconds: float) -> None:
        """Run the clock, the nodes and the control plane for these seconds, without an entry in the journal."""
        self.clock.move(seconds)
        for name, node in list(self._nodes.items()):
            try:
                with requested_by(kubelet(name)):
                    node.advance(seconds)
            except Exception as error:
                self._guard.caught(name, error)
        # The autoscaler alone does not load the scheduler: without an unbound pod it has nothing to do.
        if self._autoscaler is not None and self._scheduler is not None:
            seconds_now = self.clock.seconds
            self._autoscaler.sync(self.api, self._scheduler, seconds_now, self._prospective_node, self._add_node)
        self._expire()
        self.settle()

    def _expire(self) -> None:
        """Once a minute, delete old events and forget old changes."""
        if self.clock.seconds >= self._next_expiry:
            self._next_expiry = self.clock.seconds + EXPIRE_EVERY
            expire(self.api)
            self.api.store.compact()

    def _node_failed(self, name: str, error: Exception) -> None:
        """Record an event on a node after a defect in the work on it."""
        node = self.api.store.find(Node, name, copy=False)
        if node is not None:
            record(self.api, node, "Warning", "KubeletError", described(error), "kubelet")

    def close(self) -> None:
        """Remove the nodes. The objects can still be read, but no longer be changed."""
        self._stop_serving()
        self._closed = True
        self._forget_nodes()

    def _forget_nodes(self) -> None:
        """Remove the nodes. `close` also calls this if `__init__` has failed before it set `_nodes`."""
        vars(self).get("_nodes", {}).clear()
