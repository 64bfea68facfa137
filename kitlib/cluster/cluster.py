"""A cluster to work with: `apply`, `delete`, `get`, `watch`, `events`, `advance`, and its nodes by name.

The same face for every kind of cluster; where the nodes come from is decided by how it is made: `Cluster.simulated()`
(this process, a simulated kernel, virtual time) or `Cluster.docker()` (real kernels in containers). Whatever the user
does stands in the `journal` and can be done again with `replay`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kitlib.api.core import Event, Node, Pod
from kitlib.api.errors import KitError, NotFound
from kitlib.api.meta import KubeObject, LabelSelector
from kitlib.api.release import Release
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.api.serialize import Located, from_dict, to_dict
from kitlib.cluster.admission import manifests
from kitlib.cluster.admission.apiserver import APIServer
from kitlib.cluster.admission.eviction import evict
from kitlib.cluster.admission.manifests import Manifests
from kitlib.cluster.closeable import Closeable
from kitlib.cluster.controllers import reconcile
from kitlib.cluster.events import record
from kitlib.cluster.journal import Journal, place_of
from kitlib.cluster.store.kinds import resource
from kitlib.cluster.store.merge import strategic_patch
from kitlib.cluster.store.store import Watch

if TYPE_CHECKING:
    from kitlib.cluster.control_plane.container.client import ContainerControlPlaneClient
    from kitlib.cluster.control_plane.docker import DockerCluster
    from kitlib.cluster.control_plane.simulated import SimulatedCluster

    RealCluster: TypeAlias = ContainerControlPlaneClient | DockerCluster

ControlPlane = Literal["container", "process"]


class Cluster(Closeable):
    """What all clusters have in common; made by `Cluster.simulated` or `Cluster.docker`.

    Attributes:
        api: the API server; `api.store` holds the objects.
        release: the Kubernetes release whose behaviour is followed.
        journal: what the user did.
        notes: sentences: what is different from what was asked for.
    """

    def __init__(self, api: APIServer, release: Release) -> None:
        self.api, self.release = api, release
        self.notes: list[str] = []
        self.journal = Journal()
        self._applier = manifests.Applier(api)
        self._replaying = False

    @staticmethod
    def simulated(nodes: Any = 1, **settings: Any) -> SimulatedCluster:
        """A cluster on a simulated kernel, in this process and on virtual time; see `SimulatedCluster`."""
        from kitlib.cluster.control_plane.simulated import SimulatedCluster

        return SimulatedCluster(nodes, **settings)

    @staticmethod
    def docker(nodes: Any = 1, *, control_plane: ControlPlane | None = None, **settings: Any) -> RealCluster:
        """A cluster of real kernels in disposable containers; see `DockerCluster` for the arguments.

        Args:
            nodes, settings: as for `DockerCluster`.
            control_plane: where store, admission, controllers and scheduler run: in a "container" of their own, or in
                this "process"; None = as KITLIB_CONTROL_PLANE says, else "container". What only this process can do
                (plugins of your own, extenders) keeps them here; `notes` of the cluster says so.
        """
        where = control_plane or os.environ.get("KITLIB_CONTROL_PLANE") or "container"
        if where not in ("process", "container"):
            raise KitError(f"control_plane: {where!r} is neither 'process' nor 'container'")
        why = ""
        if where == "container":
            from kitlib.cluster.control_plane.container.client import ContainerControlPlaneClient, why_here

            kept = {name: settings.get(name) for name in ("scheduler", "autoscaler", "gate_manager")}
            why = why_here(settings.get("plugins", ()), **kept)
            if not why:
                return ContainerControlPlaneClient(nodes, **{k: v for k, v in settings.items() if k != "plugins"})
        from kitlib.cluster.control_plane.docker import DockerCluster

        cluster = DockerCluster(nodes, **settings)
        if why:
            cluster.notes.append(why)
        return cluster

    # What the kinds of clusters do differently.

    def now(self) -> datetime:
        """The cluster's own time."""
        return self.api.store.now()

    def settle(self) -> None:
        """Let controllers, scheduler and kubelets do what they can do without time passing."""
        reconcile(self.api)

    def advance(self, seconds: float) -> None:
        """Let time pass on the cluster's clock."""
        raise KitError("this cluster's clock cannot be moved")

    def node(self, name: str = "") -> Any:
        """The machine behind a Node object: its cgroup tree, files, processes and log.

        Raises:
            NotFound: where there is no such node.
        """
        raise NotFound("nodes", name)

    # Objects.

    def apply(self, source: Manifests) -> list[Any]:
        """Create or change every object of a manifest, all or none, as `kubectl apply` does.

        Args:
            source: a path, text, an open file, objects, or plain data.

        Returns:
            The objects as they stand once the cluster has settled.

        Raises:
            KitError: with file, document and field; then nothing has changed.
        """
        return self._apply("apply", source, create_only=False)

    def create(self, source: Manifests) -> list[Any]:
        """As `apply`, but an object that is there already is an error (`kubectl create`)."""
        return self._apply("create", source, create_only=True)

    def _apply(self, action: str, source: Manifests, *, create_only: bool) -> list[Any]:
        return self.apply_located(action, manifests.read(source), create_only)

    def apply_located(self, action: str, located: Sequence[Located], create_only: bool) -> list[Any]:
        data = [to_dict(one.object) for one in located]
        made = self._applier.apply(located, create_only=create_only)
        self._record(action, objects=data)
        self.settle()
        return [self.api.store.standing(o) or o for o in made]

    def delete(
        self, kind: str | KubeObject, name: str = "", namespace: str = "default", *, grace: int | None = None
    ) -> None:
        """Delete an object and what belongs to it.

        Args:
            kind: `Pod`, `pods`, `po`; or the object itself, and then nothing else.
            name, namespace: which.
            grace: seconds that a pod gets to end; None = what its specification says.

        Raises:
            NotFound: where there is none.
        """
        if isinstance(kind, KubeObject):
            self.delete(kind.kind, kind.name, kind.namespace, grace=grace)
            return
        wanted = resource(kind)
        place = (namespace or "default") if wanted.namespaced else ""
        standing = self.api.store.get(kind, name, place)
        self.api.delete(kind, name, place, grace=grace)
        self._applier.forget(standing)
        self._record("delete", kind=wanted.kind, name=name, namespace=place, grace=grace)
        self.settle()

    def get(self, kind: str, name: str, namespace: str = "default") -> Any:
        """A copy of one object.

        Raises:
            NotFound: where there is none.
        """
        return self.api.store.get(kind, name, namespace or "default")

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

    def pods(self, namespace: str | None = None, selector: Mapping[str, str] | LabelSelector | None = None) -> Any:
        """Copies of the pods, oldest first."""
        return self.list("Pod", namespace, selector)

    def pod(self, name: str, namespace: str = "default") -> Pod:
        """A copy of one pod."""
        found: Pod = self.get("Pod", name, namespace)
        return found

    @property
    def nodes(self) -> Any:
        """Copies of the Node objects, oldest first."""
        return self.list("Node")

    def watch(self, kind: str | None = None, namespace: str | None = None, since: int | None = None) -> Watch:
        """The changes from now on, to be read with `poll()` or in a loop; it never blocks."""
        return self.api.store.watch(kind, namespace, since)

    def events(self, about: KubeObject | str | None = None) -> Any:
        """Kubernetes events, oldest first.

        Args:
            about: an object, or the name of one; None = all.
        """
        found = self.api.store.list(Event)
        if isinstance(about, KubeObject):
            return [e for e in found if e.involved_object.uid == about.metadata.uid]
        return [e for e in found if about is None or e.involved_object.name == about]

    def patch(self, kind: str, name: str, patch: Mapping[str, Any], namespace: str = "default") -> Any:
        """Change some fields of an object, as `kubectl patch` does; None removes a field.

        Returns:
            The object as it stands then.
        """
        wanted = resource(kind)
        place = (namespace or "default") if wanted.namespaced else ""
        standing = self.api.store.get(kind, name, place)
        changed = from_dict(strategic_patch(to_dict(standing), dict(patch)))
        self.api.update(changed)
        self._record("patch", kind=wanted.kind, name=name, namespace=place, patch=dict(patch))
        self.settle()
        return self.api.store.find(kind, name, place)

    def scale(self, kind: str, name: str, replicas: int, namespace: str = "default") -> Any:
        """Ask for another number of pods."""
        return self.patch(kind, name, {"spec": {"replicas": replicas}}, namespace)

    def cordon(self, node: str, unschedulable: bool = True) -> Any:
        """Keep new pods away from a node, or (False) let them come again."""
        return self.patch("Node", node, {"spec": {"unschedulable": unschedulable or None}})

    def resize(
        self, name: str, containers: Mapping[str, Mapping[str, Mapping[str, str]]], namespace: str = "default"
    ) -> Pod:
        """Change the requests and limits of a pod's containers in place (`kubectl patch --subresource resize`).

        Args:
            name, namespace: the pod.
            containers: container -> {"requests": {…}, "limits": {…}}; what is not named stays.
        """
        listed = [{"name": c, "resources": {k: dict(v) for k, v in r.items()}} for c, r in containers.items()]
        standing = self.api.store.get(Pod, name, namespace)
        known = {c.name for c in (*standing.spec.containers, *standing.spec.init_containers)}
        for container in containers:
            if container not in known:
                there = ", ".join(sorted(known))
                raise KitError(f'pods "{name}": there is no container {container!r}; there are: {there}')
        mains = {c.name for c in standing.spec.containers}
        lists = {
            "containers": [one for one in listed if one["name"] in mains],
            "initContainers": [one for one in listed if one["name"] not in mains],
        }
        patch = {"spec": {field: items for field, items in lists.items() if items}}
        self.api.resize(from_dict(strategic_patch(to_dict(standing), patch)))
        self._record("resize", name=name, namespace=namespace, containers={c: dict(r) for c, r in containers.items()})
        self.settle()
        found: Pod = self.api.store.get(Pod, name, namespace)
        return found

    def evict(self, name: str, namespace: str = "default") -> None:
        """Ask for a pod's eviction, as `kubectl drain` does: a PodDisruptionBudget may refuse it.

        Raises:
            TooManyRequests: the budget allows no disruption now; `causes` says why.
            InternalError: several budgets select the pod.
        """
        evict(self.api, name, namespace)
        self._record("evict", name=name, namespace=namespace)
        self.settle()

    def record_event(self, about: KubeObject, reason: str, message: str, *, warning: bool = False) -> None:
        """Write a Kubernetes event about an object."""
        record(self.api, about, "Warning" if warning else "Normal", reason, message)

    # The journal.

    def _record(self, action: str, **fields: Any) -> None:
        if not self._replaying:
            self.journal.record(action, **fields)

    def replay(self, journal: Iterable[Any]) -> None:
        """Do what stands in a journal, on this cluster; it is added to this cluster's own.

        Raises:
            KitError: where an entry is none, or cannot be done here.
        """
        entries = Journal.checked(list(journal))
        self._replaying = True
        try:
            for entry in entries:
                self._do(dict(entry))
                self.journal.append(entry)
        finally:
            self._replaying = False

    def _do(self, entry: dict[str, Any]) -> None:
        action = entry.pop("action")
        entry.pop("at", None)  # of real nodes: when it was done; what is waited for stands in the journal by itself
        if action in ("apply", "create"):
            self._apply(action, entry["objects"], create_only=action == "create")
        elif action == "patch":
            self.patch(entry["kind"], entry["name"], entry["patch"], entry["namespace"])
        elif action == "resize":
            self.resize(entry["name"], entry["containers"], entry["namespace"])
        elif action == "write":
            node = self.node(entry["node"])
            path = place_of(entry, node.desired()) if entry.get("pod") else entry["path"]
            node.write(path, entry["file"], entry["value"])
        elif action == "signal":
            self.node(entry["node"]).signal(entry["pod"], entry["container"], entry["signal"])
        else:
            getattr(self, action)(**entry)

    # Showing itself.

    def snapshot(self) -> dict[str, Any]:
        """Every object as plain data, kind by kind: what two clusters can be compared by."""
        from kitlib.cluster.store.kinds import RESOURCES

        return {r.kind: [to_dict(o) for o in self.api.store.list(r.kind, copy=False)] for r in RESOURCES}

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __repr__(self) -> str:
        pods, nodes = (len(self.api.store.list(kind, copy=False)) for kind in ("Pod", "Node"))
        return f"<{type(self).__name__} {self.release}: {nodes} nodes, {pods} pods>"
