"""What every cluster can be asked: objects, events, watches, its nodes, and the journal of what a user did to it.

How an object is written, how time passes and where nodes come from is said by the kind of cluster. Whatever the user
does is recorded in the `journal` and can be done again with `replay`.
"""

from __future__ import annotations

import pkgutil
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from typing import Any, Protocol

from kitlib.api.core import Event, Node, Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject, LabelSelector
from kitlib.api.release import Release
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.api.serialize import Located, to_dict
from kitlib.apiserver.admission import manifests
from kitlib.apiserver.admission.deletion import BACKGROUND, PROPAGATION_POLICIES
from kitlib.apiserver.admission.manifests import Manifests
from kitlib.apiserver.store.kinds import RESOURCES
from kitlib.apiserver.store.store import Store, Watch
from kitlib.cluster.closeable import Closeable
from kitlib.cluster.exclusive import exclusive
from kitlib.cluster.journal import Journal
from kitlib.cluster.nodes.interfaces import KernelNode
from kitlib.cluster.serving import Serve, ServedAPI

MOST_SECONDS = 366 * 86400
"""Seconds that pass at once at most: an idle node takes two seconds of the machine's time for a day."""


class Clock(Protocol):
    """A cluster's time."""

    @property
    def seconds(self) -> float:
        """Seconds since the cluster began."""
        ...

    def now(self) -> datetime:
        """The date."""
        ...

    def steady_now(self) -> datetime:
        """Return the date of a clock that is never set, for durations."""
        ...

    def move(self, seconds: float) -> None:
        """Let time pass."""
        ...


class API(Protocol):
    """The API server as a client uses it: in this process, or in a container with a copy of its store here."""

    @property
    def store(self) -> Store:
        """The objects; reading goes there directly."""
        ...

    def create(self, obj: Any) -> Any:
        """Create an object, as `kubectl create` does."""
        ...

    def update(self, obj: Any) -> Any:
        """Replace an object; its status stays as it stands."""
        ...

    def update_status(self, obj: Any) -> Any:
        """Replace an object's status."""
        ...

    def resize(self, pod: Pod) -> Pod:
        """Replace the resources of a pod's containers."""
        ...

    def enable_service_accounts(self, key: str, authority: str) -> None:
        """Have pods run as service accounts, with tokens signed by this key."""
        ...

    def update_ephemeral_containers(self, pod: Pod) -> Pod:
        """Add ephemeral containers to a pod, as `kubectl debug` does."""
        ...

    def delete(self, kind: Any, name: str, namespace: str = "", *, grace: int | None = 0) -> Any:
        """Delete an object."""
        ...


def check_seconds(seconds: float) -> None:
    """Refuse what no time can be, and more at once than a cluster gets through.

    Raises:
        KitError: for anything but a non-negative number, and for more than `MOST_SECONDS`.
    """
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 <= seconds < float("inf"):
        raise KitError(f"advance: must be a non-negative number of seconds, got {seconds!r}")
    if seconds > MOST_SECONDS:
        days = MOST_SECONDS // 86400
        raise KitError(f"advance: must be at most {MOST_SECONDS} seconds ({days} days) at once, got {seconds!r}")


class BaseCluster(Closeable, ABC):
    """A cluster; made by `Cluster.simulated` or `Cluster.docker`.

    Attributes:
        api: the API server; `api.store` holds the objects.
        release: the Kubernetes release whose behaviour is followed.
        clock: the cluster's own time.
        journal: what the user did.
        notes: sentences: what is different from what was asked for.
        lock: held while a thread uses the cluster; take it to read and write in one go.
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

    # What the kinds of clusters do differently.

    @abstractmethod
    def settle(self) -> None:
        """Let controllers, scheduler and kubelets do what they can do without time passing."""

    @abstractmethod
    def advance(self, seconds: float) -> None:
        """Let time pass on the cluster's clock."""

    @abstractmethod
    def node(self, name: str = "") -> KernelNode:
        """Return the node behind a Node object: its cgroup tree, files, processes and log.

        Args:
            name: of the node; may be left out where there is only one.

        Raises:
            NotFound: where there is no such node.
            KitError: several nodes and no name, or a node whose kubelet another program runs.
        """

    @abstractmethod
    def runs_kubelet(self, name: str) -> bool:
        """Return whether the kit runs the kubelet of the Node object with this name: it made the machine."""

    @abstractmethod
    def apply_located(self, action: str, located: Sequence[Located], create_only: bool) -> list[Any]:
        """Create or change objects, all or none.

        Args:
            action: of the journal, `apply` or `create`.
            located: the objects, each with the place of its manifest.
            create_only: whether an object that exists already is an error.
        """

    @abstractmethod
    def patch(self, kind: str, name: str, patch: Mapping[str, Any], namespace: str = "default") -> Any:
        """Change some fields of an object, as `kubectl patch` does: its status stays (see `patch_status`).

        Returns:
            The object as it stands then; a field patched with None is removed.
        """

    @abstractmethod
    def patch_status(self, kind: str, name: str, patch: Mapping[str, Any], namespace: str = "default") -> Any:
        """Change some fields of an object's status, as `kubectl patch --subresource=status` does.

        For scenarios that play a kubelet or a controller; the cluster's own write a status again when they next act.

        Args:
            kind, name, namespace: the object.
            patch: `{"status": {…}}`; None removes a field, fields outside the status stay as they are stored.

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
            name, namespace: the pod.
            containers: container -> {"requests": {…}, "limits": {…}}; what is not named stays.
            pod: the same of the pod as a whole (`spec.resources`); None = as they are.
        """

    @abstractmethod
    def evict(self, name: str, namespace: str = "default", *, grace: int | None = None) -> None:
        """Ask for a pod's eviction, as `kubectl drain` does: a PodDisruptionBudget may refuse it.

        Args:
            name, namespace: of the pod.
            grace: seconds until it must be gone; None = what the pod says.

        Raises:
            TooManyRequests: the budget allows no disruption now; `causes` says why.
            InternalError: several budgets select the pod.
        """

    @abstractmethod
    def record_event(self, about: KubeObject, reason: str, message: str, *, warning: bool = False) -> None:
        """Write a Kubernetes event about an object."""

    @abstractmethod
    def _delete(self, kind: str, name: str, namespace: str, grace: int | None, propagation: str) -> None:
        """Delete an object by name."""

    def _check_open(self) -> None:
        """Refuse to act on a cluster that has no nodes any more.

        Raises:
            KitError: the cluster is closed.
        """
        if self._closed:
            raise KitError(
                "the cluster is closed and its nodes are gone: make a new one (in a notebook, run its cell again)"
            )

    @property
    def closed(self) -> bool:
        """Whether its nodes are gone."""
        return self._closed

    def now(self) -> datetime:
        """The cluster's own time."""
        return self.api.store.now()

    # Objects.

    @exclusive
    def apply(self, source: Manifests) -> list[Any]:
        """Create or change every object of a manifest, all or none, as `kubectl apply` does.

        Args:
            source: a path, text, an open file, objects, or plain data.

        Returns:
            The objects as they stand once the cluster has settled.

        Raises:
            KitError: with file, document and field; then nothing has changed.
        """
        self._check_open()
        return self.apply_located("apply", manifests.read(source), False)

    @exclusive
    def create(self, source: Manifests) -> list[Any]:
        """As `apply`, but an object that exists already is an error (`kubectl create`)."""
        self._check_open()
        return self.apply_located("create", manifests.read(source), True)

    @exclusive
    def delete(
        self,
        kind: str | KubeObject,
        name: str = "",
        namespace: str = "default",
        *,
        grace: int | None = None,
        propagation_policy: str = BACKGROUND,
    ) -> None:
        """Delete an object and what belongs to it.

        Args:
            kind: `Pod`, `pods`, `po`; or the object itself, and then nothing else.
            name, namespace: which.
            grace: seconds that a pod gets to end; None = what its specification says.
            propagation_policy: "Background": the object goes, then those that it owns; "Foreground": it stays until
                they have gone; "Orphan": they stay (`kubectl delete --cascade=background|foreground|orphan`).

        Raises:
            NotFound: where there is none.
            KitError: for another policy.
        """
        self._check_open()
        if propagation_policy not in PROPAGATION_POLICIES:
            valid = ", ".join(PROPAGATION_POLICIES)
            raise KitError(f"propagationPolicy: {propagation_policy!r}: valid values: {valid}")
        if isinstance(kind, KubeObject):
            self._delete(kind.kind, kind.name, kind.namespace, grace, propagation_policy)
        else:
            self._delete(kind, name, namespace, grace, propagation_policy)

    @exclusive
    def get(self, kind: str, name: str, namespace: str = "default") -> Any:
        """A copy of one object.

        Raises:
            NotFound: where there is none.
        """
        return self.api.store.get(kind, name, namespace or "default")

    @exclusive
    def list(
        self, kind: str, namespace: str | None = None, selector: Mapping[str, str] | LabelSelector | None = None
    ) -> Any:
        """Copies of all objects of a kind, oldest first.

        Args:
            kind: `Pod`, `pods`, `po`.
            namespace: only this one; None = all.
            selector: labels that they must have, or a label selector.
        """
        if selector is not None and not isinstance(selector, LabelSelector):
            selector = LabelSelector(match_labels=dict(selector))
        matcher = None if selector is None else LabelSelectorMatcher(selector)
        return self.api.store.list(kind, namespace, matcher)

    @exclusive
    def pods(self, namespace: str | None = None, selector: Mapping[str, str] | LabelSelector | None = None) -> Any:
        """Copies of the pods, oldest first."""
        return self.list("Pod", namespace, selector)

    @exclusive
    def pod(self, name: str, namespace: str = "default") -> Pod:
        """A copy of one pod."""
        found: Pod = self.get("Pod", name, namespace)
        return found

    @property
    @exclusive
    def nodes(self) -> Any:
        """Copies of the Node objects, oldest first."""
        return self.list("Node")

    @exclusive
    def watch(self, kind: str | None = None, namespace: str | None = None, since: int | None = None) -> Watch:
        """The changes from now on, to be read with `poll()` or in a loop; it never blocks."""
        return self.api.store.watch(kind, namespace, since)

    @exclusive
    def events(self, about: KubeObject | str | None = None) -> Any:
        """Kubernetes events, oldest first.

        Args:
            about: an object, or the name of one; None = all.
        """
        found = self.api.store.list(Event)
        if isinstance(about, KubeObject):
            return [e for e in found if e.involved_object.uid == about.metadata.uid]
        return [e for e in found if about is None or e.involved_object.name == about]

    @exclusive
    def scale(self, kind: str, name: str, replicas: int, namespace: str = "default") -> Any:
        """Ask for another number of pods."""
        return self.patch(kind, name, {"spec": {"replicas": replicas}}, namespace)

    @exclusive
    def cordon(self, node: str, unschedulable: bool = True) -> Any:
        """Keep new pods away from a node, or (False) let them come again."""
        return self.patch("Node", node, {"spec": {"unschedulable": unschedulable or None}})

    # Serving.

    def serve(self, **options: Any) -> ServedAPI:
        """Serve the objects to kubectl and every other client of the Kubernetes API, until it or the cluster is closed.

        Args:
            options: port (0 = any free one); kubeconfig_path (None = written nowhere; the server's `config` holds it);
                pace, virtual seconds a second on simulated nodes (0 = time moves only by `advance`); and what else
                `kitlib.apiserver.http.server.GenericAPIServer` takes.

        Raises:
            KitError: the cluster is closed, or an option is wrong.
        """
        self._check_open()
        # named and not imported: the server stands above clusters, and needs more packages than they do
        serve: Serve = pkgutil.resolve_name("kitlib.apiserver.http:serve")
        server = serve(self, **options)
        self._servers = (*self._servers, server)
        return server

    def _stop_serving(self) -> None:
        """Close the servers, before what they serve goes; also where a cluster was never complete."""
        for server in self._servers:
            server.close()
        self._servers = ()

    # The journal.

    def _record(self, action: str, **fields: object) -> None:
        if not self._replaying:
            self.journal.record(action, **fields)

    def replay(self, journal: Iterable[Any]) -> None:
        """Do what a journal holds, on this cluster; it is added to this cluster's own.

        Raises:
            KitError: where an entry is none, or cannot be done here.
        """
        from kitlib.cluster.replay import replay_entry

        entries = Journal.checked(list(journal))
        self._replaying = True
        try:
            for entry in entries:
                replay_entry(self, dict(entry))
                self.journal.append(entry)
        finally:
            self._replaying = False

    # Showing itself.

    @exclusive
    def snapshot(self) -> dict[str, Any]:
        """Every object as plain data, kind by kind: what two clusters can be compared by."""
        return {r.kind: [to_dict(o) for o in self.api.store.list(r.kind, copy=False)] for r in RESOURCES}

    @exclusive
    def fork(self) -> Any:
        """Return a copy on hollow nodes and virtual time, to try something on; see `CopiedCluster`."""
        return import_module("kitlib.cluster.control_plane.copied").fork(self)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __repr__(self) -> str:
        pods, nodes = (len(self.api.store.list(kind, copy=False)) for kind in ("Pod", "Node"))
        return f"<{type(self).__name__} {self.release}: {nodes} nodes, {pods} pods>"
