"""What a watch of the object store tells: one change after the other, in the order of their versions."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject


class WatchEvent(NamedTuple):
    """One change: `ADDED`, `MODIFIED` or `DELETED`, and the object as it stood after it."""

    type: str
    object: KubeObject

    @property
    def version(self) -> int:
        return int(self.object.metadata.resource_version)


class Gone(KitError):
    """The changes since that version are no longer remembered: list again, then watch from there."""


class Reader(Protocol):
    """Who reads the changes now and then.

    Attributes:
        seen: the version up to which it has read them.
    """

    @property
    def seen(self) -> int: ...
