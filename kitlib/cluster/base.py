"""The interface of every cluster: objects, events, watches, nodes, and the journal of the user's actions.

The kinds of clusters differ in how objects are written, how time passes and where nodes come from. Each action of a
user, in Python or over HTTP, is recorded in the `journal` and can be repeated with `replay`.
"""

from __future__ import annotations

import pkgutil
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar, overload

from kitlib.api.core import Event, Node, Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject, LabelSelector
from kitlib.api.release import Release
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.api.serialize import Located, to_dict
from kitlib.apiserver.admission import manifests
from kitlib.apiserver.admission.deletion import BACKGROUND, PROPAGATION_POLICIES
from kitlib.apiserver.admission.manifests import Manifests
from kitlib.apiserver.admission.requester import requester
from kitlib.apiserver.store.kinds import RESOURCES
from kitlib.apiserver.store.store import Store, Watch
from kitlib.cluster.closeable import Closeable
from kitlib.cluster.exclusive import exclusive
from kitlib.cluster.journal import Journal
from kitlib.cluster.nodes.interfaces import KernelNode
from kitlib.cluster.serving import Serve, ServedAPI

if TYPE_CHECKING:
    from kitlib.cluster.typed_reads import ByKind, ListByKind, Selector
    from kitlib.scheduler.decision import Decision

K = TypeVar("K", bound=KubeObject)
P = ParamSpec("P")
EventList: TypeAlias = list[Event]
NodeList: TypeAlias = list[Node]
PodList: TypeAlias = list[Pod]
MOST_SECONDS = 366 * 86400
"""The maximum seconds of one `advance`; an idle node needs two seconds of real time for a day."""


class Clock(Protocol):
    """A cluster's time."""

    @property
    def seconds(self) -> float:
        """The seconds since the start of the cluster."""
        ...

    def now(self) -> datetime:
        """Return the current date."""
        ...

    def steady_now(self) -> datetime:
        """Return the date of a monotonic clock, for durations."""
        ...

    def move(self, seconds: float) -> None:
        """Let time pass."""
        ...


class API(Protocol):
    """The API server as a client uses it: in this process, or in a container with a copy of its store here."""

    @property
    def store(self) -> Store:
        """The stored objects, which are read directly."""
        ...

    def create(self, obj: Any) -> Any:
        """Create an object, as `kubectl create` does."""
        ...

    def update(self, obj: Any) -> Any:
        """Replace an object except for its status."""
        ...

    def update_status(self, obj: Any) -> Any:
        """Replace an object's status."""
        ...

    def resize(self, pod: Pod) -> Pod:
        """Replace the resources of a pod's containers."""
        ...

    def enable_service_accounts(self, key: str, authority: str) -> None:
        """Make pods run as service accounts with tokens.

        Args:
            key: the key that signs the tokens, in hexadecimal digits.
            authority: the API server's certificate, as PEM.
        """
        ...

    def update_ephemeral_containers(self, pod: Pod) -> Pod:
        """Add ephemeral containers to a pod, as `kubectl debug` does."""
        ...

    def delete(self, kind: Any, name: str, namespace: str = "", *, grace: int | None = 0) -> Any:
        """Delete an object."""
        ...


def check_seconds(seconds: float) -> None:
    """Check a number of seconds to advance.

    Raises:
        KitError: it is not a non-negative number, or exceeds `MOST_SECONDS`.
    """
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 <= seconds < float("inf"):
        raise KitError(f"advance: must be a non-negative number of seconds, got {seconds!r}")
    if seconds > MOST_SECONDS:
        days = MOST_SECONDS // 86400
        raise KitError(f"advance: must be at most {MOST_SECONDS} seconds ({days} days) at once, got {seconds!r}")


def by_kind(method: Callable[Concatenate[Any, Any, P], Any]) -> ByKind[P]:
    """Declare that a method returns an object of the kind in its first argument, which only overloads can state."""
    typed: ByKind[P] = method  # type: ignore[assignment]
    return typed


def list_by_kind(method: Callable[Concatenate[Any, Any, P], Any]) -> ListByKind[P]:
    """Declare that a method returns the objects of the kind in its first argument."""
    typed: ListByKind[P] = method  # type: ignore[assignment]
    return typed


class BaseCluster(Closeable, ABC):
    """A cluster; made by `Cluster.simulated` or `Cluster.docker`.

    Attributes:
        api: the API server; `api.store` holds the objects.
        release: the Kubernetes release that the cluster behaves like.
        clock: the cluster's clock.
        journal: the user's actions.
        notes: sentences about differences from the requested options.
        lock: the lock that a thread holds while it uses the cluster; hold it to read and write atomically.
    """

    api: API
    clock: Clock
    _closed = False
    _servers: tuple[ServedAPI, ...] = ()

    def __init__(self, api: API, release: Release) -> None:
        self.api, self.release = api, release
        self.lock = threading.RLock()
        self.notes: list[str] = []
        self.journal = Journal()
        self._replaying = False

    # Methods that each kind of cluster implements.

    @abstractmethod
    def settle(self) -> None:
        """Run controllers, scheduler and kubelets until they have nothing left to do at the current time."""

    @abstractmethod
    def advance(self, seconds: float) -> None:
        """Let time pass on the cluster's clock."""

    @abstractmethod
    def node(self, name: str = "") -> KernelNode:
        """Return the node behind a Node object: its cgroup tree, files, processes and log.

        Args:
            name: the node's name; optional if there is only one.

        Raises:
            NotFound: the node does not exist.
            KitError: several nodes and no name, or a node whose kubelet another program runs.
        """

    @abstractmethod
    def runs_kubelet(self, name: str) -> bool:
        """Return whether the kit runs the kubelet of the Node object with this name, because it made the machine."""

    @abstractmethod
    def apply_located(self, action: str, located: Sequence[Located], create_only: bool) -> list[Any]:
        """Create or change objects, all or none.

        Args:
            action: the action for the journal, `apply` or `create`.
            located: the objects, each with the position of its manifest.
            create_only: whether an object that exists already is an error.
        """

    @by_kind
    @abstractmethod
    def patch(
        self, kind: str | type[KubeObject], name: str, patch: Mapping[str, Any], namespace: str = "default"
    ) -> Any:
        """Change some fields of an object, as `kubectl patch` does, except for its status (see `patch_status`).

        Returns:
            The changed object; a field patched with None is removed.
        """

    @by_kind
    @abstractmethod
    def patch_status(
        self, kind: str | type[KubeObject], name: str, patch: Mapping[str, Any], namespace: str = "default"
    ) -> Any:
        """Change some fields of an object's status, as `kubectl patch --subresource=status` does.

        Scenarios use it to play a kubelet or a controller. The cluster's own ones overwrite the status later.

        Args:
            kind: the object's kind.
            name: the object's name.
            patch: `{"status": {…}}`; None removes a field, fields outside the status are ignored.
            namespace: the object's namespace.

        Raises:
            KitError: the patch has no status, or the kind has no `status` subresource.
        """

    @abstractmethod
    def resize(
        self,
        name: str,
        containers: Mapping[str, Mapping[str, Mapping[str, str]]] | None = None,
        namespace: str = "default",
        *,
        pod: Mapping[str, Mapping[str, str]] | None = None,
    ) -> Pod:
        """Change requests and limits in place (`kubectl patch --subresource resize`).

        Args:
            name: the pod's name.
            containers: {"requests": {…}, "limits": {…}} by container; resources that are not named do not change.
            namespace: the pod's namespace.
            pod: the requests and limits of the pod as a whole (`spec.resources`); None = unchanged.
        """

    @abstractmethod
    def evict(
        self,
        name: str,
        namespace: str = "default",
        *,
        grace: int | None = None,
        dry_run: bool = False,
        warnings: list[str] | None = None,
    ) -> None:
        """Evict a pod, as `kubectl drain` does; a PodDisruptionBudget may reject the eviction.

        Args:
            name: the pod's name.
            namespace: the pod's namespace.
            grace: the grace period in seconds; None = the pod's own.
            dry_run: whether to check the eviction only.
            warnings: a list that receives the warnings of admission; a control plane in a container sends none.

        Raises:
            TooManyRequests: the budget allows no disruption now; `causes` has the reason.
            InternalError: several budgets select the pod.
        """

    @abstractmethod
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
        """Assign a pod to a node, as a scheduler does with a POST to `bindings`.

        The API server checks neither the node's room nor the pod's claims: that is the scheduler's work.

        Args:
            name: the pod's name.
            node: the node's name.
            namespace: the pod's namespace.
            metadata: the Binding's metadata: labels and annotations to add to the pod, and the required UID.
            dry_run: whether to check the binding only.
            warnings: a list that receives the warnings of admission; a control plane in a container sends none.

        Raises:
            NotFound: the pod does not exist.
            Conflict: the pod has a node or scheduling gates, is being deleted, or has another UID.
        """

    @abstractmethod
    def decision(self, name: str, namespace: str = "default") -> Decision:
        """Return the scheduler's last decision about a pod.

        Raises:
            NotFound: the pod does not exist.
            KitError: the scheduler has not tried the pod.
        """

    @abstractmethod
    def explain(self, pod: Pod | str, namespace: str = "default") -> Decision:
        """Return the decision that the scheduler would make for a pod now; nothing is changed."""

    @abstractmethod
    def record_event(self, about: KubeObject, reason: str, message: str, *, warning: bool = False) -> None:
        """Write a Kubernetes event about an object."""

    @abstractmethod
    def _delete(
        self, kind: str | type[KubeObject], name: str, namespace: str, grace: int | None, propagation: str
    ) -> None:
        """Delete an object by name."""

    def _check_open(self) -> None:
        """Check that the cluster is open.

        Raises:
            KitError: the cluster is closed.
        """
        if self._closed:
            raise KitError(
                "the cluster is closed and its nodes are gone: make a new one (in a notebook, run its cell again)"
            )

    @property
    def closed(self) -> bool:
        """Whether the cluster is closed: its nodes are removed."""
        return self._closed

    def now(self) -> datetime:
        """Return the current date of the cluster's clock."""
        return self.api.store.now()

    # Objects.

    @overload
    @exclusive
    def apply(self, source: K | Sequence[K]) -> list[K]: ...
    @overload
    @exclusive
    def apply(self, source: Manifests) -> list[Any]: ...
    @exclusive
    def apply(self, source: Manifests) -> list[Any]:
        """Create or change every object of a manifest, all or none, as `kubectl apply` does.

        Args:
            source: a path, text, an open file, objects, or plain data.

        Returns:
            The objects as they are after the cluster has settled.

        Raises:
            KitError: an object is rejected; the error has file, document and field, and nothing has changed.
        """
        self._check_open()
        return self.apply_located("apply", manifests.read(source), False)

    @overload
    @exclusive
    def create(self, source: K | Sequence[K]) -> list[K]: ...
    @overload
    @exclusive
    def create(self, source: Manifests) -> list[Any]: ...
    @exclusive
    def create(self, source: Manifests) -> list[Any]:
        """Create every object of a manifest; an object that already exists is an error (`kubectl create`)."""
        self._check_open()
        return self.apply_located("create", manifests.read(source), True)

    @exclusive
    def delete(
        self,
        kind: str | type[KubeObject] | KubeObject,
        name: str = "",
        namespace: str = "default",
        *,
        grace: int | None = None,
        propagation_policy: str = BACKGROUND,
    ) -> None:
        """Delete an object and its dependents.

        Args:
            kind: the kind, as `Pod`, `pods` or `po`, or its type; or the object itself, without the next two arguments.
            name: the object's name.
            namespace: the object's namespace.
            grace: the grace period of a pod in seconds; None = the one in its specification.
            propagation_policy: "Background": delete the object before its dependents; "Foreground": after them;
                "Orphan": keep the dependents (`kubectl delete --cascade=background|foreground|orphan`).

        Raises:
            NotFound: the object does not exist.
            KitError: the policy is unknown.
        """
        self._check_open()
        if propagation_policy not in PROPAGATION_POLICIES:
            valid = ", ".join(PROPAGATION_POLICIES)
            raise KitError(f"propagationPolicy: {propagation_policy!r}: valid values: {valid}")
        if isinstance(kind, KubeObject):
            self._delete(kind.kind, kind.name, kind.namespace, grace, propagation_policy)
        else:
            self._delete(kind, name, namespace, grace, propagation_policy)

    def _refresh_to_read(self) -> None:
        """Process what has been reported; clusters whose nodes report by themselves implement it."""

    @by_kind
    @exclusive
    def get(self, kind: str | type[KubeObject], name: str, namespace: str = "default") -> Any:
        """Return a copy of one object.

        Args:
            kind: the kind, as `Pod`, `pods` or `po`, or its type.
            name: the object's name.
            namespace: the object's namespace.

        Raises:
            NotFound: the object does not exist.
        """
        self._refresh_to_read()
        return self.api.store.get(kind, name, namespace or "default")

    @list_by_kind
    @exclusive
    def list(self, kind: str | type[KubeObject], namespace: str | None = None, selector: Selector = None) -> Any:
        """Return copies of all objects of a kind, oldest first.

        Args:
            kind: the kind, as `Pod`, `pods` or `po`, or its type.
            namespace: the namespace; None = all.
            selector: the labels of the objects, or a label selector; None = every object.
        """
        self._refresh_to_read()
        if selector is not None and not isinstance(selector, LabelSelector):
            selector = LabelSelector(match_labels=dict(selector))
        matcher = None if selector is None else LabelSelectorMatcher(selector)
        return self.api.store.list(kind, namespace, matcher)

    @exclusive
    def pods(self, namespace: str | None = None, selector: Selector = None) -> PodList:
        """Return copies of the pods, oldest first."""
        return self.list("Pod", namespace, selector)

    @exclusive
    def pod(self, name: str, namespace: str = "default") -> Pod:
        """Return a copy of one pod."""
        return self.get("Pod", name, namespace)

    @property
    @exclusive
    def nodes(self) -> NodeList:
        """The copies of the Node objects, oldest first."""
        return self.list("Node")

    @exclusive
    def watch(self, kind: str | None = None, namespace: str | None = None, since: int | None = None) -> Watch:
        """Watch for changes from now on; read them with `poll()` or in a loop, which never blocks."""
        return self.api.store.watch(kind, namespace, since)

    @exclusive
    def events(self, about: KubeObject | str | None = None) -> EventList:
        """Return Kubernetes events, oldest first.

        Args:
            about: an object, or the name of one; None = all.
        """
        self._refresh_to_read()
        found = self.api.store.list(Event)
        if isinstance(about, KubeObject):
            return [e for e in found if e.involved_object.uid == about.metadata.uid]
        return [e for e in found if about is None or e.involved_object.name == about]

    @by_kind
    @exclusive
    def scale(self, kind: str | type[KubeObject], name: str, replicas: int, namespace: str = "default") -> Any:
        """Set the number of replicas of a workload."""
        return self.patch(kind, name, {"spec": {"replicas": replicas}}, namespace)

    @exclusive
    def cordon(self, node: str, unschedulable: bool = True) -> Node:
        """Mark a node as unschedulable, or (False) as schedulable."""
        return self.patch("Node", node, {"spec": {"unschedulable": unschedulable or None}})

    def serve(self, **options: Any) -> ServedAPI:
        """Serve the API to kubectl and other clients of Kubernetes until the server or the cluster is closed.

        Args:
            options: port (0 = any free one); kubeconfig_path (None = no file; the server's `config` has the content);
                pace, virtual seconds per second on simulated nodes (0 = time advances only by `advance`); and the other
                arguments of `kitlib.apiserver.http.server.GenericAPIServer`.

        Raises:
            KitError: the cluster is closed, or an option is wrong.
        """
        self._check_open()
        # imported by name: the server is a layer above clusters and needs more packages
        serve: Serve = pkgutil.resolve_name("kitlib.apiserver.http:serve")
        server = serve(self, **options)
        self._servers = (*self._servers, server)
        return server

    def _stop_serving(self) -> None:
        """Close the servers before the cluster; also works for a cluster whose constructor failed."""
        for server in self._servers:
            server.close()
        self._servers = ()

    # The journal.

    @exclusive
    def record_action(self, action: str, **fields: object) -> None:
        """Add an action to the journal, with user and program if a client of the API requested it."""
        who = requester()
        if not self._replaying and (not who.client or (self.journal.is_open and not who.is_component)):
            self.journal.record(action, **fields, **who.origin)

    def replay(self, journal: Iterable[Any]) -> None:
        """Repeat the actions of a journal on this cluster and add them to its own journal.

        Raises:
            KitError: an entry is invalid, or its action fails here.
        """
        from kitlib.cluster.replay import replay_entry

        entries = Journal.checked(list(journal))
        self._replaying = True
        try:
            for entry in entries:
                replay_entry(self, dict(entry))
                self.journal.keep([entry])
        finally:
            self._replaying = False

    @exclusive
    def snapshot(self) -> dict[str, Any]:
        """Return every object as plain data by kind, to compare clusters."""
        return {r.kind: [to_dict(o) for o in self.api.store.list(r.kind, copy=False)] for r in RESOURCES}

    @exclusive
    def fork(self) -> BaseCluster:
        """Return a copy on hollow nodes and virtual time for experiments; see `CopiedCluster`."""
        # imported by name: a copy is a cluster of its own, with all that a simulated cluster needs
        copied: Callable[[BaseCluster], BaseCluster] = pkgutil.resolve_name("kitlib.cluster.control_plane.copied:fork")
        return copied(self)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __repr__(self) -> str:
        pods, nodes = (len(self.api.store.list(kind, copy=False)) for kind in ("Pod", "Node"))
        return f"<{type(self).__name__} {self.release}: {nodes} nodes, {pods} pods>"
