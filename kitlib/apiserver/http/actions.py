"""The clients' writes as entries of the cluster's journal, so that a replay repeats them like calls in Python.

A lab is graded on a replay of the journal: work that is done with kubectl counts as work that is done in Python. An
entry contains the change that was accepted, not the request: a create has the object as it was sent, an update the
difference from the stored object. The cluster leaves out the writes of components and service accounts, which are not
the actions of a person, unless a person acts as one of them (`kubectl --as`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kitlib.api.meta import SERVER_WRITTEN, KubeObject
from kitlib.api.serialize import to_dict
from kitlib.apiserver.store.kinds import Resource
from kitlib.apiserver.store.merge_diff import strategic_diff

BY_CLIENTS = frozenset({"Lease", "Event"})
"""Kinds that programs write about their own work."""
_STATUS = frozenset({"status", "approval"})


class ActionLog:
    """The recorder of accepted writes.

    Args:
        record: adds an entry to the journal; called with the action and its fields.
    """

    def __init__(self, record: Callable[..., None]) -> None:
        self._record = record

    def written(
        self, kind: Resource, before: KubeObject | None, after: KubeObject, sent: Mapping[str, Any], subresource: str
    ) -> None:
        """Record the creation of an object, or a change of its status or of everything else.

        Args:
            kind: the object's resource.
            before: the stored object before the write; None = it is created.
            after: the stored object after the write.
            sent: the object as the client sent it; a generated name is generated again in a replay.
            subresource: the subresource of the request; "" = none.
        """
        if kind.kind in BY_CLIENTS:
            return
        if before is None:
            self._record("create", objects=[{**sent, "metadata": _by_clients(sent.get("metadata") or {})}])
            return
        own = subresource in _STATUS
        patch = strategic_diff(_compared(before, status=own), _compared(after, status=own))
        if not patch:
            return
        below = {"subresource": subresource} if subresource not in ("", "status") else {}
        meta = before.metadata
        action = "patch_status" if own else "patch"
        self._record(action, kind=kind.recorded, name=meta.name, namespace=meta.namespace, patch=patch, **below)

    def deleted(self, kind: Resource, namespace: str, name: str, grace: int | None, policy: str) -> None:
        """Record the deletion of an object."""
        if kind.kind not in BY_CLIENTS:
            how = {"propagation_policy": policy} if policy else {}
            self._record("delete", kind=kind.recorded, name=name, namespace=namespace, grace=grace, **how)


def _by_clients(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in metadata.items() if field not in SERVER_WRITTEN}


def _compared(obj: KubeObject, *, status: bool) -> dict[str, Any]:
    """Return the part of an object that a write changes: its status, or everything else."""
    plain = to_dict(obj)
    part = {"status": plain.get("status", {})} if status else {k: v for k, v in plain.items() if k != "status"}
    return {
        "apiVersion": plain["apiVersion"],
        "kind": plain["kind"],
        **part,
        "metadata": _by_clients(plain.get("metadata", {})),
    }
