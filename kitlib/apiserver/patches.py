"""The four kinds of PATCH. Source: apiserver handlers/patch.go; RFC 6902 (by the jsonpatch library), RFC 7396."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from kitlib.apiserver.bodies import patch_document
from kitlib.apiserver.request import Request
from kitlib.apiserver.status import StatusError
from kitlib.cluster.store.merge import merge_patch, strategic_patch

PATCH_TYPES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
MAX_OPERATIONS = 10_000
"""Operations of a JSON patch. Source: apiserver handlers/patch.go maxJSONPatchOperations."""

MAX_COPIED = 3 << 20
"""Bytes that a JSON patch's copies may make together. Source: apiserver server.Config JSONPatchMaxCopyBytes."""


def patched(live: dict[str, Any], request: Request) -> dict[str, Any]:
    """The object after the request's patch.

    Raises:
        StatusError: 400 for a patch that cannot be read; 422 for one that cannot be carried out.
    """
    patch = patch_document(request)
    if isinstance(patch, list):
        return _json_patch(live, patch)
    merge = strategic_patch if "strategic" in request.content_type else merge_patch
    try:
        made = merge(live, patch)
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise StatusError(400, f"error applying patch: {error}") from error
    if not isinstance(made.get("metadata"), dict):
        raise StatusError(422, "metadata: Required value", "Invalid")
    return made


def _json_patch(live: dict[str, Any], operations: list[Any]) -> dict[str, Any]:
    import jsonpatch  # type: ignore[import-untyped,unused-ignore]
    import jsonpointer  # type: ignore[import-untyped,unused-ignore]

    if len(operations) > MAX_OPERATIONS:
        why = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        raise StatusError(413, why, "RequestEntityTooLarge")
    copied, made = 0, deepcopy(live)
    try:
        for one in operations:
            if isinstance(one, dict) and one.get("op") == "copy" and isinstance(one.get("from"), str):
                copied += len(json.dumps(jsonpointer.resolve_pointer(made, one["from"])))
                if copied > MAX_COPIED:
                    why = f"copies of more than {MAX_COPIED} bytes in a JSON patch"
                    raise StatusError(413, why, "RequestEntityTooLarge")
            made = jsonpatch.apply_patch(made, [one], in_place=True)
    except RecursionError:
        raise StatusError(422, "the patch makes an object of too many levels", "Invalid") from None
    except (
        jsonpatch.JsonPatchException,
        jsonpointer.JsonPointerException,
        AttributeError,
        IndexError,
        KeyError,
        TypeError,
        ValueError,
    ) as error:
        # the reason is in the server's log alone. Source: NewGenericServerResponse, whose message the code decides
        raise StatusError(422, "the server rejected our request due to an error in our request", "Invalid") from error
    if not isinstance(made, dict) or not isinstance(made.get("metadata"), dict):
        raise StatusError(422, "metadata: Required value", "Invalid")
    return made
