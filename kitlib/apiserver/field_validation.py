"""Strict decoding: fields that a kind does not have are refused, warned of, or ignored, as the client asks.

Source: apiserver handlers/create.go (fieldValidation), apimachinery runtime.NewStrictDecodingError; KEP-2885.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from kitlib.api.errors import ManifestError
from kitlib.api.meta import KubeStruct
from kitlib.api.serialize import from_dict
from kitlib.apiserver.request import Request
from kitlib.apiserver.resources import APIResource
from kitlib.apiserver.status import StatusError

_KNOWN_EVERYWHERE = frozenset({"metadata.managedFields", "metadata.selfLink"})


def decode(served: APIResource, data: dict[str, Any], request: Request, warnings: list[str]) -> Any:
    """A typed object.

    Args:
        served: its resource.
        data: the wire form.
        request: its `fieldValidation` is Strict, Warn (the default) or Ignore.
        warnings: where those of Warn are added.

    Raises:
        StatusError: 400 for a value of the wrong type, and under Strict for an unknown field; 422 for another option.
    """
    mode = request.get("fieldValidation", "Warn") or "Warn"
    if mode not in ("Strict", "Warn", "Ignore"):
        why = f'fieldValidation: Unsupported value: "{mode[:40]}": supported values: "Ignore", "Strict", "Warn"'
        raise StatusError(422, f'CreateOptions.meta.k8s.io "" is invalid: {why}', "Invalid")
    try:
        made = from_dict(data)
    except ManifestError as error:
        problem = f"{error.field}: {error.problem}" if error.field else error.problem
        raise StatusError(400, f"{_head(served)}: {problem}") from error
    if mode != "Ignore":
        unknown = [f'unknown field "{path}"' for path in unknown_fields(made) if path not in _KNOWN_EVERYWHERE]
        if unknown and mode == "Strict":
            raise StatusError(400, f"{_head(served)}: strict decoding error: {', '.join(unknown)}")
        warnings += unknown
    return made


def _head(served: APIResource) -> str:
    return f'{served.kind} in version "{served.version}" cannot be handled as a {served.kind}'


def unknown_fields(value: Any, path: str = "") -> Iterator[str]:
    """The paths of the fields that were read and that no type declares, in the order of the types' fields."""
    if isinstance(value, KubeStruct):
        for field in msgspec.structs.fields(value):
            inner = getattr(value, field.name)
            if isinstance(inner, KubeStruct | list | dict):
                yield from unknown_fields(inner, f"{path}.{field.encode_name}".lstrip("."))
        for name in value.unknown_fields:
            yield f"{path}.{name}".lstrip(".")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from unknown_fields(item, f"{path}[{number}]")
    elif isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, KubeStruct):
                yield from unknown_fields(item, f"{path}.{name}".lstrip("."))
