"""The state of the store at an earlier version, from the changes since then.

Source: etcd3 store.GetList with a revision; apiserver storage/cacher watchCache (snapshots of ListFromCacheSnapshot).
"""

from __future__ import annotations

from kitlib.api.meta import KubeObject
from kitlib.apiserver.store.kinds import Resource
from kitlib.apiserver.store.store import Store


def list_at(store: Store, kind: Resource, version: int, namespace: str | None = None) -> list[KubeObject]:
    """Return the objects of a kind that existed at a version, in no order; they must not be changed.

    Each change holds the object before it: the changes after the version are undone, the newest first.

    Args:
        store: the store.
        kind: the kind of the objects.
        version: a resource version, at most the newest.
        namespace: the namespace of the objects; None = all.

    Raises:
        ResourceExpired: the changes since that version are compacted.
    """
    found = {(obj.metadata.namespace, obj.metadata.name): obj for obj in store.list(kind, namespace, copy=False)}
    for event in reversed(store.changes(version)):
        meta = event.object.metadata
        if store.kinds.of(event.object).qualified != kind.qualified or namespace not in (None, meta.namespace):
            continue
        if event.previous is None:
            found.pop((meta.namespace, meta.name), None)
        else:
            found[meta.namespace, meta.name] = event.previous
    return list(found.values())
