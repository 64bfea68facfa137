"""Volumes and claims that the scheduler has promised to pods before the API says so.

Between the choice of a node and the volume controller's answer lie seconds or minutes. In this time the next pod must
not be given the same volume: what Reserve assumes is laid over the API's objects until the API has something newer.

Source: pkg/scheduler/util/assumecache, plugins/volumebinding/assume_cache.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from kitlib.api.core import PersistentVolume, PersistentVolumeClaim

V = TypeVar("V", PersistentVolume, PersistentVolumeClaim)
_Key = tuple[str, str]


class VolumesInAPI(Protocol):
    """Volumes by name, and claims, as the API has them."""

    @property
    def volumes(self) -> Mapping[str, PersistentVolume]: ...

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None: ...


class AssumeCache:
    """Assumed volumes and claims of one scheduler; they outlive a snapshot of the API's objects.

    Attributes:
        write: stores a changed volume or claim in the API and returns the stored one; None = there is no API, so that
            no volume controller answers either, and what was assumed counts as bound.
        api: the API's objects as last seen.
    """

    def __init__(self, api: VolumesInAPI) -> None:
        self.api = api
        self.write: Callable[[PersistentVolume | PersistentVolumeClaim], object] | None = None
        self._volumes: dict[_Key, tuple[PersistentVolume, PersistentVolume]] = {}
        self._claims: dict[_Key, tuple[PersistentVolumeClaim, PersistentVolumeClaim]] = {}

    def assume_volume(self, standing: PersistentVolume, assumed: PersistentVolume) -> None:
        """Show a volume as it is going to be, as long as the API's is the one from which this was made."""
        self._volumes["", standing.name] = standing, assumed

    def assume_claim(self, standing: PersistentVolumeClaim, assumed: PersistentVolumeClaim) -> None:
        self._claims[_key(standing)] = standing, assumed

    def restore_volume(self, name: str) -> None:
        """Show the API's object again."""
        self._volumes.pop(("", name), None)

    def restore_claim(self, claim: PersistentVolumeClaim) -> None:
        self._claims.pop(_key(claim), None)

    def volume(self, standing: PersistentVolume) -> PersistentVolume:
        """Return the volume as assumed, or else as the API has it."""
        return _latest(self._volumes, ("", standing.name), standing)

    def claim(self, standing: PersistentVolumeClaim) -> PersistentVolumeClaim:
        return _latest(self._claims, _key(standing), standing)


def _key(claim: PersistentVolumeClaim) -> _Key:
    return claim.namespace or "default", claim.name


def _latest(assumed: dict[_Key, tuple[V, V]], key: _Key, standing: V) -> V:
    entry = assumed.get(key)
    if entry is None:
        return standing
    origin, made = entry
    if origin is standing or _same_version(origin, standing):
        return made
    # Any newer object of the API replaces an assumed one, also of another writer: it knows what the scheduler wrote, or
    # shows that the volume went another way.
    del assumed[key]
    return standing


def _same_version(one: V, other: V) -> bool:
    version = one.metadata.resource_version
    return bool(version) and version == other.metadata.resource_version and one.metadata.uid == other.metadata.uid
