"""Volumes and claims that the scheduler has assigned to pods before the API shows it.

The volume controller may answer minutes after the choice of a node. In this time no other pod may get the same volume:
the objects that Reserve assumes replace those of the API until the API has a newer version.

Source: pkg/scheduler/util/assumecache, plugins/volumebinding/assume_cache.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from kitlib.api.core import PersistentVolume, PersistentVolumeClaim

V = TypeVar("V", PersistentVolume, PersistentVolumeClaim)
_Key = tuple[str, str]


class VolumesInAPI(Protocol):
    """The volumes, by name, and the claims of the API."""

    @property
    def volumes(self) -> Mapping[str, PersistentVolume]: ...

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None: ...


class AssumeCache:
    """The assumed volumes and claims of one scheduler, which outlive a snapshot of the API's objects.

    Attributes:
        write: the function that stores a changed volume or claim in the API and returns the stored one; None = there is
            no API and no volume controller, so that assumed objects count as bound.
        api: the API's objects as last seen.
    """

    def __init__(self, api: VolumesInAPI) -> None:
        self.api = api
        self.write: Callable[[PersistentVolume | PersistentVolumeClaim], object] | None = None
        self._volumes: dict[_Key, tuple[PersistentVolume, PersistentVolume]] = {}
        self._claims: dict[_Key, tuple[PersistentVolumeClaim, PersistentVolumeClaim]] = {}

    def assume_volume(self, standing: PersistentVolume, assumed: PersistentVolume) -> None:
        """Replace a volume by its future state until the API has another version than `standing`."""
        self._volumes["", standing.name] = standing, assumed

    def assume_claim(self, standing: PersistentVolumeClaim, assumed: PersistentVolumeClaim) -> None:
        self._claims[_key(standing)] = standing, assumed

    def restore_volume(self, name: str) -> None:
        """Forget the future state of a volume."""
        self._volumes.pop(("", name), None)

    def restore_claim(self, claim: PersistentVolumeClaim) -> None:
        self._claims.pop(_key(claim), None)

    def volume(self, standing: PersistentVolume) -> PersistentVolume:
        """Return the assumed volume, or the API's if none is assumed."""
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
    # without an API server objects have no resourceVersion: they are compared by identity
    if origin is standing or _same_version(origin, standing):
        return made
    # Any newer object of the API replaces the assumed one, even if another client wrote it: it contains the scheduler's
    # write, or shows that the volume was used otherwise.
    del assumed[key]
    return standing


def _same_version(volume: V, other: V) -> bool:
    version = volume.metadata.resource_version
    return bool(version) and version == other.metadata.resource_version and volume.metadata.uid == other.metadata.uid
