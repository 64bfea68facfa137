"""Strict decoding: fields that a kind does not have are refused, warned of, or ignored, as the client asks.

Source: apiserver handlers/create.go (fieldValidation), apimachinery runtime.NewStrictDecodingError; KEP-2885.
"""

from __future__ import annotations

from typing import Any

from kitlib.api.decoding import cannot_be_handled, unknown_fields
from kitlib.api.errors import ManifestError
from kitlib.api.meta import KubeObject
from kitlib.api.serialize import from_dict, type_of
from kitlib.apiserver.admission.custom.fields import prune
from kitlib.apiserver.http.request import Request
from kitlib.apiserver.http.resources import APIResource
from kitlib.apiserver.http.status import StatusError


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
    mode = _mode(request)
    try:
        made = from_dict(data, strict=mode == "Strict")
    except ManifestError as error:
        raise StatusError(400, error.problem) from error
    wanted = type_of(served.group_version, served.kind)
    if mode == "Warn" and wanted is not KubeObject:
        warnings += [f'unknown field "{path}"' for path in unknown_fields(data, wanted)]
    return made


def prune_custom(served: APIResource, data: dict[str, Any], request: Request, warnings: list[str]) -> None:
    """Drop the fields that the schema of a custom object does not have; a built-in kind is left as it is.

    Raises:
        StatusError: 400 under Strict, where there is one; 422 for another option.
    """
    if served.schema is None:
        return
    mode = _mode(request)
    unknown = [f'unknown field "{path}"' for path in prune(data, served.schema)]
    if unknown and mode == "Strict":
        problem = f"strict decoding error: {', '.join(unknown)}"
        raise StatusError(400, cannot_be_handled(served.group_version, served.kind, problem))
    if mode == "Warn":
        warnings += unknown


def _mode(request: Request) -> str:
    mode = request.get("fieldValidation", "Warn") or "Warn"
    if mode not in ("Strict", "Warn", "Ignore"):
        why = f'fieldValidation: Unsupported value: "{mode[:40]}": supported values: "Ignore", "Strict", "Warn"'
        raise StatusError(422, f'CreateOptions.meta.k8s.io "" is invalid: {why}', "Invalid")
    return mode
