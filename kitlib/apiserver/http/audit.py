"""The audit log: user, time, verb, object and result of each request that changes something; reads are omitted.

Source: apiserver audit (stage ResponseComplete, level Metadata).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from kitlib.apiserver.http.rbac import Attributes

KEPT = 10_000
_READS = ("get", "list", "watch", "head")
_STREAMS = ("exec", "attach", "portforward")


class AuditEvent(NamedTuple):
    """A request that changed something or opened a stream into a container.

    Attributes:
        at: the cluster's time.
        user: the name of the requesting user.
        agent: the client program, e.g. `kubectl`.
        verb: `create`, `patch`, ….
        resource: the resource with its subresource: `pods`, `deployments.apps/scale`.
        namespace: the object's namespace; "" if it has none.
        name: the object's name.
        code: the HTTP status code of the response.
    """

    at: datetime
    user: str
    agent: str
    verb: str
    resource: str
    namespace: str
    name: str
    code: int

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace and self.name else self.name or self.namespace
        text = f"{self.at:%H:%M:%S} {self.user} ({self.agent}): {self.verb} {self.resource}"
        return f"{text} {where}: {self.code}" if where else f"{text}: {self.code}"


class AuditLog:
    """The most recent requests of a served cluster that changed something."""

    def __init__(self) -> None:
        self._events: deque[AuditEvent] = deque(maxlen=KEPT)

    def __iter__(self) -> Iterator[AuditEvent]:
        return iter(list(self._events))

    def __len__(self) -> int:
        return len(self._events)

    def __str__(self) -> str:
        return "\n".join(map(str, self._events))

    def record(self, at: datetime, user: str, agent: str, about: Attributes, code: int, name: str = "") -> None:
        """Add a request, unless it only reads."""
        if about.path or (about.verb in _READS and about.subresource not in _STREAMS):
            return
        resource = f"{about.resource}.{about.group}" if about.group else about.resource
        if about.subresource:
            resource += f"/{about.subresource}"
        program = agent.split("/")[0][:40] or "unknown"
        event = AuditEvent(at, user, program, about.verb, resource, about.namespace, about.name or name, code)
        self._events.append(event)
