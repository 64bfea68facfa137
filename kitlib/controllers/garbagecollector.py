"""The garbage collector: it deletes dependents after their last owner; foreground and orphan deletion.

Source: pkg/controller/garbagecollector/garbagecollector.go (attemptToDeleteItem, classifyReferences,
processDeletingDependentsItem, orphanDependents), graph_builder.go (processGraphChanges, addDependentToOwners).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.errors import NotFound
from kitlib.api.meta import KubeObject, OwnerReference
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission.deletion import FOREGROUND, ORPHAN
from kitlib.controllers.controller import ANY_KIND, Controller, Handler, Key, Manager
from kitlib.controllers.informers import Delta

_DEFINITION = "CustomResourceDefinition"


class GarbageCollector(Controller):
    """The controller of objects with owner references; keys are (UID,)."""

    name: ClassVar[str] = "garbage-collector-controller"
    account: ClassVar[str] = "generic-garbage-collector"

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self._unresolved: set[str] = set()

    def handlers(self) -> Mapping[str, Handler]:
        return {ANY_KIND: self._on_object, _DEFINITION: self._on_definition}

    def _on_definition(self, change: Delta) -> None:
        """Queue dependents again for a new kind, whose objects can be found as owners now. Source: monitors resync."""
        self._on_object(change)
        for uid in self._unresolved:
            self.queue.add((uid,))
        self._unresolved.clear()

    def _on_object(self, change: Delta) -> None:
        """Source: processGraphChanges."""
        meta = change.new.metadata
        if change.type == "DELETED":
            for dependent in self.informers.dependents(meta.uid):
                self.queue.add((dependent.metadata.uid,))
            for reference in meta.owner_references:  # an owner in foreground deletion may wait for this object
                self._check_owner(reference)
            return
        old = change.old.metadata if change.old is not None else None
        changed = old is None or old.owner_references != meta.owner_references
        if changed:
            self._report_other_namespaces(change.new)
            if any(
                self._is_dangling(change.new, one) or self._is_waiting(one) or not self._is_resolvable(change.new, one)
                for one in meta.owner_references
            ):
                self.queue.add((meta.uid,))
        if old is not None and old.owner_references != meta.owner_references:
            for reference in old.owner_references:
                self._check_owner(reference)
        if meta.deletion_timestamp is not None and (FOREGROUND in meta.finalizers or ORPHAN in meta.finalizers):
            self.queue.add((meta.uid,))
            if FOREGROUND in meta.finalizers:
                for dependent in self.informers.dependents(meta.uid):
                    self.queue.add((dependent.metadata.uid,))

    def _check_owner(self, reference: OwnerReference) -> None:
        owner = self.informers.get(reference.uid)
        if owner is not None and FOREGROUND in owner.metadata.finalizers:
            self.queue.add((reference.uid,))

    def _report_other_namespaces(self, item: KubeObject) -> None:
        """Record an event for each owner in another namespace. Source: reportInvalidNamespaceOwnerRef."""
        namespace = item.metadata.namespace
        for reference in item.metadata.owner_references:
            owner = self.informers.get(reference.uid)
            if owner is not None and owner.metadata.namespace not in ("", namespace):
                kind = f"{reference.api_version}/{reference.kind}"
                named = f"[{kind}, namespace: {namespace}, name: {reference.name}, uid: {reference.uid}]"
                message = f'ownerRef {named} does not exist in namespace "{namespace}"'
                self.event(item, "Warning", "OwnerRefInvalidNamespace", message)

    def _is_resolvable(self, item: KubeObject, reference: OwnerReference) -> bool:
        """Return whether an owner can be looked up: the server has its kind, and the item a namespace if it needs one.

        Source: isDangling (apiResource, namespacedOwnerOfClusterScopedObjectErr).
        """
        kind = self.api.store.kinds.find(reference.api_version, reference.kind)
        return kind is not None and (bool(item.metadata.namespace) or not kind.namespaced)

    def _is_dangling(self, item: KubeObject, reference: OwnerReference) -> bool:
        """Return whether no such owner exists in the item's namespace or without a namespace. Source: isDangling."""
        if not self._is_resolvable(item, reference):
            return False
        owner = self.informers.get(reference.uid)
        if owner is None:
            return True
        here = owner.metadata.namespace in ("", item.metadata.namespace)
        kinds = self.api.store.kinds
        same = kinds.of(owner) == kinds.find(reference.api_version, reference.kind) and owner.name == reference.name
        return not here or not same

    def _is_waiting(self, reference: OwnerReference) -> bool:
        """Return whether the owner waits for the deletion of its dependents. Source: isDeletingDependents."""
        owner = self.informers.get(reference.uid)
        return owner is not None and _deletes_dependents(owner)

    def sync(self, key: Key) -> None:
        """Source: attemptToDeleteItem."""
        item = self.informers.get(key[0])
        if item is None:
            return
        meta = item.metadata
        if meta.deletion_timestamp is not None:
            if ORPHAN in meta.finalizers:
                self._orphan_dependents(item)
            elif FOREGROUND in meta.finalizers:
                self._delete_dependents(item)
            return
        if not all(self._is_resolvable(item, reference) for reference in meta.owner_references):
            # Without its kind the absence of an owner cannot be proved, so the object is kept. Source: isDangling.
            self._unresolved.add(meta.uid)
            return
        dangling = [reference for reference in meta.owner_references if self._is_dangling(item, reference)]
        waiting = [
            reference
            for reference in meta.owner_references
            if self._is_waiting(reference) and reference not in dangling
        ]
        if not dangling and not waiting:
            return
        # Waiting owners are removed too; otherwise they would wait forever for this object, which is kept.
        if len(dangling) + len(waiting) < len(meta.owner_references):  # another owner remains
            gone = {reference.uid for reference in (*dangling, *waiting)}
            self._write_references(
                item, [reference for reference in meta.owner_references if reference.uid not in gone]
            )
            return
        dependents = self.informers.dependents(meta.uid)
        if waiting and dependents:
            # A cycle of owners in foreground deletion would block itself, so the references stop blocking. The check
            # has false positives, like upstream's. Source: attemptToDeleteItem.
            if any(_deletes_dependents(dependent) for dependent in dependents):
                self._unblock_owners(item)
            propagation = "Foreground"
        elif ORPHAN in meta.finalizers:
            propagation = "Orphan"
        else:
            propagation = "Foreground" if FOREGROUND in meta.finalizers else "Background"
        self._delete(item, propagation)

    def _unblock_owners(self, item: KubeObject) -> None:
        """Source: unblockOwnerReferencesStrategicMergePatch."""
        references = deepcopy(item).metadata.owner_references
        for reference in references:
            if reference.block_owner_deletion:
                reference.block_owner_deletion = False
        self._write_references(item, references)

    def _delete(self, item: KubeObject, propagation: str) -> None:
        try:
            self.api.delete(
                self.api.store.kinds.of(item), item.name, item.namespace, grace=None, propagation=propagation
            )
        except NotFound:
            return

    def _delete_dependents(self, item: KubeObject) -> None:
        """Source: processDeletingDependentsItem."""
        dependents = self.informers.dependents(item.metadata.uid)
        blocking = [
            one
            for one in dependents
            if any(r.uid == item.metadata.uid and r.block_owner_deletion for r in one.metadata.owner_references)
        ]
        # Dependents without blockOwnerDeletion are deleted too, but the owner does not wait for them.
        if not blocking:
            self.api.remove_finalizer(item, FOREGROUND)
            return
        for dependent in dependents:
            self.queue.add((dependent.metadata.uid,))

    def _orphan_dependents(self, item: KubeObject) -> None:
        """Source: orphanDependents, removeFinalizer."""
        for dependent in self.informers.dependents(item.metadata.uid):
            kept = [
                reference for reference in dependent.metadata.owner_references if reference.uid != item.metadata.uid
            ]
            self._write_references(dependent, kept)
        self.api.remove_finalizer(item, ORPHAN)

    def _write_references(self, item: KubeObject, references: list[OwnerReference]) -> None:
        changed = deepcopy(item)
        changed.metadata.owner_references = references
        self.api.store.update(changed)


def _deletes_dependents(item: KubeObject) -> bool:
    """Return whether the object is in foreground deletion. Source: graph.go isDeletingDependents."""
    return item.metadata.deletion_timestamp is not None and FOREGROUND in item.metadata.finalizers
