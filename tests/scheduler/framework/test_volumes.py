"""The volume that is found for a claim."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import PersistentVolume, PersistentVolumeClaim
from kitlib.api.serialize import from_dict
from kitlib.scheduler.framework.volumes import find_matching_volume


def claim(attributes: str = "") -> PersistentVolumeClaim:
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "",
    }
    spec |= {"volumeAttributesClassName": attributes} if attributes else {}
    made: PersistentVolumeClaim = from_dict(
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "d"}, "spec": spec}
    )
    return made


def volume(attributes: str = "", *, bound: bool) -> PersistentVolume:
    spec: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
    spec |= {"volumeAttributesClassName": attributes} if attributes else {}
    spec |= {"claimRef": {"name": "c", "namespace": "d"}} if bound else {}
    made: PersistentVolume = from_dict(
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": spec}
    )
    return made


@pytest.mark.parametrize("bound", [True, False], ids=["names the claim", "free"])
@pytest.mark.parametrize(("wanted", "offered"), [("gold", ""), ("", "gold"), ("gold", "silver"), ("gold", "gold")])
def test_another_class_of_attributes_excludes_also_the_volume_that_names_the_claim(
    bound: bool, wanted: str, offered: str
) -> None:
    """Source: FindMatchingVolume, which compares volumeAttributesClassName before it returns a pre-bound volume."""
    found = find_matching_volume(claim(wanted), [volume(offered, bound=bound)], None, ())
    assert (found is not None) == (wanted == offered)
