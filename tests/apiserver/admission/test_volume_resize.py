"""A claim grows where it is bound and its class allows that; the refusals are the plugin's."""

from __future__ import annotations

import pytest

from kitlib.api.errors import Forbidden, Invalid
from kitlib.cluster import Cluster

OBJECTS = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: grows}
provisioner: kubernetes.io/no-provisioner
allowVolumeExpansion: ALLOWED
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: v}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: grows
  hostPath: {path: /v}
---
"""
CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: CLASS, resources: {requests: {storage: SIZE}}}
"""


def claim(size: str, of: str = "grows") -> str:
    return CLAIM.replace("SIZE", size).replace("CLASS", of)


def bound(allowed: str) -> Cluster:
    cluster = Cluster.simulated(1)
    cluster.apply(OBJECTS.replace("ALLOWED", allowed) + claim("1Gi"))
    cluster.advance(30)
    assert cluster.get("PersistentVolumeClaim", "data").status.phase == "Bound"
    return cluster


def test_a_bound_claim_grows_where_its_class_allows_it() -> None:
    cluster = bound("true")
    cluster.apply(claim("2Gi"))
    found = cluster.get("PersistentVolumeClaim", "data")
    assert str(found.spec.resources.requests["storage"]) == "2Gi"
    assert str(found.status.capacity["storage"]) == "1Gi"  # what expands volumes is the storage's, not Kubernetes'


def test_elsewhere_it_does_not() -> None:
    with pytest.raises(Forbidden, match="and the storageclass that provisions the pvc must support resize"):
        bound("false").apply(claim("2Gi"))


def test_a_claim_that_waits_keeps_its_size() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(claim("1Gi", "none"))
    with pytest.raises(Invalid, match=r"spec is immutable after creation except resources\.requests"):
        cluster.apply(claim("2Gi", "none"))
