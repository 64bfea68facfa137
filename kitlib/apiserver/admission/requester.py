"""Who asks the API server for a write: a user, a service account, or a part of the cluster itself.

Source: k8s.io/apiserver/pkg/authentication/user; serviceaccount.UserInfo.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated

import msgspec

AUTHENTICATED, MASTERS = "system:authenticated", "system:masters"
_Text = Annotated[str, msgspec.Meta(max_length=4096)]


class Requester(msgspec.Struct, frozen=True):
    """Who writes.

    Attributes:
        name, groups, uid: as the request's userInfo has them.
    """

    name: _Text = "kubernetes-admin"
    groups: tuple[_Text, ...] = (MASTERS, AUTHENTICATED)
    uid: _Text = ""


ADMINISTRATOR = Requester()
API_SERVER = Requester("system:apiserver", (AUTHENTICATED, MASTERS))
SCHEDULER = Requester("system:kube-scheduler", (AUTHENTICATED,))
_current: ContextVar[Requester] = ContextVar("requester", default=ADMINISTRATOR)


def service_account(namespace: str, name: str, uid: str = "") -> Requester:
    """A service account as the user that it is."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
    return Requester(f"system:serviceaccount:{namespace}:{name}", groups, uid)


def kubelet(node: str) -> Requester:
    """A node's kubelet. Source: the Node authorizer's names."""
    return Requester(f"system:node:{node}", ("system:nodes", AUTHENTICATED))


def requester() -> Requester:
    """Who writes now: the administrator, unless it is said otherwise."""
    return _current.get()


@contextmanager
def requested_by(who: Requester) -> Iterator[None]:
    """Writes inside come from this user."""
    token = _current.set(who)
    try:
        yield
    finally:
        _current.reset(token)
