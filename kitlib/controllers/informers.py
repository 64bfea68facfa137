"""The shared informers of controllers: changes with the previous state, and indexes by owner, namespace and node.

Source: client-go tools/cache (SharedIndexInformer, Indexer); pkg/controller AddPodControllerIndexer; garbagecollector
graph_builder (uidToNode).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from kitlib.api.core import TERMINAL_PHASES, Pod
from kitlib.api.meta import KubeObject, OwnerReference
from kitlib.apiserver.store.kinds import watched_kind
from kitlib.apiserver.store.store import Store, WatchEvent, age

UID = str
NOT_INDEXED = frozenset({"Event"})


class Delta(NamedTuple):
    """A change: `ADDED`, `MODIFIED` or `DELETED`, the previous object (None for a new one) and the current one."""

    type: str
    old: KubeObject | None
    new: KubeObject


def controller_of(obj: KubeObject) -> OwnerReference | None:
    """Return the reference to the object's managing controller; None without one. Source: metav1.GetControllerOf."""
    for reference in obj.metadata.owner_references:
        if reference.controller:
            return reference
    return None


class Informers:
    """Indexes over a store; their owner calls `apply` with every change.

    Args:
        store: the object store; existing objects are indexed at once.

    Attributes:
        finished: the finished pods by UID, in the order in which they finished.
    """

    def __init__(self, store: Store) -> None:
        self._objects: dict[UID, KubeObject] = {}
        self._owned: dict[tuple[UID, str], dict[UID, KubeObject]] = {}
        self._orphans: dict[tuple[str, str], dict[UID, KubeObject]] = {}
        self._dependents: dict[UID, dict[UID, KubeObject]] = {}
        self._by_namespace: dict[tuple[str, str], dict[UID, KubeObject]] = {}
        self._by_node: dict[str, dict[UID, Pod]] = {}
        self._unfinished: dict[UID, dict[UID, Pod]] = {}
        self.finished: dict[UID, Pod] = {}
        self.existing: list[KubeObject] = []
        for resource in store.kinds.all():
            if resource.kind not in NOT_INDEXED:
                for obj in store.list(resource, copy=False):
                    self.existing.append(obj)
                    self.apply(WatchEvent("ADDED", obj))

    def apply(self, event: WatchEvent) -> Delta:
        """Apply a change to the indexes and return it with the previous object."""
        obj = event.object
        uid = obj.metadata.uid
        old = self._objects.pop(uid, None)
        if old is not None:
            self._forget(uid, old)
        if event.type != "DELETED":
            self._objects[uid] = obj
            self._keep(uid, obj)
        return Delta(event.type, old, obj)

    def _keep(self, uid: UID, obj: KubeObject) -> None:
        meta, kind = obj.metadata, watched_kind(obj)
        self._by_namespace.setdefault((kind, meta.namespace), {})[uid] = obj
        controller = None
        for reference in meta.owner_references:
            self._dependents.setdefault(reference.uid, {})[uid] = obj
            if reference.controller:
                controller = reference.uid
        if controller is not None:
            self._owned.setdefault((controller, kind), {})[uid] = obj
        else:
            self._orphans.setdefault((kind, meta.namespace), {})[uid] = obj
        if isinstance(obj, Pod):
            if obj.spec.node_name:
                self._by_node.setdefault(obj.spec.node_name, {})[uid] = obj
            if obj.status.phase in TERMINAL_PHASES:
                self.finished[uid] = obj
            elif controller is not None:
                self._unfinished.setdefault(controller, {})[uid] = obj

    def _forget(self, uid: UID, obj: KubeObject) -> None:
        meta, kind = obj.metadata, watched_kind(obj)
        _remove(self._by_namespace, (kind, meta.namespace), uid)
        controller = None
        for reference in meta.owner_references:
            _remove(self._dependents, reference.uid, uid)
            if reference.controller:
                controller = reference.uid
        if controller is not None:
            _remove(self._owned, (controller, kind), uid)
        else:
            _remove(self._orphans, (kind, meta.namespace), uid)
        if isinstance(obj, Pod):
            if obj.spec.node_name:
                _remove(self._by_node, obj.spec.node_name, uid)
            self.finished.pop(uid, None)
            if controller is not None:
                _remove(self._unfinished, controller, uid)

    def objects(self) -> list[KubeObject]:
        """Return the objects, oldest first."""
        return _oldest_first(self._objects.values())

    def get(self, uid: UID) -> KubeObject | None:
        """Return the object with this UID; None without one."""
        return self._objects.get(uid)

    def owned(self, owner: KubeObject, kind: str) -> list[KubeObject]:
        """Return the objects of a kind that `owner` controls, oldest first."""
        return _oldest_first(self._owned.get((owner.metadata.uid, kind), {}).values())

    def owned_or_orphaned(self, owner: KubeObject, kind: str) -> list[KubeObject]:
        """Return the `owned` objects, and those of the namespace without a controller. Source: FilterPodsByOwner."""
        owned = self._owned.get((owner.metadata.uid, kind), {}).values()
        orphans = self._orphans.get((kind, owner.namespace), {}).values()
        return _oldest_first([*owned, *orphans])

    def unfinished_or_orphaned(self, owner: KubeObject) -> list[Pod]:
        """Return the pods of `owned_or_orphaned` without the owned finished ones, of which there may be thousands."""
        owned = self._unfinished.get(owner.metadata.uid, {}).values()
        orphans = self._orphans.get(("Pod", owner.namespace), {}).values()
        return _oldest_first([*owned, *orphans])  # type: ignore[return-value]

    def dependents(self, uid: UID) -> list[KubeObject]:
        """Return the objects with an owner reference to this UID, oldest first."""
        return _oldest_first(self._dependents.get(uid, {}).values())

    def of_namespace(self, kind: str, namespace: str) -> list[KubeObject]:
        """Return the objects of a kind in a namespace ("" for cluster-scoped kinds), oldest first."""
        return _oldest_first(self._by_namespace.get((kind, namespace), {}).values())

    def has_any(self, kind: str, namespace: str) -> bool:
        """Return whether a namespace has an object of a kind."""
        return bool(self._by_namespace.get((kind, namespace)))

    def pods_on(self, node: str) -> list[Pod]:
        """Return the pods bound to a node, oldest first."""
        return _oldest_first(self._by_node.get(node, {}).values())  # type: ignore[return-value]


def _remove(index: dict[Any, Any], key: object, uid: UID) -> None:
    entries = index.get(key)
    if entries is not None:
        entries.pop(uid, None)
        if not entries:
            del index[key]


def _oldest_first(objects: Iterable[KubeObject]) -> list[KubeObject]:
    return sorted(objects, key=age)
