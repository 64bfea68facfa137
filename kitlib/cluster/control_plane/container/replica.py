"""A local copy of the control plane's object store, updated by its changes like an informer's cache.

It is a `Store`, so that all code that reads a store can read it. Only its changes are written to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from kitlib.api.apiextensions import CustomResourceDefinition
from kitlib.api.errors import KitError
from kitlib.api.serialize import from_dict
from kitlib.apiserver.store.store import Store, WatchEvent


class Replica(Store):
    """The objects as of the last applied change."""

    def absorb(self, changes: Sequence[Sequence[Any]], version: int) -> None:
        """Apply the changes of the original.

        Args:
            changes: the kind of each change and the object's plain data, oldest first.
            version: the version of the store after them.
        """
        for change, data in changes:
            made = from_dict(data)
            kind, key = self.kinds.of(made), (made.metadata.namespace, made.metadata.name)
            here = self._objects.setdefault(kind.qualified, {})
            previous = here.get(key)
            self._share_parts(kind, made, previous)
            if change == "DELETED":
                here.pop(key, None)
            else:
                here[key] = made
            self._forget_kinds(kind.qualified)
            self.version = int(made.metadata.resource_version)
            self._publish(WatchEvent(change, made, previous))
        self.version = version
        self.compact()

    def restart(self, objects: Sequence[dict[str, Any]], version: int) -> None:
        """Replace all objects, because the original no longer has the changes since the last version."""
        self._objects = {}
        self.kinds.invalidate()
        parsed = [from_dict(data) for data in objects]
        # definitions first, because they declare the kinds of other objects
        for made in sorted(parsed, key=lambda obj: not isinstance(obj, CustomResourceDefinition)):
            kind, key = self.kinds.of(made), (made.metadata.namespace, made.metadata.name)
            self._objects.setdefault(kind.qualified, {})[key] = made
            self._forget_kinds(kind.qualified)
        self._history.clear()
        self.version = self._forgotten = version

    def _read_only(self, *_: Any, **__: Any) -> NoReturn:
        raise KitError(
            "this store is a read-only copy of the control plane's store: use the cluster's methods apply, patch and "
            "delete"
        )

    create = update = delete = transaction = _read_only
