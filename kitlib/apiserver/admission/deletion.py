"""Deletion of objects: finalizers, propagation, and namespaces, which are kept until they are empty.

Source: apiserver registry/generic/registry/store.go (Delete, deletionFinalizersForGarbageCollection),
rest.BeforeDelete; registry/core/namespace/storage (Delete, Finalize).
"""

from __future__ import annotations

from datetime import datetime

from kitlib.api.core import Namespace
from kitlib.api.meta import KubeObject, ObjectMeta

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
NAMESPACE_FINALIZER = "kubernetes"
PVC_PROTECTION = "kubernetes.io/pvc-protection"
PV_PROTECTION = "kubernetes.io/pv-protection"
BACKGROUND = "Background"
PROPAGATION_POLICIES = (BACKGROUND, "Foreground", "Orphan")
_BY_PROPAGATION = {"Foreground": FOREGROUND, "Orphan": ORPHAN}


def with_propagation(meta: ObjectMeta, propagation: str) -> list[str]:
    """Return the finalizers of an object that is deleted with this propagation policy.

    Source: deletionFinalizersForGarbageCollection.
    """
    wanted = _BY_PROPAGATION.get(propagation)
    kept = [finalizer for finalizer in meta.finalizers if finalizer not in (FOREGROUND, ORPHAN)]
    if propagation == BACKGROUND and meta.deletion_timestamp is None:
        kept = list(meta.finalizers)  # an earlier request's policy is kept
    return [*kept, *([wanted] if wanted and wanted not in kept else [])]


def keeps(obj: KubeObject) -> bool:
    """Return whether finalizers keep a deleted object."""
    if isinstance(obj, Namespace) and obj.spec.finalizers:
        return True
    return bool(obj.metadata.finalizers)


def mark(obj: KubeObject, now: datetime) -> None:
    """Mark an object as being deleted, in place."""
    obj.metadata.deletion_timestamp = obj.metadata.deletion_timestamp or now
    obj.metadata.deletion_grace_period_seconds = 0
    if isinstance(obj, Namespace):
        obj.status = {**obj.status, "phase": "Terminating"}
