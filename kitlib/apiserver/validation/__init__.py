"""Validation with Kubernetes' own field paths and messages: `validate`, `FieldError`.

Each module covers one subject, each function one rule, named as upstream. `validate` finds the rules of an object's
type.

Imported by admission, http, and study and widgets, which check a pod before they show it.
Face: `validate` and `validate_pod_create`.

Source: pkg/apis/*/validation, registry/*/strategy.go.
"""

from __future__ import annotations

from kitlib.api.core import PersistentVolumeClaim, ReplicationController, ResourceQuota, Service
from kitlib.api.field_errors import Errors, FieldError
from kitlib.api.meta import KubeObject
from kitlib.api.release import Release
from kitlib.apiserver.validation.pod import validate_pod_create
from kitlib.apiserver.validation.registry import rules_of

__all__ = ["FieldError", "validate", "validate_pod_create", "validate_status"]


def validate(
    obj: KubeObject, old: KubeObject | None = None, *, namespaced: bool = True, release: Release | None = None
) -> Errors:
    """Return the errors of a defaulted object; [] = it is valid.

    Args:
        obj: the object to be stored.
        old: the stored object of an update; None for a new one.
        namespaced: whether a kind without rules of its own is namespaced.
        release: the API server's release, with its feature gates; None = that of the
            enclosing `Release.following` block, else the latest.
    """
    create, update = rules_of(type(obj), namespaced=namespaced)
    with (release or Release.followed()).following():
        return create(obj) if old is None or type(old) is not type(obj) else update(obj, old)


def validate_status(obj: KubeObject, old: KubeObject) -> Errors:
    """Return the errors of a new status; [] = it is valid."""
    if not isinstance(obj, PersistentVolumeClaim | ReplicationController | ResourceQuota | Service):
        return []
    from kitlib.apiserver.validation.statuses import validate_status_update

    return validate_status_update(obj, old)
