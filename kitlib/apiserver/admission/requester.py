"""The requesting user of a write, and the options of the request: a user, a service account, or a component.

Source: k8s.io/apiserver/pkg/authentication/user; serviceaccount.UserInfo.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Annotated, Any

import msgspec

AUTHENTICATED, MASTERS = "system:authenticated", "system:masters"
SERVICE_ACCOUNTS = "system:serviceaccounts"
_Text = Annotated[str, msgspec.Meta(max_length=4096)]


class Requester(msgspec.Struct, frozen=True):
    """The requesting user, and what the request says about the write besides its object.

    Attributes:
        name: the user's name, as in the request's userInfo.
        groups: the user's groups.
        uid: the user's UID; "" if unknown.
        client: the program that sent the request over HTTP, as `kubectl`; "" = a call in this process.
        extra: further attributes of the user, each with its values, such as the pod of a service account's token.
        options: the fields of the request's CreateOptions or UpdateOptions; a component sends none.
        sender: the name of the user who impersonates this one (`kubectl --as`); "" = no impersonation.
    """

    name: _Text = "kubernetes-admin"
    groups: tuple[_Text, ...] = (MASTERS, AUTHENTICATED)
    uid: _Text = ""
    client: _Text = ""
    extra: tuple[tuple[_Text, tuple[_Text, ...]], ...] = ()
    options: dict[str, _Text | list[_Text]] = {}
    sender: _Text = ""

    @property
    def info(self) -> dict[str, Any]:
        """The user as a UserInfo of admission and of authentication."""
        extra = {name: list(values) for name, values in self.extra}
        return {"username": self.name, "uid": self.uid, "groups": list(self.groups), "extra": extra}

    @property
    def origin(self) -> dict[str, str]:
        """User and program of a request over HTTP, for the journal; {} = a call in this process."""
        return {"by": self.name, "client": self.client} if self.client else {}

    @property
    def is_component(self) -> bool:
        """Whether it is a component or a service account, so that its writes are not the actions of a person."""
        return (self.sender or self.name).startswith("system:")


ADMINISTRATOR = Requester()
API_SERVER = Requester("system:apiserver", (AUTHENTICATED, MASTERS))
SCHEDULER = Requester("system:kube-scheduler", (AUTHENTICATED,))
_current: ContextVar[Requester] = ContextVar("requester", default=ADMINISTRATOR)


def service_account(namespace: str, name: str, uid: str = "") -> Requester:
    """Return a service account as a user."""
    groups = (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}", AUTHENTICATED)
    return Requester(f"system:serviceaccount:{namespace}:{name}", groups, uid)


def kubelet(node: str) -> Requester:
    """Return the user of a node's kubelet. Source: the Node authorizer's names."""
    return Requester(f"system:node:{node}", ("system:nodes", AUTHENTICATED))


def requester() -> Requester:
    """Return the requesting user of the current write; the default is the administrator."""
    return _current.get()


class requested_by:
    """A context manager that makes the writes inside as this user; a class, because it is entered very often."""

    def __init__(self, who: Requester) -> None:
        self._who = who

    def __enter__(self) -> None:
        self._token = _current.set(self._who)

    def __exit__(self, *raised: object) -> None:
        _current.reset(self._token)
