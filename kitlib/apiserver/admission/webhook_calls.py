"""Calls of webhooks over HTTPS, and requests that wait for them without holding the cluster's lock.

An API request that needs a webhook's response ends with `Pending`; the server makes the call outside the lock and
handles the request again with the response. Nothing has been written at that point: admission precedes the store.
Controllers of a served cluster do the same with their keys. All other writers wait for the call.

Source: apiserver pkg/util/webhook/client.go (ClientManager.HooksClient); pkg/util/proxy ResolveEndpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from kitlib.api.errors import KitError
from kitlib.apiserver.store.names import Names

if TYPE_CHECKING:  # loaded with the first configuration
    from kitlib.apiserver.admission.service_pods import PodPort


class WebhookError(KitError):
    """A webhook that is unreachable or whose response is invalid."""


class WebhookServer(NamedTuple):
    """The server of a webhook.

    Attributes:
        url: the URL in messages.
        host: the host to connect to.
        port: the port to connect to.
        server_name: the name that its certificate must have.
        authority: the CA certificate in PEM that verifies the server's; empty = the machine's authorities.
        timeout: the timeout of a call in seconds.
        pod: the port of a pod to connect to through its node, in place of host and port.
    """

    url: str
    host: str
    port: int
    server_name: str
    authority: bytes
    timeout: float
    pod: PodPort | None = None


class WebhookCall(NamedTuple):
    """A call of a webhook: the server, the request, and the key under which the response is cached."""

    target: WebhookServer
    review: Mapping[str, Any]
    key: str


Answer = dict[str, Any] | WebhookError


class Pending(BaseException):
    """The calls that a request needs first. Not an Exception, so that no handler on the way catches it."""

    def __init__(self, calls: Sequence[WebhookCall]) -> None:
        super().__init__()
        self.calls = calls


class Attempts:
    """The attempts at one request: the responses received so far, and the names generated for it.

    Every attempt must send the same requests, so it gets the same random names.

    Attributes:
        answers: the responses by the keys of their calls.
        done: the steps of a request of several steps that are not to be repeated, as that request records them.
    """

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.done: dict[str, Any] = {}
        self._names: dict[str, list[str]] = {}

    @contextmanager
    def attempt(self, names: Names) -> Iterator[None]:
        """Use the cached responses inside; a call without one raises Pending instead of being made."""
        token = _attempts.set(self)
        try:
            with names.repeating(self._names):
                yield
        finally:
            _attempts.reset(token)


_attempts: ContextVar[Attempts | None] = ContextVar("attempts", default=None)


def current_attempts() -> Attempts:
    """Return the attempts at the current request; new ones if it does not wait for webhooks."""
    return _attempts.get() or Attempts()


class WebhookCaller(Protocol):
    """The connection to webhooks' servers; it exists while the cluster is served over HTTP.

    Attributes:
        defers: whether controllers continue with other keys until a call has been answered, see `start`.
    """

    defers: bool

    def perform(self, call: WebhookCall) -> Answer:
        """Make a call; an error is returned, not raised."""
        ...

    def start(self, calls: Sequence[WebhookCall], attempts: Attempts, again: Callable[[], object]) -> None:
        """Make calls in the background; `again` is called with the cluster's lock held after all responses."""
        ...


def ask(caller: WebhookCaller | None, calls: Sequence[WebhookCall]) -> list[Answer]:
    """Return the response to each call.

    Raises:
        Pending: responses are missing, and the caller makes the calls itself.
    """
    attempts = _attempts.get()
    if caller is None:
        return [WebhookError("nothing calls webhooks while the cluster is not served: use `cluster.serve()`")] * len(
            calls
        )
    if attempts is None:
        return [caller.perform(call) for call in calls]
    # All missing calls are raised together, so that validating webhooks are called in parallel.
    missing = [call for call in calls if call.key not in attempts.answers]
    if missing:
        raise Pending(missing)
    return [attempts.answers[call.key] for call in calls]
