"""The question to an authorizer, and its answer."""

from __future__ import annotations

from typing import NamedTuple


class Attributes(NamedTuple):
    """The attributes of a request that authorization depends on. Source: authorizer.Attributes.

    Attributes:
        verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
        group, resource, subresource, namespace, name: the requested object; "" for what the request does not name.
        path: the URL path of a request that names no resource, `/healthz`; "" otherwise.
    """

    verb: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class AuthorizationDecision(NamedTuple):
    """The answer of an authorizer, with the binding that allows the request as the reason."""

    allowed: bool
    reason: str = ""
