"""The four kinds of PATCH. Source: apiserver handlers/patch.go; RFC 6902, RFC 7396."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from kitlib.api.decoding import NAMED
from kitlib.api.errors import ManifestError
from kitlib.api.go_values import go_text
from kitlib.apiserver.http.bodies import patch_document
from kitlib.apiserver.http.request import Request
from kitlib.apiserver.http.status import StatusError
from kitlib.apiserver.store.json_patch import CopiesTooLarge, PatchError, apply_json_patch
from kitlib.apiserver.store.merge import merge_patch, strategic_patch

PATCH_TYPES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
MAX_OPERATIONS = 10_000
"""The maximum number of operations of a JSON patch. Source: apiserver handlers/patch.go maxJSONPatchOperations."""


def patched(live: dict[str, Any], request: Request) -> dict[str, Any]:
    """Return the object after the request's patch.

    Raises:
        StatusError: 400 for a patch that cannot be decoded; 422 for one that cannot be applied.
    """
    patch = patch_document(request)
    if isinstance(patch, list):
        return _json_patch(live, patch)
    merge = merge_patch
    if "strategic" in request.content_type:
        merge = strategic_patch
        _check_directives(patch)
    try:
        made = merge(live, patch)
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise StatusError(400, f"error applying patch: {error}") from error
    if not isinstance(made.get("metadata"), dict):
        raise StatusError(422, "metadata: Required value", "Invalid")
    return made


_LISTS = {
    "$retainKeys": "retainKeys",
    "$deleteFromPrimitiveList/": "primitive list",
    "$setElementOrder/": "setElementOrder list",
}


def _check_directives(patch: Any, *, in_list: bool = False) -> None:
    """Check the directives of a strategic patch and of everything below it.

    For an unknown directive kube-apiserver responds with 500; here it is the client's error, 400.

    Source: strategicpatch handleDirectiveInMergeMap, mergeSliceWithSpecialElements; mergepatch/errors.go.

    Raises:
        StatusError: 400.
    """
    if isinstance(patch, list):
        for item in patch:
            _check_directives(item, in_list=True)
    if not isinstance(patch, dict):
        return
    if "$patch" in patch:
        directive = patch["$patch"]
        if directive in ("replace", "delete"):
            return
        if directive != "merge" or not in_list:
            raise StatusError(400, f"unknown patch type: {go_text(directive)} in map: {go_text(patch)}")
    for field, value in patch.items():
        for prefix, name in _LISTS.items():
            if field.startswith(prefix) and not isinstance(value, list):
                raise StatusError(400, f"invalid patch format of {name}")
        _check_directives(value)


def undecodable(changed: dict[str, Any], request: Request, error: ManifestError) -> StatusError:
    """Return the error for a patched object that does not match its kind; it shows the object, or a strategic patch.

    Source: handlers/patch.go (applyPatchToCurrentObject, applyPatchToObject), apierrors.NewInvalid.
    """
    if "strategic" in request.content_type:
        shown = f'"{go_text(_own_fields(patch_document(request)))}"'
        why = _unconverted(changed, error)
    else:
        shown = '"' + msgspec.json.encode(changed).decode().replace("\\", "\\\\").replace('"', '\\"') + '"'
        why = error.cause
    body = f"Invalid value: {shown}: {why}"
    causes = [{"reason": "FieldValueInvalid", "message": body, "field": "patch"}]
    return StatusError(422, f' "" is invalid: patch: {body}', "Invalid", {"causes": causes})


_WANTED = re.compile(r"json: cannot unmarshal .* into Go struct field \S+ of type (\S+)")
_KINDS = {str: "string", bool: "bool", int: "int64", float: "float64", list: "slice", dict: "map"}


def _unconverted(changed: dict[str, Any], error: ManifestError) -> str:
    """Return the converter's message for a value of a wrong type instead of the decoder's.

    Source: runtime/converter.go.
    """
    wanted = _WANTED.fullmatch(error.cause)
    if wanted is None:
        return error.cause
    value: Any = changed
    for name, index, key in re.findall(r"([^.\[\]]+)|\[(\d+)\]|\[([^\]]*)\]", error.field):
        if isinstance(value, list) and index:
            value = value[int(index)]
        elif isinstance(value, dict):
            value = value.get(name or key or index)
    kind, type_ = _KINDS.get(type(value), "map"), wanted[1]
    if type_.startswith("[]"):
        return f"cannot restore slice from {kind}"
    if type_.startswith("map[") or type_ == "v1.ResourceList":
        return f"cannot restore map from {kind}"
    basic = "string" if type_ in NAMED.values() else type_
    if "." in basic:
        return f"cannot restore struct from: {kind}"
    numbers = ("int64", "float64")
    if (kind == "int64" and basic == "string") or (kind in numbers and basic.startswith(("int", "float"))):
        return f"cannot convert {kind} to {type_}"
    return f"unrecognized type: {basic}"


def _own_fields(patch: Any) -> Any:
    """Return a patch as the merge leaves it: without directives and the lists that have a `$setElementOrder`."""
    if not isinstance(patch, dict):
        return patch
    ordered = {key.partition("/")[2] for key in patch if key.startswith("$setElementOrder/")}
    kept = {key: value for key, value in patch.items() if not key.startswith("$") and key not in ordered}
    return {key: _own_fields(value) for key, value in kept.items()}


def _json_patch(live: dict[str, Any], operations: list[Any]) -> dict[str, Any]:
    if len(operations) > MAX_OPERATIONS:
        why = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        raise StatusError(413, why, "RequestEntityTooLarge")
    try:
        made = apply_json_patch(live, operations)
    except CopiesTooLarge as error:
        raise StatusError(413, str(error), "RequestEntityTooLarge") from None
    except RecursionError:
        raise StatusError(422, "the patch makes an object of too many levels", "Invalid") from None
    except (PatchError, ValueError) as error:
        # the reason is in the server's log alone. Source: NewGenericServerResponse, whose message the code decides
        raise StatusError(422, "the server rejected our request due to an error in our request", "Invalid") from error
    if not isinstance(made, dict) or not isinstance(made.get("metadata"), dict):
        raise StatusError(422, "metadata: Required value", "Invalid")
    return made
