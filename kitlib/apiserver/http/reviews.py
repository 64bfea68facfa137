"""Reviews: SelfSubjectReview, access and rules reviews, TokenReview.

Source: pkg/registry/authorization, pkg/registry/authentication.
"""

from __future__ import annotations

from typing import Any

from kitlib.api.authorization import Attributes
from kitlib.api.serialize import to_dict
from kitlib.apiserver.admission.authorization import RBACAuthorizer
from kitlib.apiserver.http.bodies import object_body
from kitlib.apiserver.http.discovery import reviews
from kitlib.apiserver.http.request import Request, Target, mapping
from kitlib.apiserver.http.status import StatusError
from kitlib.apiserver.http.users import User, Users

_ATTRIBUTES = ("verb", "group", "resource", "subresource")


def answer(target: Target, request: Request, authorizer: RBACAuthorizer, users: Users) -> dict[str, Any] | None:
    """Return a review with its status; None if the path is not a review's.

    Args:
        target: the parts of the request's path.
        request: the request.
        authorizer: decides the access reviews.
        users: the users by token.
    """
    kinds = {plural: kind for plural, kind, _ in reviews(target.group)}
    if target.plural not in kinds:
        return None
    if request.method != "POST":
        raise StatusError(405, "the server does not allow this method on the requested resource", "MethodNotAllowed")
    kind = kinds[target.plural]
    body = object_body(request, kind)
    made = {**body, "kind": kind, "apiVersion": f"{target.group}/{target.version}"}
    made.setdefault("metadata", {})
    return {**made, "status": _status(kind, made, target, request, authorizer, users)}


def _status(
    kind: str, body: dict[str, Any], target: Target, request: Request, authorizer: RBACAuthorizer, users: Users
) -> dict[str, Any]:
    spec = mapping(body, "spec")
    if kind == "SelfSubjectReview":
        return {"userInfo": _info(request.user)}
    if kind == "TokenReview":
        return _token(spec, users)
    if kind == "SelfSubjectRulesReview":
        return _rules(request.user, str(spec.get("namespace") or ""), authorizer)
    user = request.user
    if kind != "SelfSubjectAccessReview":
        groups = tuple(str(one) for one in spec.get("groups") or ())
        user = User(str(spec.get("user") or ""), groups)
    about = mapping(spec, "resourceAttributes")
    if about:
        place = str(about.get("namespace") or target.namespace)
        verb, group, resource, below = (str(about.get(name) or "") for name in _ATTRIBUTES)
        asked = Attributes(verb, group, resource, below, place, str(about.get("name") or ""))
    else:
        plain = mapping(spec, "nonResourceAttributes")
        asked = Attributes(str(plain.get("verb") or ""), path=str(plain.get("path") or "/"))
    return {"allowed": authorizer.allows(user, asked)}


def _info(user: User) -> dict[str, Any]:
    return {name: value for name, value in user.requester().info.items() if value or name in ("username", "groups")}


def _token(spec: dict[str, Any], users: Users) -> dict[str, Any]:
    """Return the status of a TokenReview. Source: registry/authentication/tokenreview REST.Create."""
    token = str(spec.get("token") or "")
    if not token:
        raise StatusError(400, "token is required for TokenReview in authentication", "BadRequest")
    found = users.of_token(token, [str(one) for one in spec.get("audiences") or ()])
    if found is None:
        return {"authenticated": False, "error": "invalid bearer token"}
    return {"authenticated": True, "user": _info(found.user), "audiences": list(found.audiences)}


def _rules(user: User, namespace: str, authorizer: RBACAuthorizer) -> dict[str, Any]:
    if user.is_master:
        every = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
        paths = {"verbs": ["*"], "nonResourceURLs": ["*"]}
        return {"resourceRules": [every], "nonResourceRules": [paths], "incomplete": False}
    rules = [to_dict(rule) for rule in authorizer.rules(user, namespace)]
    resources = [rule for rule in rules if rule.get("resources")]
    others = [rule for rule in rules if rule.get("nonResourceURLs")]
    return {"resourceRules": resources, "nonResourceRules": others, "incomplete": False}
