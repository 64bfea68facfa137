"""New volumes and claims get the finalizer that keeps them while they are in use."""

from __future__ import annotations

import pytest

from kitlib.apiserver.admission.storage_protection import StorageObjectInUseProtectionPlugin
from tests.apiserver.admission.writes import made, write

CLAIM, VOLUME = "kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"


@pytest.mark.parametrize(("kind", "finalizer"), [("PersistentVolumeClaim", CLAIM), ("PersistentVolume", VOLUME)])
@pytest.mark.parametrize("others", [[], ["a/b"]])
def test_the_finalizer_is_added_once(kind: str, finalizer: str, others: list[str]) -> None:
    """Source: storageobjectinuseprotection admitPV, admitPVC."""
    new = made(kind, metadata={"finalizers": others})
    for _ in range(2):
        StorageObjectInUseProtectionPlugin().admit(*write(new))
        assert new.metadata.finalizers == [*others, finalizer]
