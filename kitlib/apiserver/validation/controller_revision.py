"""Validation of ControllerRevisions.

Source: pkg/apis/apps/validation ValidateControllerRevision, ValidateControllerRevisionUpdate.
"""

from __future__ import annotations

from kitlib.api.apps import ControllerRevision
from kitlib.api.field_errors import Errors, required, validate_immutable_field, validate_nonnegative_field
from kitlib.apiserver.validation.object_meta import validate_object_meta, validate_object_meta_update
from kitlib.apiserver.validation.rules import Rules


def validate_controller_revision(obj: ControllerRevision) -> Errors:
    """Source: ValidateControllerRevision."""
    found = validate_object_meta(obj.metadata, namespaced=True)
    if obj.data is None:
        found.append(required("data", "data is mandatory"))
    return found + validate_nonnegative_field(obj.revision, "revision")


def validate_controller_revision_update(new: ControllerRevision, old: ControllerRevision) -> Errors:
    """Check that an update keeps the data. Source: ValidateControllerRevisionUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata) + validate_controller_revision(new)
    return found + validate_immutable_field(new.data, old.data, "data")


KINDS: Rules = {
    ControllerRevision: (validate_controller_revision, validate_controller_revision_update),
}
