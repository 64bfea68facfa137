"""The checks of every update: preconditions, and the metadata that all kinds have.

Source: registry.Store.Update, storage.Preconditions.Check, rest.BeforeUpdate, rest.validateCommonFields.
"""

from __future__ import annotations

from kitlib.api.errors import Conflict, Invalid
from kitlib.api.field_errors import Errors, invalid
from kitlib.api.meta import KubeObject
from kitlib.apiserver.store.kinds import Resource, built_in_resource
from kitlib.apiserver.validation.object_meta import (
    validate_object_meta,
    validate_object_meta_update,
    validate_path_segment_name,
)

_VERSION_NEEDED = frozenset(
    {
        "CSIDriver",
        "CSINode",
        "CSIStorageCapacity",
        "CustomResourceDefinition",
        "Lease",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "PodDisruptionBudget",
        "RuntimeClass",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
        "VolumeAttachment",
    }
)
"""Built-in kinds whose updates must have a resourceVersion, as those of all custom kinds.

Source: AllowUnconditionalUpdate of the strategies.
"""


def check_preconditions(made: KubeObject, old: KubeObject, kind: Resource) -> None:
    """Check that an update is based on the stored object.

    Raises:
        Conflict: it is based on an older version or on another object of that name.
        Invalid: it has no version, and the kind requires one.
    """
    new, standing = made.metadata, old.metadata
    if new.uid and new.uid != standing.uid:
        detail = f"Precondition failed: UID in precondition: {new.uid}, UID in object meta: {standing.uid}"
        raise Conflict(kind.qualified, made.name, detail)
    if new.resource_version and new.resource_version != standing.resource_version:
        raise Conflict(kind.qualified, made.name)
    custom = built_in_resource(kind.group, kind.kind) is None
    if not new.resource_version and (custom or kind.kind in _VERSION_NEEDED):
        problem = invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise Invalid(kind.qualified, made.name, [problem])


def validate_common_fields(made: KubeObject, old: KubeObject, *, namespaced: bool) -> Errors:
    """Return the errors of the metadata; the kind's rules find most of them again, as upstream's do."""
    found = validate_object_meta(
        made.metadata, namespaced=namespaced, name_rule=validate_path_segment_name, known_finalizers=False
    )
    return found + validate_object_meta_update(made.metadata, old.metadata, known_finalizers=False)
