"""The strategies of custom objects and their definitions: status, generation, deletion.

Source: apiextensions-apiserver pkg/registry/customresource/strategy.go, status_strategy.go,
pkg/registry/customresourcedefinition/strategy.go, etcd.go (REST.Delete).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kitlib.api.apiextensions import CustomResourceDefinition, CustomResourceDefinitionStatus
from kitlib.api.errors import MethodNotAllowed
from kitlib.api.meta import Condition, KubeObject, put_condition
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission.custom.objects import definition_of
from kitlib.apiserver.store.store import Store

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer that keeps a definition until its objects are deleted. Source: CustomResourceCleanupFinalizer."""


def is_custom(obj: KubeObject) -> bool:
    """Return whether an object is of a custom kind."""
    return type(obj) is KubeObject


def prepare_for_create(store: Store, obj: KubeObject) -> None:
    """Remove the status if the version has the status subresource, in place; set a definition's stored versions.

    Raises:
        MethodNotAllowed: the definition of the object's kind is being deleted.
    """
    if isinstance(obj, CustomResourceDefinition):
        obj.status = CustomResourceDefinitionStatus(stored_versions=_stored_versions(obj, []))
    elif is_custom(obj):
        definition = definition_of(store, obj.api_version, obj.kind)
        if definition is not None and definition.metadata.deletion_timestamp is not None:
            raise MethodNotAllowed("create not allowed while custom resource definition is terminating")
        if has_status_subresource(store, obj):
            _set_status(obj, None)


def prepare_for_update(store: Store, obj: KubeObject, old: KubeObject) -> None:
    """Restore the old status if the version has the status subresource, in place."""
    if isinstance(obj, CustomResourceDefinition) and isinstance(old, CustomResourceDefinition):
        kept = deepcopy(old.status)
        kept.stored_versions = _stored_versions(obj, kept.stored_versions)
        obj.status = kept
    elif is_custom(obj) and has_status_subresource(store, obj):
        _set_status(obj, old.unknown_fields.get("status"))


def with_status_of(obj: KubeObject, old: KubeObject) -> KubeObject:
    """Return the old object with the new one's status and managers: a write to `/status` changes nothing else."""
    made, new = deepcopy(old), deepcopy(obj)
    made.api_version = obj.api_version
    _set_status(made, new.unknown_fields.get("status"))
    made.metadata.managed_fields = new.metadata.managed_fields
    return made


def has_status_subresource(store: Store, obj: KubeObject) -> bool:
    """Return whether the definition gives the object's version the subresource `status`."""
    definition = definition_of(store, obj.api_version, obj.kind)
    if definition is None:
        return False
    version = obj.api_version.rpartition("/")[2]
    found = next(one for one in definition.spec.versions if one.name == version)
    return found.subresources is not None and found.subresources.status is not None


def mark_terminating(definition: CustomResourceDefinition, now: datetime) -> None:
    """Mark a definition that is being deleted: it is kept until the finalizing controller has deleted its objects."""
    if CLEANUP not in definition.metadata.finalizers:
        definition.metadata.finalizers = [*definition.metadata.finalizers, CLEANUP]
    message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    made = Condition(type="Terminating", status="True", reason="InstanceDeletionPending", message=message)
    definition.status.conditions = put_condition(definition.status.conditions, made, now)


def _set_status(obj: KubeObject, status: Any) -> None:
    fields = {name: value for name, value in obj.unknown_fields.items() if name != "status"}
    if status is not None:
        fields["status"] = status
    obj.__dict__["unknown_fields_"] = fields or None


def _stored_versions(definition: CustomResourceDefinition, known: list[str]) -> list[str]:
    stored = [version.name for version in definition.spec.versions if version.storage and version.name not in known]
    return [*known, *stored[:1]]
