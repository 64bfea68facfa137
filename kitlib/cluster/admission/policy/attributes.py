"""What a write is, for those who judge it: the operation, the object before and after, and who asks.

Source: k8s.io/apiserver/pkg/admission Attributes; admission/v1 AdmissionRequest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kitlib.api.meta import KubeObject
from kitlib.api.serialize import to_dict
from kitlib.cluster.store.kinds import Resource, resource_of

CREATE, UPDATE, DELETE = "CREATE", "UPDATE", "DELETE"


@dataclass(frozen=True)
class Requester:
    """Who writes.

    Attributes:
        name, uid, groups: as the request's userInfo has them.
    """

    name: str = "kubernetes-admin"
    uid: str = ""
    groups: tuple[str, ...] = ("system:masters", "system:authenticated")


_ADMINISTRATOR = Requester()
_requester: ContextVar[Requester] = ContextVar("requester", default=_ADMINISTRATOR)


@contextmanager
def requested_by(name: str, uid: str, groups: tuple[str, ...]) -> Iterator[None]:
    """Writes inside come from this user; without it they are the administrator's."""
    token = _requester.set(Requester(name, uid, groups))
    try:
        yield
    finally:
        _requester.reset(token)


@dataclass(frozen=True)
class Attributes:
    """One write.

    Attributes:
        operation: CREATE, UPDATE or DELETE.
        new, old: the object as it would be stored and as it stands; None where there is none.
        subresource: `status`, `resize`; "" = the object itself.
        dry_run: whether nothing of it will stand.
    """

    operation: str
    new: KubeObject | None
    old: KubeObject | None
    subresource: str = ""
    dry_run: bool = False

    @property
    def object(self) -> KubeObject:
        """The object that it is about."""
        found = self.new if self.new is not None else self.old
        assert found is not None, "a write has an object"
        return found

    @cached_property
    def resource(self) -> Resource:
        return resource_of(self.object)

    @property
    def version(self) -> str:
        return self.object.api_version.rpartition("/")[2]

    @cached_property
    def names(self) -> dict[str, Any]:
        """`object`, `oldObject` and `request` as expressions see them."""
        return {
            "object": to_dict(self.new) if self.new is not None else None,
            "oldObject": to_dict(self.old) if self.old is not None else None,
            "request": self._request(),
        }

    def _request(self) -> Mapping[str, Any]:
        """Source: plugin/cel CreateAdmissionRequest."""
        who, resource = _requester.get(), self.resource
        kind = {"group": resource.group, "version": self.version, "kind": resource.kind}
        named = {"group": resource.group, "version": self.version, "resource": resource.plural}
        user = {"username": who.name, "uid": who.uid, "groups": list(who.groups), "extra": {}}
        return {
            **dict.fromkeys(("kind", "requestKind"), kind),
            **dict.fromkeys(("resource", "requestResource"), named),
            **dict.fromkeys(("subResource", "requestSubResource"), self.subresource),
            "name": self.object.name,
            "namespace": self.object.namespace,
            "operation": self.operation,
            "userInfo": user,
            "dryRun": self.dry_run,
            "options": {},
        }
