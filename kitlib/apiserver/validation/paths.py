"""Validation of paths inside containers and volumes.

Source: pkg/apis/core/validation validateLocalDescendingPath, validatePathNoBacksteps, ValidateLocalNonReservedPath.
"""

from __future__ import annotations

from kitlib.api.field_errors import Errors, invalid


def validate_path_no_backsteps(path: str, field: str) -> Errors:
    """Source: validatePathNoBacksteps."""
    return [invalid(field, path, "must not contain '..'")] if ".." in path.split("/") else []


def validate_local_descending_path(path: str, field: str) -> Errors:
    """Source: validateLocalDescendingPath."""
    found = [invalid(field, path, "must be a relative path")] if path.startswith("/") else []
    return found + validate_path_no_backsteps(path, field)


def validate_local_non_reserved_path(path: str, field: str) -> Errors:
    """Source: ValidateLocalNonReservedPath."""
    found = validate_local_descending_path(path, field)
    if path.startswith("..") and not path.startswith("../"):
        found.append(invalid(field, path, "must not start with '..'"))
    return found
