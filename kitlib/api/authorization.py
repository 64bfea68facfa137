"""What is asked of an authorizer, and what it answers."""

from __future__ import annotations

from typing import NamedTuple


class Attributes(NamedTuple):
    """What a request is about. Source: authorizer.Attributes.

    Attributes:
        verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
        group, resource, subresource, namespace, name: of the object.
        path: of a request that is about no resource.
    """

    verb: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class AuthorizationDecision(NamedTuple):
    """Whether something is allowed, and why: which binding says so."""

    allowed: bool
    reason: str = ""
