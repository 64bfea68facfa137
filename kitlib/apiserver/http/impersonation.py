"""Impersonation: `kubectl --as bob` sends a request as bob, if the client's user may impersonate bob.

Source: apiserver pkg/endpoints/filters/impersonation.go (WithImpersonation, buildImpersonationRequests).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import unquote

from kitlib.api.authorization import Attributes
from kitlib.apiserver.admission.authorization import RBACAuthorizer
from kitlib.apiserver.http.rbac import forbidden
from kitlib.apiserver.http.status import StatusError
from kitlib.apiserver.http.users import AUTHENTICATED, User, service_account

_USER, _GROUP, _UID, _EXTRA = ("impersonate-user", "impersonate-group", "impersonate-uid", "impersonate-extra-")
_ANONYMOUS, _UNAUTHENTICATED = "system:anonymous", "system:unauthenticated"
_ACCOUNT = "system:serviceaccount:"


def acting_user(user: User, headers: Iterable[tuple[str, str]], authorizer: RBACAuthorizer) -> User:
    """Return the impersonated user of a request, or the client's user if the headers name none.

    Args:
        user: the authenticated user.
        headers: the request's headers; a name may occur more than once.
        authorizer: decides whether the user may impersonate the other one.

    Raises:
        StatusError: 400 for groups without a user, 403 if one of the impersonations is not allowed.
    """
    asked = [(name.lower(), value) for name, value in headers if name.lower().startswith("impersonate-")]
    name = next((value for header, value in asked if header == _USER and value), "")
    groups = tuple(value for header, value in asked if header == _GROUP and value)
    uid = next((value for header, value in asked if header == _UID and value), "")
    extras = [(unquote(header.removeprefix(_EXTRA)), value) for header, value in asked if header.startswith(_EXTRA)]
    if not name:
        if groups or uid or extras:
            raise StatusError(400, "groups, a UID or extra fields are to be impersonated without impersonating a user")
        return user
    wanted = [_of_user(name), *(_attributes("groups", group) for group in groups)]
    if uid:
        wanted.append(_attributes("uids", uid, group="authentication.k8s.io"))
    for key, value in extras:
        wanted.append(_attributes("userextras", value, key, group="authentication.k8s.io"))
    for about in wanted:
        if not authorizer.allows(user, about):
            raise StatusError(403, forbidden(user, about), "Forbidden", {"name": about.name, "kind": about.resource})
    return replace(_made(name, groups, uid, user.name), extra=_by_key(extras))


def _by_key(extras: list[tuple[str, str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the extra attributes with all values of a key together. Source: impersonationmetadata's unescaped keys."""
    keys = dict.fromkeys(key for key, _ in extras)
    return tuple((key, tuple(value for one, value in extras if one == key)) for key in keys)


def _attributes(resource: str, name: str, below: str = "", group: str = "", namespace: str = "") -> Attributes:
    return Attributes("impersonate", group, resource, below, namespace, name)


def _of_user(name: str) -> Attributes:
    account = _account(name)
    if account is None:
        return _attributes("users", name)
    return _attributes("serviceaccounts", account[1], namespace=account[0])


def _account(name: str) -> tuple[str, str] | None:
    """Return namespace and name of a service account; None for other users. Source: serviceaccount.SplitUsername."""
    namespace, between, account = name.removeprefix(_ACCOUNT).partition(":")
    if not name.startswith(_ACCOUNT) or not between or not namespace or not account or ":" in account:
        return None
    return namespace, account


def _made(name: str, groups: tuple[str, ...], uid: str, by: str) -> User:
    account = _account(name)
    if account is not None and not groups:
        return replace(service_account(*account, uid), impersonated_by=by)
    always = _UNAUTHENTICATED if name == _ANONYMOUS else AUTHENTICATED
    return User(name, groups if always in groups else (*groups, always), uid, by)
