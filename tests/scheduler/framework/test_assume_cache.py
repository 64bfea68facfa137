"""Assumed volumes and claims replace those of the API until the API has another version."""

from __future__ import annotations

from typing import Any

from kitlib.api.core import PersistentVolume, PersistentVolumeClaim
from kitlib.api.serialize import from_dict
from kitlib.scheduler.framework.assume_cache import AssumeCache

API: Any = None


def volume(version: str = "1", uid: str = "u", **spec: Any) -> PersistentVolume:
    return from_dict(
        {"metadata": {"name": "pv", "uid": uid, "resourceVersion": version}, "spec": spec}, PersistentVolume
    )


def claim(namespace: str = "a", version: str = "1", name: str = "c") -> PersistentVolumeClaim:
    meta = {"name": name, "namespace": namespace, "uid": "u", "resourceVersion": version}
    return from_dict({"metadata": meta}, PersistentVolumeClaim)


def test_an_assumed_volume_replaces_the_same_version() -> None:
    cache, standing, assumed = AssumeCache(API), volume(), volume()
    assert cache.volume(standing) is standing
    cache.assume_volume(standing, assumed)
    assert cache.volume(standing) is assumed
    assert cache.volume(volume()) is assumed, "another object of the same version, as after a new list"


def test_another_version_of_the_api_ends_the_assumption() -> None:
    """Source: assumecache.add, which takes the newer object of the informer."""
    for newer in (volume("2"), volume(uid="v")):
        cache, standing = AssumeCache(API), volume()
        cache.assume_volume(standing, volume())
        assert cache.volume(newer) is newer
        assert cache.volume(standing) is standing, "the assumption is forgotten"


def test_without_versions_objects_are_compared_by_identity() -> None:
    cache, standing, assumed = AssumeCache(API), volume(""), volume("")
    cache.assume_volume(standing, assumed)
    assert cache.volume(standing) is assumed
    other = volume("")
    assert cache.volume(other) is other


def test_a_restored_object_is_that_of_the_api() -> None:
    cache, standing, mine = AssumeCache(API), volume(), claim()
    cache.assume_volume(standing, volume())
    cache.assume_claim(mine, claim())
    cache.restore_volume("pv")
    cache.restore_claim(mine)
    assert cache.volume(standing) is standing and cache.claim(mine) is mine
    cache.restore_volume("pv")
    cache.restore_claim(mine)


def test_claims_differ_by_namespace_and_name() -> None:
    cache, mine, assumed = AssumeCache(API), claim("default"), claim("default")
    cache.assume_claim(mine, assumed)
    for other in (claim("a"), claim("default", name="d")):
        assert cache.claim(other) is other
    assert cache.claim(mine) is assumed
    # a claim without a namespace is in the namespace default
    assert cache.claim(claim("")) is assumed
