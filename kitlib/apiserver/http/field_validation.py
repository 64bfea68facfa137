"""Strict decoding: unknown and duplicate fields are errors, warnings, or ignored, as the client requests.

Source: apiserver handlers/create.go, patch.go (applyJSPatch, strategicPatchObject, applyPatcher), rest.go
(fieldValidation, parseYAMLWarnings), apimachinery runtime.NewStrictDecodingError; KEP-2885.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import msgspec

from kitlib.api.decoding import cannot_be_handled, strict_errors, unknown_fields
from kitlib.api.errors import ManifestError
from kitlib.api.events_v1 import EventV1, stored_event
from kitlib.api.meta import KubeObject, KubeStruct
from kitlib.api.serialize import from_dict, type_of
from kitlib.api.typed_patch import problems
from kitlib.apiserver.admission.custom.fields import fill, prune
from kitlib.apiserver.http.bodies import Body, is_yaml, patch_document, with_repeated_members
from kitlib.apiserver.http.event_versions import EVENTS
from kitlib.apiserver.http.request import MAX_BODY, Request
from kitlib.apiserver.http.resources import APIResource
from kitlib.apiserver.http.status import StatusError

_YAML_ERRORS = "yaml: unmarshal errors:\n  "


class _Operation(KubeStruct):
    """An operation of a JSON patch. Source: handlers/patch.go jsonPatchOp."""

    op: str = ""
    path: str = ""
    from_: str = msgspec.field(name="from", default="")
    value: Any = None


def decode(served: APIResource, data: dict[str, Any], request: Request, warnings: list[str]) -> Any:
    """Decode an object to its type.

    Args:
        served: the object's resource.
        data: the object in the wire form.
        request: the request; its `fieldValidation` is Strict, Warn (the default) or Ignore.
        warnings: the list to which warnings are appended under Warn.

    Raises:
        StatusError: 400 for a value of the wrong type, and under Strict for an unknown field; 422 for another option.
    """
    mode = _mode(request)
    unknown = _unknown_words(served, data) if mode == "Warn" else []
    try:
        if served.group == EVENTS:  # check against its own type; it is stored as the core group's
            from_dict(data, EventV1, strict=mode == "Strict")
            data = stored_event(data)
        made = from_dict(data, strict=mode == "Strict")
    except ManifestError as error:
        raise StatusError(400, error.problem) from error
    warnings += unknown
    return made


def prune_custom(served: APIResource, data: dict[str, Any], request: Request, warnings: list[str]) -> None:
    """Remove the fields that a custom object's schema does not have; objects of built-in kinds are unchanged.

    Raises:
        StatusError: 400 under Strict for an unknown field; 422 for another option.
    """
    if served.schema is None:
        return
    mode = _mode(request)
    unknown = [f'unknown field "{path}"' for path in prune(data, served.schema)]
    if unknown and mode == "Strict":
        raise refused(served, unknown)
    if mode == "Warn":
        warnings += unknown


def check_repeated(served: APIResource, body: Body, request: Request, warnings: list[str]) -> None:
    """Reject a body with a duplicate field, or append a warning.

    Raises:
        StatusError: 400 under Strict, which lists unknown fields too; 400 first for a value of the wrong type.
    """
    mode = _mode(request)
    if mode == "Ignore" or request.content_type == "application/vnd.kubernetes.protobuf":
        return
    if body.repeated:
        found = list(body.repeated) if mode == "Warn" else [_YAML_ERRORS + "\n  ".join(body.repeated)]
    else:
        members = None if is_yaml(request) else with_repeated_members(request.body)
        if members is None:
            return
        wanted = _type_of(served)
        found = strict_errors(members, Any if wanted is KubeObject else wanted)
    if mode == "Warn":
        warnings += found
        return
    data = {"apiVersion": served.group_version, "kind": served.kind, **body.data}
    if served.schema is None:
        decode(served, data, request._replace(query={**request.query, "fieldValidation": ["Ignore"]}), [])
    known = set(found)
    found += [word for word in _unknown_words(served, data) if word not in known]
    raise refused(served, found)


def patch_errors(served: APIResource, changed: dict[str, Any], request: Request, warnings: list[str]) -> list[str]:
    """Return the strict errors of a JSON, merge or strategic patch; none if the patch itself has none.

    Args:
        served: the patched resource.
        changed: the object after the patch, whose unknown fields are listed after the patch's errors.
        request: the patch request.
        warnings: the list to which warnings are appended under Warn.
    """
    mode = _mode(request)
    if mode == "Ignore":
        return []
    if "json-patch" in request.content_type:
        data = with_repeated_members(request.body) or patch_document(request)
        found = [f"json patch {error}" for error in strict_errors(data, list[_Operation])]
    else:
        found = strict_errors(with_repeated_members(request.body), Any)
    if mode == "Warn":
        warnings += found
        return []
    return [*found, *_unknown_words(served, changed)] if found else []


def check_applied(body: Body, request: Request, warnings: list[str]) -> None:
    """Reject an applied configuration with a duplicate key, or append a warning.

    Raises:
        StatusError: 400 under Strict.
    """
    mode = _mode(request)
    if not body.repeated or mode == "Ignore":
        return
    if mode == "Strict":
        listed = _YAML_ERRORS + "\n  ".join(body.repeated)
        raise StatusError(400, f"error strict decoding YAML: error converting YAML to JSON: {listed}")
    warnings += body.repeated


def check_typed(served: APIResource, body: Body) -> None:
    """Reject a configuration that does not match the schema of its kind, independent of `fieldValidation`.

    Source: apimachinery managedfields/internal/structuredmerge.go Apply, whose error has no code: 500 without a reason.
    """
    shape = EventV1 if served.group == EVENTS else served.schema
    wrong = problems({**body.data, "apiVersion": served.group_version, "kind": served.kind}, shape)
    if wrong:
        meta = body.data.get("metadata") or {}
        kind = f"{served.group}/{served.version}, Kind={served.kind}"
        place = f"{meta.get('namespace') or ''}/{meta.get('name') or ''}; {kind}"
        made = StatusError(500, f"failed to create typed patch object ({place}): {wrong}")
        made.reason = ""
        raise made


def _unknown(served: APIResource, data: dict[str, Any]) -> list[str]:
    if served.schema is not None:
        return prune(deepcopy(data), served.schema)
    wanted = _type_of(served)
    return [] if wanted is KubeObject else unknown_fields(data, wanted)


def _type_of(served: APIResource) -> type[KubeObject]:
    return EventV1 if served.group == EVENTS else type_of(served.group_version, served.kind)


def _unknown_words(served: APIResource, data: dict[str, Any]) -> list[str]:
    return [f'unknown field "{path}"' for path in _unknown(served, data)]


def refused(served: APIResource, errors: list[str]) -> StatusError:
    """Return the error for a body; its cause has only the decoder's message, which a patch's error repeats."""
    problem = f"strict decoding error: {', '.join(errors)}"
    made = StatusError(400, cannot_be_handled(served.group_version, served.kind, problem))
    cause = ManifestError(problem)
    cause.cause = problem
    made.__cause__ = cause
    return made


def _mode(request: Request) -> str:
    mode = request.get("fieldValidation", "Warn") or "Warn"
    if mode not in ("Strict", "Warn", "Ignore"):
        why = f'fieldValidation: Unsupported value: "{mode[:40]}": supported values: "Ignore", "Strict", "Warn"'
        raise StatusError(422, f'CreateOptions.meta.k8s.io "" is invalid: {why}', "Invalid")
    return mode


def set_defaults(served: APIResource, body: dict[str, Any]) -> None:
    """Set a custom object's defaults; raise a StatusError (413) if they are too large."""
    if not fill(body, served.schema or {}):
        raise StatusError(413, f"Request entity too large: limit is {MAX_BODY}")
