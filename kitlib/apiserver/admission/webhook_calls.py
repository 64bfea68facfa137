"""Calls of webhooks over HTTPS, and requests that wait for them without holding the cluster's lock.

An API request that needs the answer of a webhook ends with `Pending`; the server makes the call outside the lock and
handles the request again, with the answer at hand. Nothing has been written then: admission comes before the store.
Controllers of a cluster that is served do the same with their keys. Everything else that writes waits.

Source: apiserver pkg/util/webhook/client.go (ClientManager.HooksClient); pkg/util/proxy ResolveEndpoint.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from kitlib.api.apiextensions import WebhookClientConfig
from kitlib.api.core import Service
from kitlib.api.errors import KitError
from kitlib.apiserver.store.names import Names
from kitlib.apiserver.store.store import Store

HTTPS = 443
_TIMED = ("creationTimestamp", "managedFields")
"""Metadata with the time of the attempt."""


class WebhookError(KitError):
    """A webhook that could not be reached, or whose answer is not one."""


class WebhookServer(NamedTuple):
    """The server of a webhook.

    Attributes:
        url: the URL in messages.
        host, port: the address of the connection.
        server_name: the name that its certificate must have.
        authority: the certificate that its certificate is checked against, as PEM; empty = the machine's authorities.
        timeout: seconds until the call has failed.
    """

    url: str
    host: str
    port: int
    server_name: str
    authority: bytes
    timeout: float


class WebhookCall(NamedTuple):
    """A call of a webhook: the server, the request, and the key under which the answer is kept."""

    target: WebhookServer
    review: Mapping[str, Any]
    key: str


Answer = dict[str, Any] | WebhookError


class Pending(BaseException):
    """The request cannot go on before these calls are made. No Exception: no handler on the way may answer for it."""

    def __init__(self, calls: Sequence[WebhookCall]) -> None:
        super().__init__()
        self.calls = calls


_answers: ContextVar[dict[str, Answer] | None] = ContextVar("webhook answers", default=None)


class Attempts:
    """The attempts at one request: the answers that it has got, and the names that were made for it.

    An attempt must ask the same as the one before, so it gets the same random names.
    """

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self._names: list[str] = []

    @contextmanager
    def attempt(self, names: Names) -> Iterator[None]:
        """Take answers from here; a call without one raises Pending instead of being made."""
        token = _answers.set(self.answers)
        try:
            with names.repeating(self._names):
                yield
        finally:
            _answers.reset(token)


class WebhookCaller(Protocol):
    """The connection to webhooks' servers; it exists while the cluster is served over HTTP.

    Attributes:
        defers: whether controllers continue with other keys until a call has been answered, see `start`.
    """

    defers: bool

    def perform(self, call: WebhookCall) -> Answer:
        """Make a call; an error is an answer too."""
        ...

    def start(self, calls: Sequence[WebhookCall], attempts: Attempts, again: Callable[[], object]) -> None:
        """Make calls elsewhere; `again` is called with the cluster's lock held when they have been answered."""
        ...


def ask(caller: WebhookCaller | None, calls: Sequence[WebhookCall]) -> list[Answer]:
    """Return the answer of each call.

    Raises:
        Pending: the caller makes the calls itself, and some of these are still to be made.
    """
    answers = _answers.get()
    if caller is None:
        return [WebhookError("nothing calls webhooks while the cluster is not served: use `cluster.serve()`")] * len(
            calls
        )
    if answers is None:
        return [caller.perform(call) for call in calls]
    missing = [call for call in calls if call.key not in answers]
    if missing:
        raise Pending(missing)
    return [answers[call.key] for call in calls]


def call_of(name: str, target: WebhookServer, review: Mapping[str, Any]) -> WebhookCall:
    """Return a call, with the UID of its request.

    Key and UID are the same when the request is handled again, although times are new then.
    """
    asked = dict(review["request"])
    for field in ("object", "oldObject"):
        if asked.get(field):
            meta = {k: v for k, v in asked[field].get("metadata", {}).items() if k not in _TIMED}
            asked[field] = {**asked[field], "metadata": meta}
    key = f"{name} {json.dumps(asked, sort_keys=True, default=str)}"
    uid = str(uuid.UUID(bytes=hashlib.sha256(key.encode()).digest()[:16], version=4))
    return WebhookCall(target, {**review, "request": {**review["request"], "uid": uid}}, key)


def target_of(store: Store, config: WebhookClientConfig, timeout: float) -> WebhookServer:
    """Return the server that a client configuration names.

    Raises:
        WebhookError: the configuration leads to no server.
    """
    authority = config.ca_bundle or b""
    if config.url:
        parts = urlsplit(config.url)
        host, port = parts.hostname or "", parts.port or HTTPS
        return WebhookServer(config.url, host, port, host, authority, timeout)
    wanted = config.service
    if wanted is None:
        raise WebhookError("webhook does not contain either a url or a service reference")
    service: Service | None = store.find(Service, wanted.name, wanted.namespace, copy=False)
    if service is None:
        raise WebhookError(f'service "{wanted.name}" not found')
    port = wanted.port or HTTPS
    name = f"{wanted.name}.{wanted.namespace}.svc"
    url = f"https://{name}:{port}/{(wanted.path or '').lstrip('/')}"
    if service.spec.type == "ExternalName":
        return WebhookServer(url, service.spec.external_name, port, name, authority, timeout)
    raise WebhookError(
        f'no endpoints available for service "{wanted.name}": the kit carries no traffic to pods; '
        "name the webhook's server by clientConfig.url, or by a Service of type ExternalName"
    )
