"""What PreBind finds out about the volumes that it waits for."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.persistent_volume import PersistentVolume, PersistentVolumeClaim
from kitlib.api.serialize import from_dict
from kitlib.scheduler.framework.volumes import Volumes
from kitlib.scheduler.plugins.volume_binding import PodVolumes, check_bindings
from tests.scheduler.storage import ZONE, node

NODE = node("a", "z1")
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
SELECTED = "volume.kubernetes.io/selected-node"


def volume(zone: str = "z1", **reference: str) -> PersistentVolume:
    here = {"key": ZONE, "operator": "In", "values": [zone]}
    spec: dict[str, Any] = {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}}}
    if reference:
        spec["claimRef"] = reference
    return from_dict({"metadata": {"name": "v"}, "spec": spec}, PersistentVolume)


def claim(name: str = "v", **annotations: str) -> PersistentVolumeClaim:
    meta = {"name": "c", "namespace": "n", "annotations": annotations}
    return from_dict({"metadata": meta, "spec": {"volumeName": name}}, PersistentVolumeClaim)


TAKEN = volume(namespace="n", name="c", uid="u")


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ([TAKEN, claim(**BOUND)], True),
        ([TAKEN, claim()], False),
        ([TAKEN, claim("", **BOUND)], False),
        ([claim(**BOUND)], 'failed to check binding: could not find v1.PersistentVolume "v"'),
        ([TAKEN], 'failed to check binding: could not find v1.PersistentVolumeClaim "n/c"'),
        (
            [volume("z2", uid="u"), claim(**BOUND)],
            'pv "v" node affinity doesn\'t match node "a": no matching NodeSelectorTerms',
        ),
        ([volume(), claim(**BOUND)], 'ClaimRef got reset for pv "v"'),
        ([volume(name="c", namespace="n"), claim(**BOUND)], 'ClaimRef got reset for pv "v"'),
    ],
    ids=["bound", "not yet", "without a volume", "no volume", "no claim", "elsewhere", "reset", "without a uid"],
)
def test_a_volume_that_exists(objects: list[Any], expected: bool | str) -> None:
    """Source: checkBindings."""
    answer = PodVolumes(bindings=[(volume(), claim())])
    assert check_bindings(answer, NODE, Volumes.of(objects)) == expected


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ([TAKEN, claim(**BOUND, **{SELECTED: "a"})], True),
        ([claim("", **{SELECTED: "a"})], False),
        ([TAKEN, claim(**{SELECTED: "a"})], False),
        ([claim(**BOUND, **{SELECTED: "a"})], False),
        ([], 'failed to check provisioning pvc: could not find v1.PersistentVolumeClaim "n/c"'),
        ([claim("")], 'provisioning failed for PVC "c"'),
        ([claim("", **{SELECTED: "b"})], 'provisioning failed for PVC "c"'),
        (
            [volume("z2", uid="u"), claim(**BOUND, **{SELECTED: "a"})],
            'pv "v" node affinity doesn\'t match node "a": no matching NodeSelectorTerms',
        ),
    ],
    ids=[
        "bound",
        "not made",
        "not bound",
        "the volume is not seen yet",
        "no claim",
        "given up",
        "another node",
        "elsewhere",
    ],
)
def test_a_volume_that_a_provisioner_makes(objects: list[Any], expected: bool | str) -> None:
    answer = PodVolumes(provisions=[claim("")])
    assert check_bindings(answer, NODE, Volumes.of(objects)) == expected


def test_a_pod_without_such_claims_waits_for_nothing() -> None:
    assert check_bindings(PodVolumes(), NODE, Volumes()) is True
