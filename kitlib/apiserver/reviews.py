"""Reviews: who am I, what may I do. The kit's administrator may do everything.

Source: pkg/registry/authorization, pkg/registry/authentication.
"""

from __future__ import annotations

from typing import Any

from kitlib.apiserver.discovery import reviews
from kitlib.apiserver.request import Request, Target, json_body, mapping
from kitlib.apiserver.rest import Rest
from kitlib.apiserver.status import StatusError


def answer(rest: Rest, target: Target, request: Request) -> dict[str, Any] | None:
    """The review with its status; None where the path names no review."""
    kinds = {plural: kind for plural, kind, _ in reviews(target.group)}
    if target.plural not in kinds:
        return None
    if request.method != "POST":
        raise StatusError(405, "the server does not allow this method on the requested resource", "MethodNotAllowed")
    body = mapping(json_body(request))
    kind = kinds[target.plural]
    made = {**body, "kind": kind, "apiVersion": f"{target.group}/{target.version}"}
    made.setdefault("metadata", {})
    return {**made, "status": _status(kind, request)}


def _status(kind: str, request: Request) -> dict[str, Any]:
    user = {"username": request.user, "groups": ["system:masters", "system:authenticated"]}
    if kind == "SelfSubjectReview":
        return {"userInfo": user}
    if kind == "TokenReview":
        return {"authenticated": False, "error": "the kit's API does not review tokens"}
    if kind == "SelfSubjectRulesReview":
        every = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
        paths = {"verbs": ["*"], "nonResourceURLs": ["*"]}
        return {"resourceRules": [every], "nonResourceRules": [paths], "incomplete": False}
    return {"allowed": True}
