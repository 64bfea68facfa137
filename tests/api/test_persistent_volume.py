"""The storage class of claims and volumes."""

from __future__ import annotations

import pytest

from kitlib.api.persistent_volume import PersistentVolume, PersistentVolumeClaim, class_name

BETA = "volume.beta.kubernetes.io/storage-class"


@pytest.mark.parametrize("type_", [PersistentVolumeClaim, PersistentVolume])
@pytest.mark.parametrize(
    ("annotation", "field", "expected"),
    [
        (None, "", ""),
        (None, "fast", "fast"),
        ("slow", "", "slow"),
        ("slow", "fast", "slow"),
        ("", "fast", ""),
    ],
)
def test_the_annotation_comes_before_the_field(
    type_: type[PersistentVolumeClaim | PersistentVolume], annotation: str | None, field: str, expected: str
) -> None:
    """Source: GetPersistentVolumeClaimClass, GetPersistentVolumeClass."""
    obj = type_()
    obj.metadata.annotations = {} if annotation is None else {BETA: annotation}
    obj.spec.storage_class_name = field
    assert class_name(obj) == expected


def test_a_claim_without_a_class_has_none() -> None:
    claim = PersistentVolumeClaim()
    assert claim.spec.storage_class_name is None
    assert class_name(claim) == ""
