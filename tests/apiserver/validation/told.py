"""Objects to validate, and their errors in a short form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from kitlib.api.field_errors import FieldError
from kitlib.api.meta import KubeStruct
from kitlib.api.serialize import from_dict

T = TypeVar("T", bound=KubeStruct)


def told(errors: Iterable[FieldError]) -> list[str]:
    """Return each error as `FIELD TYPE DETAIL`: `spec.replicas Invalid must be greater than or equal to 0`."""
    return [f"{error.field} {error.type.removeprefix('FieldValue')} {error.detail}".strip() for error in errors]


def named(type_: type[T], name: str = "a", namespace: str = "", **fields: Any) -> T:
    """Return an object with a name."""
    meta = {"name": name, **({"namespace": namespace} if namespace else {}), **fields.pop("metadata", {})}
    return from_dict({"metadata": meta, **fields}, type_)


def part(type_: type[T], **fields: Any) -> T:
    """Return a part of an object."""
    return from_dict(fields, type_)
