"""Points for free storage; the decisions are in tests/vectors/scheduler_gates."""

from __future__ import annotations

import pytest

from kitlib.api.core import PersistentVolume, PersistentVolumeClaim
from kitlib.api.serialize import from_dict
from kitlib.api.storage import CSIStorageCapacity
from kitlib.scheduler.plugins.volume_scorer import storage_score, storage_used

LINE = [(0, 100), (100, 0)]


def claim(name: str, size: str, of: str = "fast") -> PersistentVolumeClaim:
    spec = {"storageClassName": of, "resources": {"requests": {"storage": size}}}
    made: PersistentVolumeClaim = from_dict({"metadata": {"name": name}, "spec": spec}, PersistentVolumeClaim)
    return made


def volume(size: str, of: str = "fast") -> PersistentVolume:
    spec = {"storageClassName": of, "capacity": {"storage": size}}
    made: PersistentVolume = from_dict({"spec": spec}, PersistentVolume)
    return made


def capacity(size: str) -> CSIStorageCapacity:
    made: CSIStorageCapacity = from_dict({"storageClassName": "fast", "capacity": size}, CSIStorageCapacity)
    return made


def test_existing_volumes_add_up_and_provisioned_ones_do_not_count_beside_them() -> None:
    bound = [(volume("10Gi"), claim("a", "1Gi")), (volume("30Gi"), claim("b", "9Gi"))]
    assert storage_used(bound, [claim("c", "50Gi")], {"c": capacity("100Gi")}) == [25]


def test_provisioned_claims_of_a_class_share_its_capacity() -> None:
    claims = [claim("a", "50Gi"), claim("b", "25Gi"), claim("c", "1Gi", "other")]
    assert storage_used([], claims, {"a": capacity("100Gi"), "b": capacity("100Gi")}) == [75]


def test_more_than_there_is_counts_as_full() -> None:
    assert storage_used([], [claim("a", "50Gi"), claim("b", "60Gi")], dict.fromkeys("ab", capacity("100Gi"))) == [100]


@pytest.mark.parametrize(
    ("used", "points"), [([], 0), ([0], 100), ([33], 67), ([100], 0), ([33, 0], 84), ([33, 34, 0], 78)]
)
def test_the_points_are_the_rounded_mean_along_the_shape(used: list[int], points: int) -> None:
    assert storage_score(used, LINE) == points
