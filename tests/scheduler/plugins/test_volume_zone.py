"""VolumeZone: labels of volumes that list zones, and nodes without zones."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Node
from kitlib.api.persistent_volume import PersistentVolume, PersistentVolumeClaim
from kitlib.api.serialize import from_dict
from kitlib.scheduler.scheduler import Scheduler
from tests.scheduler.storage import pod

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA = "failure-domain.beta.kubernetes.io/zone"
CONFLICT = "node(s) had no available volume zone"


def reasons(labels: dict[str, str], node: dict[str, str], release: str = "1.36") -> list[str]:
    """Return why a node with labels cannot run a pod with a volume with labels."""
    status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9"}}
    nodes = [from_dict({"metadata": {"name": "a", "labels": node}, "status": status}, Node)]
    claim = {"metadata": {"name": "c", "namespace": "default",
                          "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
             "spec": {"volumeName": "v", "accessModes": ["ReadWriteOnce"]}}  # fmt: skip
    volume = {"metadata": {"name": "v", "labels": labels}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    volumes: list[Any] = [from_dict(claim, PersistentVolumeClaim), from_dict(volume, PersistentVolume)]
    return list(Scheduler(nodes, [], volumes=volumes, release=release).explain(pod("c")).reasons_of("a"))


@pytest.mark.parametrize(
    ("volume", "node", "fits"),
    [
        ({ZONE: "z1"}, {ZONE: "z1"}, True),
        ({ZONE: "z1"}, {ZONE: "z2"}, False),
        ({ZONE: "z1__z2"}, {ZONE: "z2"}, True),
        ({ZONE: "z1__z2"}, {ZONE: "z3"}, False),
        ({ZONE: "z1__"}, {ZONE: "z3"}, True),
        ({ZONE: "z1"}, {}, True),
        ({ZONE: "z1"}, {REGION: "r"}, False),
        ({ZONE: "z1", REGION: "r"}, {ZONE: "z1", REGION: "q"}, False),
        ({ZONE: "z1", REGION: "r"}, {ZONE: "z1", REGION: "r"}, True),
        ({}, {ZONE: "z1"}, True),
        ({BETA: "z1"}, {ZONE: "z1"}, True),
        ({BETA: "z1"}, {ZONE: "z2"}, False),
    ],
    ids=["the zone", "another", "one of two", "none of two", "an empty zone voids the list", "a node without zones",
         "a node of a region alone", "another region", "both", "no zones", "the old label", "and another"],
)  # fmt: skip
def test_a_volume_is_used_in_its_zone(volume: dict[str, str], node: dict[str, str], fits: bool) -> None:
    """Source: volumezone Filter, LabelZonesToSet."""
    assert reasons(volume, node) == ([] if fits else [CONFLICT])
