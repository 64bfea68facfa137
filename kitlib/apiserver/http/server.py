"""The API server behind TLS on a loopback port; tornado passes the requests to the dispatcher.

Requests are answered one at a time under the service's lock, so that a cluster is never used concurrently; watches
wait without holding the lock.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import Any, TypeVar

from tornado.httputil import HTTPServerRequest
from tornado.iostream import StreamClosedError
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler, stream_request_body

from kitlib.api.core import Secret
from kitlib.api.errors import KitError
from kitlib.apiserver.admission.webhook_calls import Attempts, Pending
from kitlib.apiserver.http import port_forward, streams
from kitlib.apiserver.http.audit import AuditLog
from kitlib.apiserver.http.connections import Server
from kitlib.apiserver.http.credentials import add_user, kubeconfig, new_certificate, tls_context, write_kubeconfig
from kitlib.apiserver.http.dispatcher import Dispatcher, Response
from kitlib.apiserver.http.impersonation import acting_user
from kitlib.apiserver.http.log_stream import LogReader, LogSocket, LogSocketMatcher
from kitlib.apiserver.http.logs import LogRequest
from kitlib.apiserver.http.proxy import ProxyRequest, own_thread
from kitlib.apiserver.http.request import MAX_BODY, Request
from kitlib.apiserver.http.status import StatusError
from kitlib.apiserver.http.users import ADMINISTRATOR, AUTHENTICATED, User, Users
from kitlib.apiserver.http.watch import WatchStream
from kitlib.apiserver.http.webhook_client import BackgroundClient
from kitlib.apiserver.validation.warnings.kinds import warning_header

_log = logging.getLogger(__name__)
T = TypeVar("T")
AFTER_WRITE = 2.0
"""The time in seconds for which time continues after a client's write, with `only_while_waited`."""
_READ_AT_MOST = 32 * MAX_BODY
"""The number of a body's bytes that are read, so that a body that is too large gets a 413."""
FASTEST = 86400
"""The maximum pace: virtual seconds per second, one day."""
MAX_WEBHOOK_ROUNDS = 100
"""The maximum number of times that a request is handled again because a webhook still has to be called."""
TICK = 0.1
"""The interval in seconds between two steps of a served cluster's time."""


class GenericAPIServer:
    """A cluster's API on a port of this machine's loopback interface, in a thread of its own.

    Attributes:
        address: `https://127.0.0.1:PORT`.
        watches: the number of open watches and streams, whose clients wait for changes.
        forwarded: the number of open connections to ports of pods.
        wrote_at: the time of the last write by a client, in seconds of the monotonic clock.
        token: the administrator's bearer token.
        lock: the cluster's lock, held during each request.

    Args:
        cluster: the cluster to serve.
        port: the TCP port; 0 = any free one.
        pace: virtual seconds per second on simulated clusters; 0 = time moves only by `advance`.
        kubeconfig_path: the path of the kubeconfig to write; None = do not write it.
        only_while_waited: whether time passes only while a client watches and shortly after a client's write.
        service_accounts: whether new pods run as service accounts and get their tokens as files.
    """

    def __init__(
        self,
        cluster: Any,
        *,
        port: int = 0,
        pace: float = 1.0,
        kubeconfig_path: str | Path | None = None,
        only_while_waited: bool = False,
        service_accounts: bool = True,
    ) -> None:
        if not 0 <= pace <= FASTEST:
            raise KitError(f"pace: must be a number from 0 to {FASTEST}, got {pace!r}")
        if not 0 <= port <= 65535:  # a socket would silently take the port modulo 65536
            raise KitError(f"port: must be a number from 1 to 65535, or 0 for a free one, got {port!r}")
        self.cluster, self.pace = cluster, pace
        self._certificate, self.users = new_certificate(), Users(self._exists, cluster.now)
        self.token = self.users.add(ADMINISTRATOR)
        self._others: dict[str, str] = {}
        self._only_while_waited = only_while_waited
        self.watches, self.forwarded, self.wrote_at = 0, 0, float("-inf")
        self.lock: threading.RLock = cluster.lock
        self.sockets = bind_sockets(port, "127.0.0.1")
        self.port: int = self.sockets[0].getsockname()[1]
        self.address = f"https://127.0.0.1:{self.port}"
        self.dispatcher = Dispatcher(cluster, f"127.0.0.1:{self.port}", self.users)
        self._path = None if kubeconfig_path is None else Path(kubeconfig_path)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="kitlib-apiserver", daemon=True)
        self._ready = threading.Event()
        self._ending: asyncio.Event | None = None
        self._server: Server | None = None
        self._unsubscribe = cluster.api.store.subscribe(self._on_change)
        self._webhooks = cluster.api.webhooks = BackgroundClient(cluster)
        if service_accounts:
            cluster.api.enable_service_accounts(self.users.key.hex(), self._certificate.certificate.decode())
            cluster.settle()

    @property
    def config(self) -> dict[str, Any]:
        """The kubeconfig of the server; other users have contexts of their own."""
        made = kubeconfig(self.address, self._certificate, self.token)
        for name, token in self._others.items():
            add_user(made, name, token)
        return made

    @property
    def audit(self) -> AuditLog:
        """The log of the clients' changes: user, verb and object."""
        return self.dispatcher.audit

    def add_user(self, name: str, groups: Iterable[str] = ()) -> str:
        """Add a user, whose permissions are those of the cluster's roles and bindings, and return its token.

        The kubeconfig gets a context `kitlib-NAME` for it.
        """
        self._others[name] = self.users.add(User(name, (*groups, AUTHENTICATED)))
        if self._path is not None and self._thread.is_alive():
            write_kubeconfig(self._path, self.config)
        return self._others[name]

    def start(self) -> GenericAPIServer:
        """Start the server's thread and write the kubeconfig."""
        self._thread.start()
        self._ready.wait(10)
        if self._path is not None:
            write_kubeconfig(self._path, self.config)
        return self

    def close(self) -> None:
        """Stop serving, close the port, and delete the kubeconfig if it is still this server's."""
        self._unsubscribe()
        self.cluster.api.webhooks = None
        if self._ending is not None and self._thread.is_alive():
            self._call_soon(self._ending.set)
            self._thread.join(10)
        if self._path is not None and self.token in _text(self._path):  # another service may have written its own
            self._path.unlink(missing_ok=True)

    def __enter__(self) -> GenericAPIServer:
        return self if self._thread.is_alive() else self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    # The thread.

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._changed, self._ending = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        own = {"service": self}
        handlers: list[Any] = [
            (streams.PATH, streams.StreamHandler, own),
            (port_forward.PATH, port_forward.PortForwardHandler, own),
            (LogSocketMatcher(), LogSocket, own),
            (r".*", _Handler, own),
        ]
        application = Application(handlers, log_function=lambda handler: None)
        server = self._server = Server(application, ssl_options=tls_context(self._certificate))
        server.add_sockets(self.sockets)
        ticking = asyncio.create_task(self._tick())
        self._ready.set()
        try:
            await self._ending.wait()
        finally:
            ticking.cancel()
            server.stop()
            await asyncio.wait_for(_quietly(server.close_all_connections()), 5)

    async def _tick(self) -> None:
        """Advance the cluster's time with the machine's."""
        last = time.monotonic()
        while True:
            await asyncio.sleep(TICK)
            now = time.monotonic()
            try:
                if self._stands_still(now):
                    last = now
                    continue
                # The cap prevents a jump of the cluster's time after the process was suspended. Time advances in
                # multiples of TICK, so that the journal, which a replay divides alike, has one entry for equal steps.
                passed = min(now - last, 1.0)
                steps = int(passed / TICK)
                last = now - passed + steps * TICK
                with self.lock:
                    self.cluster.let_time_pass(steps * TICK * self.pace)
            except Exception:  # the boundary: one step fails, time goes on
                _log.exception("a step of the cluster's time failed")

    def _stands_still(self, now: float) -> bool:
        """Return whether time is paused because no client waits for changes."""
        return self._only_while_waited and not self.watches and now - self.wrote_at > AFTER_WRITE

    def _on_change(self, event: object) -> None:
        self._call_soon(self._wake)

    def _call_soon(self, what: Callable[[], object]) -> None:
        """Schedule a function on the event loop; it is dropped if the loop has ended."""
        if self._loop is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(what)

    def _wake(self) -> None:
        if self._changed is not None:
            # Waiters hold the old event; those that arrive later wait for the next change.
            self._changed.set()
            self._changed = asyncio.Event()

    async def changed(self, seconds: float) -> None:
        """Wait for the next change of the store, at most this number of seconds."""
        # There is no await between a watch's poll and this line, so that no change in between is missed.
        event = self._changed
        if event is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), seconds)

    async def attempt(self, act: Callable[[], T]) -> T:
        """Call a function with the lock held; repeat it with the responses of webhooks, which are called without it.

        The object may change meanwhile, as on kube-apiserver, which then calls the webhooks again.
        """
        attempts, names = Attempts(), self.cluster.api.store.names
        rounds = 0
        while rounds < MAX_WEBHOOK_ROUNDS:
            before = dict(attempts.done)
            try:
                with self.lock, attempts.attempt(names):
                    return act()
            except Pending as pending:
                run = asyncio.get_running_loop().run_in_executor
                made = await asyncio.gather(*(run(None, self._webhooks.perform, call) for call in pending.calls))
                attempts.answers |= {call.key: answer for call, answer in zip(pending.calls, made, strict=True)}
                rounds = rounds + 1 if attempts.done == before else 0
        with self.lock:  # the object changes faster than the webhooks respond: hold the lock
            return act()

    def _exists(self, kind: str, namespace: str, name: str, uid: str) -> bool:
        found = self.cluster.api.store.find(kind, name, namespace, copy=False)
        if isinstance(found, Secret) and found.data.get("token") == uid.encode():
            return True
        return found is not None and found.metadata.uid == uid

    def user_of(self, request: HTTPServerRequest) -> User:
        """Return the user of a request's token, or the impersonated user, and mark the connection as authenticated.

        Tokens are compared in constant time.

        Raises:
            StatusError: 401 without a valid token, 403 if the impersonation is not allowed.
        """
        user = self.users.of_header(request.headers.get("Authorization", ""))
        if user is None:
            raise StatusError(401, "Unauthorized")
        if self._server is not None and request.connection is not None:
            self._server.know(request.connection.stream)  # type: ignore[attr-defined]
        with self.lock:
            return acting_user(user, request.headers.get_all(), self.dispatcher.authorizer)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


async def _quietly(work: Awaitable[Any]) -> None:
    with suppress(Exception):  # a connection that is gone already
        await work


@stream_request_body
class _Handler(RequestHandler):
    SUPPORTED_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")

    def initialize(self, service: GenericAPIServer) -> None:
        self._service = service
        self._body = bytearray()
        self._gone: Callable[[], None] = lambda: None

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        self.set_header("Cache-Control", "no-cache, private")

    def prepare(self) -> None:
        """Authenticate before the body is read: the body of an unauthenticated client is not."""
        try:
            user = self._service.user_of(self.request)
        except StatusError as error:
            self._send(error.code, error.body())
            return
        self._user = user
        self.request.connection.set_max_body_size(_READ_AT_MOST)  # type: ignore[union-attr]

    def data_received(self, chunk: bytes) -> None:
        """Buffer up to MAX_BODY bytes, and one more, which shows that the body is too large."""
        self._body += chunk[: MAX_BODY + 1 - len(self._body)]

    async def _handle(self) -> None:
        request = Request.received(self.request, self._user, bytes(self._body))
        if request.method not in ("GET", "HEAD"):
            self._service.wrote_at = time.monotonic()
        answer = await self._service.attempt(partial(self._service.dispatcher.handle, request))
        with self._service.lock:
            resources = self._service.dispatcher.rest.resources
        if not isinstance(answer, Response):
            with self._service.dispatcher.instruments.long_running(request, resources):
                if isinstance(answer, WatchStream):
                    await self._stream(answer)
                elif isinstance(answer, ProxyRequest):
                    await self._proxy(answer)
                else:
                    await self._send_log(answer)
            return
        self.set_status(answer.code)
        self.set_header("Content-Type", answer.content_type)
        for name, value in answer.headers:
            self.set_header(name, value)
        for warning in answer.warnings:
            self.add_header("Warning", warning_header(warning))
        self.finish(answer.body)

    get = head = post = put = patch = delete = _handle

    async def _stream(self, stream: WatchStream) -> None:
        self.set_header("Content-Type", stream.content_type)
        self._service.watches += 1
        try:
            await self.flush()
            while not self.request.connection.stream.closed():  # type: ignore[union-attr]
                lines = await self._service.attempt(stream.poll)
                if lines:
                    self.write(b"".join(lines))
                    await self.flush()
                if stream.closed:
                    break
                if not lines:
                    await self._service.changed(min(1.0, max(0.01, stream.deadline - time.monotonic())))
            self.finish()
        except StreamClosedError:
            pass
        finally:
            self._service.watches -= 1

    async def _send_log(self, asked: LogRequest) -> None:
        """Send a container's output as it arrives."""
        try:
            reader = await LogReader.open(asked)
        except StatusError as error:
            self._send(error.code, error.body())
            return
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        connection = self.request.connection.stream  # type: ignore[union-attr]
        self._service.watches += 1

        async def write(data: bytes) -> None:
            self.write(data)
            await self.flush()

        try:
            await write(b"")
            await reader.copy(write, connection.closed)
            self.finish()
        except StreamClosedError:
            pass
        finally:
            self._service.watches -= 1

    async def _proxy(self, asked: ProxyRequest) -> None:
        """Send the response of a pod as it arrives."""
        loop = asyncio.get_running_loop()
        # A thread of its own: a response that goes on for hours must not occupy one of the shared ones.
        with own_thread() as run:
            work = partial(loop.run_in_executor, run)
            try:
                response = await work(asked.send)
            except StatusError as error:
                self._send(error.code, error.body())
                return
            self.set_status(response.code, response.reason)
            self.clear_header("Cache-Control")
            for name, value in response.headers:
                self.add_header(name, value)
            if not any(name.lower() == "content-type" for name, _ in response.headers):
                self.clear_header("Content-Type")
            self._service.watches += 1
            self._gone = response.close  # wakes the thread that waits for the pod
            try:
                if response.upgraded:
                    await response.join(self.detach())
                    return
                while data := await work(response.read):
                    self.write(data)
                    await self.flush()
                self.finish()
            except StreamClosedError:
                pass
            except (OSError, HTTPException):  # the pod has ended the connection: so is the client's, as upstream
                self.request.connection.stream.close()  # type: ignore[union-attr]
            finally:
                self._service.watches -= 1
                response.close()

    def on_connection_close(self) -> None:
        super().on_connection_close()
        self._gone()

    def send_error(self, status_code: int = 500, **details: Any) -> None:
        """Send an error; a response that has already begun is ended instead."""
        if self._headers_written:
            with suppress(Exception):  # the client has gone
                self.finish()
            return
        super().send_error(status_code, **details)

    def write_error(self, status_code: int, **details: Any) -> None:
        message = {405: "the server does not allow this method on the requested resource"}.get(status_code, "")
        self._send(status_code, StatusError(status_code, message or "the request was not understood").body())

    def _send(self, code: int, body: dict[str, Any]) -> None:
        self.set_status(code)
        self.finish(body)
