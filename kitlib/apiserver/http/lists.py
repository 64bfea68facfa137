"""Lists: the resource version that a client requests, and pages that all show the state of the first one.

| resourceVersion | resourceVersionMatch | state |
|---|---|---|
| none, "0" | none, NotOlderThan | the newest |
| N | none or NotOlderThan, without `limit` | the newest, 504 if N is in the future |
| N | Exact, or none with `limit` | that of N; 410 if it is compacted |
| - | - | with `continue`: that of the first page; 410 with a token that continues with the newest state |

Source: apimachinery internalversion/validation ValidateListOptions; apiserver storage ValidateListOptions, continue.go,
etcd3/errors.go, errors.go NewTooLargeResourceVersionError.
"""

from __future__ import annotations

import base64
import json
import posixpath
from collections.abc import Mapping
from typing import Any, NamedTuple

from kitlib.apiserver.http.request import Request
from kitlib.apiserver.http.status import StatusError

EXACT, NOT_OLDER_THAN = "Exact", "NotOlderThan"
EXPIRED = "The resourceVersion for the provided list is too old."
CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
_NEWEST = -1
"""The version in a token that continues with the newest state."""


class Start(NamedTuple):
    """The start of a list.

    Attributes:
        version: the resource version of the state; None = the newest.
        key: the first key of the page; "" = the first of all.
        paging: whether the client continues with a token.
    """

    version: int | None
    key: str = ""
    paging: bool = False


def start_of(request: Request, newest: int) -> Start:
    """Return the start of the list that a request asks for.

    Raises:
        StatusError: 422 for conflicting options, 400 for an invalid token, 504 for a future version.
    """
    _check(request)
    token, asked = request.get("continue"), request.resource_version
    if token:
        key, version = _decoded(token)
        if asked:
            raise StatusError(400, "specifying resource version is not allowed when using continue")
        return Start(version if version > 0 else None, key, paging=True)
    check_version(asked, newest)
    match, limit = request.get("resourceVersionMatch"), request.number("limit", 0) or 0
    exact = match == EXACT or (not match and limit > 0)
    return Start(asked if exact and asked else None)


def check_version(asked: int, newest: int) -> None:
    """Check that a version is not in the future.

    Raises:
        StatusError: 504.
    """
    if asked > newest:
        causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
        details = {"causes": causes, "retryAfterSeconds": 1}
        why = f"Timeout: Too large resource version: {asked}, current: {newest}"
        raise StatusError(504, why, "Timeout", details)


def key_of(obj: Mapping[str, Any], *, in_namespace: bool) -> str:
    """Return the key that lists are sorted by: `namespace/name`, or `name` within one namespace."""
    namespace, name = obj["metadata"].get("namespace", ""), obj["metadata"].get("name", "")
    return f"{namespace}/{name}" if namespace and not in_namespace else name


def token_after(key: str, version: int) -> str:
    """Return the token of the page after a key."""
    # The key with a NUL is the first one that sorts after the key. Source: storage continue.go.
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": f"{key}\0"}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def gone(start: Start) -> StatusError:
    """Return the error for a state that is compacted."""
    if not start.paging:
        return StatusError(410, EXPIRED, "Expired")
    error = StatusError(410, CONTINUE_EXPIRED, "Expired")
    error.metadata["continue"] = token_after(start.key.rstrip("\0"), _NEWEST)
    return error


def _check(request: Request) -> None:
    match, wrong = request.get("resourceVersionMatch"), []
    field = "resourceVersionMatch: Forbidden: resourceVersionMatch"
    if match:
        if not request.get("resourceVersion"):
            wrong.append(f"{field} is forbidden unless resourceVersion is provided")
        if request.get("continue"):
            wrong.append(f"{field} is forbidden when continue is provided")
        if match not in (EXACT, NOT_OLDER_THAN):
            supported = f'"{EXACT}", "{NOT_OLDER_THAN}", ""'
            shown = json.dumps(match[:40])
            wrong.append(f"resourceVersionMatch: Unsupported value: {shown}: supported values: {supported}")
        if match == EXACT and request.get("resourceVersion") == "0":
            wrong.append(f'{field} "exact" is forbidden for resourceVersion "0"')
    if request.get("sendInitialEvents"):
        wrong.append("sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list")
    if wrong:
        listed = wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]"
        raise StatusError(422, f'ListOptions.meta.k8s.io "" is invalid: {listed}', "Invalid")


def _decoded(text: str) -> tuple[str, int]:
    """Return the first key of a token's page, and its version."""
    problem = "continue key is not valid"
    try:
        made = json.loads(base64.urlsafe_b64decode((text + "=" * (-len(text) % 4)).encode()))
        known, version, key = made.get("v"), made.get("rv") or 0, made.get("start") or ""
        if known != "meta.k8s.io/v1":
            problem += f": server does not recognize this encoded version {known or ''}"
        elif not isinstance(version, int) or not version:
            problem += ": incorrect encoded start resourceVersion (version meta.k8s.io/v1)"
        elif not isinstance(key, str) or not key:
            problem += ": encoded start key empty (version meta.k8s.io/v1)"
        elif posixpath.normpath(f"/{key.lstrip('/')}") != f"/{key.lstrip('/')}":
            problem += f": {key}"
        else:
            return key.lstrip("/"), version
    except (ValueError, AttributeError):
        pass
    raise StatusError(400, f"invalid continue token: {problem}")
