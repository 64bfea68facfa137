"""The user's side of a cluster of real nodes whose control plane runs in a container of its own.

Every write is a request. Each answer has the changes since the last one, which a local copy of the object store
applies, so that reads are local. Requests about a node (files, watches, processes, logs) go to the node itself. The
scheduler's modules are loaded only when one of its decisions is requested.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
from msgspec.structs import asdict

from kitlib.api.core import Node, Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject
from kitlib.api.serialize import Located, from_dict, to_dict
from kitlib.apiserver.admission.attributes import DELETION, Deletion
from kitlib.apiserver.admission.requester import requester
from kitlib.apiserver.store.kinds import resource
from kitlib.cluster.base import by_kind
from kitlib.cluster.control_plane.container import wire
from kitlib.cluster.control_plane.container.relay import ControlPlaneGone, Relay
from kitlib.cluster.control_plane.container.replica import Replica
from kitlib.cluster.control_plane.options import ClusterOptions
from kitlib.cluster.control_plane.polling import PollingCluster
from kitlib.cluster.control_plane.real_clock import TICK, RealClock
from kitlib.cluster.nodes.container import ContainerNode, container_node_config
from kitlib.cluster.nodes.handle import NodeFacts
from kitlib.cluster.nodes.kubelets import node_of
from kitlib.cluster.nodes.plan import NodePlan, Nodes, plan
from kitlib.cluster.nodes.provisioner import Provision, start_all

if TYPE_CHECKING:
    from kitlib.scheduler.decision import Decision

TIMEOUT = 600.0
"""The timeout of a request in seconds; one manifest may have thousands of objects."""


def why_in_process(options: ClusterOptions) -> str:
    """Return the reason why these options need the control plane in the user's process; "" = they do not."""
    scheduler, autoscaler, gate_manager = options.scheduler, options.autoscaler, options.gate_manager
    if options.plugins:
        return "plugins of your own run in this process, so the control plane does too"
    if isinstance(scheduler, Mapping) and scheduler.get("extenders"):
        return "extenders are called from this process (a container has no network), so the control plane runs here"
    for name, value in (("scheduler", scheduler), ("autoscaler", autoscaler), ("gate_manager", gate_manager)):
        if value is not None and not isinstance(value, bool | Mapping):
            return f"{name}: an object of this process is used, so the control plane runs here"
    try:
        wire.pack((scheduler, autoscaler, gate_manager))
    except KitError as error:
        return f"the control plane runs in this process: {error}"
    return ""


class RemoteAPIServer:
    """A client of the API server (`kitlib.apiserver.admission.apiserver.APIServer`): local reads, requests for writes.

    Attributes:
        store: the local copy of the object store.
        warnings: the warnings of admission in the last write.
    """

    def __init__(self, cluster: ContainerControlPlaneClient) -> None:
        self._cluster = cluster
        self.warnings: list[str] = []
        self.store = Replica()
        self._dry = False

    @contextmanager
    def dry_run(self) -> Iterator[None]:
        """Run the writes inside as a dry run: admission and validation apply, nothing is stored."""
        self._dry = True
        try:
            yield
        finally:
            self._dry = False

    def create(self, obj: KubeObject) -> Any:
        """Create an object, as `kubectl create` does."""
        return self._write("create", obj)

    def update(self, obj: KubeObject, subresource: str = "") -> Any:
        """Replace an object; the subresource `scale` replaces only its number of replicas."""
        return self._write("update", obj, subresource)

    def update_status(self, obj: KubeObject, *, metadata: bool = False) -> Any:
        """Replace an object's status."""
        return self._write("update_status", obj)

    def resize(self, obj: Pod) -> Any:
        """Replace the resources of a pod's containers."""
        return self._write("resize", obj)

    def enable_service_accounts(self, key: str, authority: str) -> None:
        """Make pods run as service accounts, with tokens signed by this key."""
        self._cluster._ask("enable_service_accounts", key=key, authority=authority)

    def update_ephemeral_containers(self, obj: Pod) -> Any:
        """Add ephemeral containers to a pod."""
        return self._write("update_ephemeral_containers", obj)

    def delete(
        self,
        kind: Any,
        name: str,
        namespace: str = "",
        *,
        grace: int | None = None,
        propagation: str = "Background",
        request: Deletion = DELETION,
    ) -> None:
        """Delete an object; the kind is a name, a type, or the store's name of it."""
        named = _named(kind)
        how = {"grace": grace, "propagation": propagation, "dry_run": self._dry}
        sent = msgspec.to_builtins(request)
        answer = self._cluster._ask("api_delete", kind=named, name=name, namespace=namespace, request=sent, **how)
        self.warnings = answer["warnings"]

    def _write(self, method: str, obj: KubeObject, subresource: str = "") -> Any:
        sent = {"object": to_dict(obj), "dry_run": self._dry, "subresource": subresource}
        answer = self._cluster._ask("api", method=method, **sent)
        self.warnings = answer["warnings"]
        return from_dict(answer["object"])


class ContainerControlPlaneClient(PollingCluster):
    """A cluster made by `Cluster.docker` with its control plane in a container.

    Args:
        options: the options of the cluster.
        provision: the options of the containers.

    Attributes:
        clock: the clock, with seconds since the start of the cluster.

    Raises:
        KitError: no engine answers, the image cannot be built, or a container does not start. Nothing is left behind.
    """

    def __init__(self, options: ClusterOptions, provision: Provision) -> None:
        self.release = options.release
        plans = [self._with_settings_read(node) for node in options.nodes]
        self._options, self._closed = options, False
        self._nodes: dict[str, ContainerNode] = {}
        self._seen, self._ended = 0, False
        self.clock = RealClock()
        super().__init__(RemoteAPIServer(self), options.release)
        self._provisioner = provision.provisioner()
        # The links' threads reference the provisioner and not the cluster, so a dropped cluster is collected.
        self._end = weakref.finalize(self, self._provisioner.let_go)
        self._relay = Relay(self._provisioner, options.release)
        try:
            self._provisioner.prepare()
            settings = {
                "release": options.release,
                "seed": options.seed,
                "scheduler": options.scheduler,
                "controllers": options.controllers,
                "autoscaler": self._autoscaler_settings(),
                "gate_manager": options.gate_manager,
            }
            with ThreadPoolExecutor(1) as pool:
                begun = pool.submit(self._open, wire.pack(settings))
                try:
                    start_all(plans, self._relay.begin, provision.progress)
                except BaseException:
                    self._provisioner.let_go()  # ends waits for a control plane that is no longer needed
                    raise
                begun.result()
            self._add(plans, self._relay.facts)
        except BaseException:
            self.close()
            raise

    def _with_settings_read(self, node_plan: NodePlan) -> NodePlan:
        """Return the plan with its kubelet's settings read in, because the container lacks this machine's files."""
        return replace(node_plan, kubelet=container_node_config(node_plan, self.release).settings)

    def _autoscaler_settings(self) -> object:
        """Return the autoscaler's arguments, with the settings of its nodes' kubelets read in."""
        autoscaler = self._options.autoscaler
        if not isinstance(autoscaler, Mapping) or not isinstance(autoscaler.get("node"), Mapping):
            return autoscaler
        (node_plan,) = plan([autoscaler["node"]])
        return {**autoscaler, "node": {**autoscaler["node"], "kubelet": self._with_settings_read(node_plan).kubelet}}

    def _open(self, settings: str) -> None:
        """Start the control plane's container and the control plane in it, while the nodes are starting."""
        self._relay.open()
        self._ask("begin", version=wire.VERSION, settings=settings)

    # Requests.

    def _ask(self, do: str, **about: Any) -> Any:
        """Send a request, apply the changes in the answer, and return the result or raise its error."""
        with self.lock:
            if self._closed:
                raise KitError("this cluster has been closed")
            link = self._relay.link
            if link is None:
                raise ControlPlaneGone("the control plane was never started")
            told = {
                "at": self.clock.seconds,
                "since": self._copy.version,
                "known": list(self._nodes),
                "journal": self._seen,
                "requester": asdict(requester()),
            }
            # Errors have changes too, which are applied before the error is raised.
            found, message = link.request(do, TIMEOUT, **told, **about)
            self._take(message)
        if isinstance(found, Exception):
            raise found
        return found

    @property
    def _copy(self) -> Replica:
        store = self.api.store
        assert isinstance(store, Replica)
        return store

    def _take(self, message: Mapping[str, Any]) -> None:
        """Apply the changes since the last answer."""
        if "version" not in message:
            return
        for change, data in message.get("changes", ()):
            if change == "DELETED" and data["kind"] == "Node":  # a later object of the name has no machine of the kit
                self._nodes.pop(data["metadata"]["name"], None)
        for name, facts in message["nodes"].items():
            begun = self._relay.begun.get(name)
            if begun is not None:
                self._nodes[name] = ContainerNode(*begun[:3], self.record_action, begun[3], facts)
        if "objects" in message:
            self._copy.restart(message["objects"], message["version"])
        else:
            self._copy.absorb(message["changes"], message["version"])
        if "objects" in message:
            standing = {node.name for node in self._copy.list(Node, copy=False)}
            self._nodes = {name: node for name, node in self._nodes.items() if name in standing}
        self._seen += len(message["journal"])
        # During a replay the entries are in this journal already.
        if not self._replaying:
            self.journal.keep(message["journal"])

    def let_time_pass(self, seconds: float) -> None:
        """Fetch the changes; time advances by itself in the container."""
        self.refresh()

    def refresh(self) -> None:
        """Fetch the changes since the last request."""
        if not self._closed:
            self._ask("changes")

    def _refresh_to_read(self) -> None:
        """Fetch the changes; a control plane that has ended raises an error once, afterwards its last copy is read."""
        if self._ended:
            return
        try:
            self.refresh()
        except ControlPlaneGone as error:
            self._ended = True
            text = f"{error}; what is read from now on are the objects as they were last heard of"
            self.notes.append(text)
            raise ControlPlaneGone(text) from None

    def settle(self) -> None:
        """Run controllers and scheduler until they have nothing left to do now."""
        if not self._closed:
            self._call("settle")

    def _call(self, method: str, *arguments: Any, **named: Any) -> Any:
        found = self._ask("call", method=method, arguments=arguments, named=named)
        return None if found is None else from_dict(found)

    def step(self) -> None:
        """Wait for the shortest interval."""
        self.advance(TICK)

    # Writes.

    def apply_located(self, action: str, located: Sequence[Located], create_only: bool) -> list[Any]:
        objects = [[to_dict(one.object), one.file, one.document] for one in located]
        return [from_dict(one) for one in self._ask("apply", action=action, objects=objects, create_only=create_only)]

    def _delete(
        self, kind: str | type[KubeObject], name: str, namespace: str, grace: int | None, propagation: str
    ) -> None:
        self._call("delete", _named(kind), name, namespace, grace=grace, propagation_policy=propagation)

    @by_kind
    def patch(
        self, kind: str | type[KubeObject], name: str, patch: Mapping[str, Any], namespace: str = "default"
    ) -> Any:
        """Change some fields of an object; see `BaseCluster.patch`."""
        return self._call("patch", _named(kind), name, dict(patch), namespace)

    @by_kind
    def patch_status(
        self, kind: str | type[KubeObject], name: str, patch: Mapping[str, Any], namespace: str = "default"
    ) -> Any:
        """Change some fields of an object's status; see `BaseCluster.patch_status`."""
        return self._call("patch_status", _named(kind), name, dict(patch), namespace)

    def resize(
        self,
        name: str,
        containers: Mapping[str, Mapping[str, Mapping[str, str]]] | None = None,
        namespace: str = "default",
        *,
        pod: Mapping[str, Mapping[str, str]] | None = None,
    ) -> Pod:
        """Change requests and limits in place; see `BaseCluster.resize`."""
        asked = {c: dict(r) for c, r in (containers or {}).items()}
        whole = {kind: dict(amounts) for kind, amounts in (pod or {}).items()}
        found: Pod = self._call("resize", name, asked, namespace, **({"pod": whole} if whole else {}))
        return found

    def evict(
        self,
        name: str,
        namespace: str = "default",
        *,
        grace: int | None = None,
        dry_run: bool = False,
        warnings: list[str] | None = None,
    ) -> None:
        """Evict a pod; see `BaseCluster.evict`."""
        self._call("evict", name, namespace, grace=grace, dry_run=dry_run)

    def bind(
        self,
        name: str,
        node: str,
        namespace: str = "default",
        *,
        metadata: Mapping[str, Any] | None = None,
        dry_run: bool = False,
        warnings: list[str] | None = None,
    ) -> Pod:
        """Assign a pod to a node; see `BaseCluster.bind`."""
        found: Pod = self._call("bind", name, node, namespace, metadata=dict(metadata or {}), dry_run=dry_run)
        return found

    def record_event(self, about: KubeObject, reason: str, message: str, *, warning: bool = False) -> None:
        """Write a Kubernetes event about an object."""
        self._ask("record_event", about=to_dict(about), reason=reason, message=message, warning=warning)

    def add_nodes(self, nodes: Nodes, **common: object) -> list[Node]:
        """Add nodes, as for `Cluster.docker(nodes=…)`; return the Node objects that they register.

        Raises:
            KitError: an argument is invalid, or a name is already in use.
        """
        self._refresh_to_read()
        taken = [node.name for node in self._copy.list(Node, copy=False)]
        wanted = plan(nodes, taken, **{**self._options.node_defaults, **common})
        plans = [self._with_settings_read(node_plan) for node_plan in wanted]
        self._add(plans, {})
        return [self.get("Node", one.name) for one in plans]

    def _add(self, plans: Sequence[NodePlan], facts: Mapping[str, NodeFacts]) -> None:
        """Register nodes; the control plane starts the nodes without facts first."""
        self._ask("add_nodes", plans=wire.pack(plans), facts=facts)

    # Reads.

    @property
    def scheduler(self) -> NoReturn:
        """The scheduler is not in this process: reading this property raises an error."""
        raise KitError(
            "the scheduler runs in the control plane's container and cannot be read here: call decision() or "
            "explain(), or create the cluster with Cluster.docker(control_plane='process')"
        )

    def decision(self, name: str, namespace: str = "default") -> Decision:
        """Return the scheduler's last decision about a pod.

        Raises:
            NotFound: the pod does not exist.
            KitError: the scheduler has not tried the pod.
        """
        found: Decision = wire.unpack(self._ask("decision", name=name, namespace=namespace))
        return found

    def explain(self, pod: Pod | str, namespace: str = "default") -> Decision:
        """Return the decision that the scheduler would make for a pod now, as if it had no node; nothing is changed."""
        asked = pod if isinstance(pod, str) else to_dict(pod)
        found: Decision = wire.unpack(self._ask("explain", pod=asked, namespace=namespace))
        return found

    def snapshot(self) -> dict[str, Any]:
        """Return every object as plain data; see `BaseCluster.snapshot`."""
        self._refresh_to_read()
        return super().snapshot()

    def node(self, name: str = "") -> ContainerNode:
        """Return the machine behind a Node object; the name is optional if there is only one."""
        if name and name not in self._nodes:
            self._refresh_to_read()
        stored = bool(name) and self._copy.find(Node, name, copy=False) is not None
        return node_of(self._nodes, name, stored=stored)

    def runs_kubelet(self, name: str) -> bool:
        """Return whether the kit runs the kubelet of the Node object with this name."""
        return name in self._nodes

    @property
    def fidelity(self) -> dict[str, Sequence[str]]:
        """The differences of each node from the declared machine, as sentences by name."""
        return {name: machine.fidelity for name, machine in self._nodes.items()}

    def close(self) -> None:
        """End and remove control plane and nodes. The objects can still be read."""
        if self._closed:
            return
        self._stop_serving()
        self._closed = True
        self._end.detach()
        self._provisioner.close()
        self._nodes.clear()


def _named(kind: str | type[KubeObject]) -> str:
    """Return a kind's name, as a request names it."""
    return kind if isinstance(kind, str) else resource(kind).qualified
