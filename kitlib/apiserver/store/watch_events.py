"""The events of a watch of the object store, in the order of the objects' versions."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject


class WatchEvent(NamedTuple):
    """A change: `ADDED`, `MODIFIED` or `DELETED`, the object after the change, and the object before it."""

    type: str
    object: KubeObject
    previous: KubeObject | None = None

    @property
    def version(self) -> int:
        return int(self.object.metadata.resource_version)


class ResourceExpired(KitError):
    """The changes since that version are compacted: list again and watch from the list's version."""


class Reader(Protocol):
    """A reader that fetches the changes from time to time.

    Attributes:
        seen: the version up to which it has read them.
    """

    @property
    def seen(self) -> int: ...
