"""exec and attach over a WebSocket: the channels of `v5.channel.k8s.io`.

Each binary message begins with its channel: 0 standard input, 1 standard output, 2 standard error, 3 the final Status,
4 the terminal's size, 255 the end of a channel. The subprotocols with `base64` send texts, the channel as a digit.

Source: apimachinery pkg/util/remotecommand/constants.go, KEP-4006; wsstream Conn.handle.
"""

from __future__ import annotations

import asyncio
import base64
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import partial
from typing import Annotated, Any, Protocol, TypeVar
from urllib.parse import parse_qs

import msgspec
from tornado.httputil import HTTPServerRequest
from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from kitlib.api.convert import decoder
from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject, ObjectMeta
from kitlib.api.pod_connect import PodAttachOptions, PodExecOptions, connect_options
from kitlib.api.streams import WINDOW, Stream, StreamEvent, StreamNode
from kitlib.apiserver.admission.connecting import admitted
from kitlib.apiserver.admission.requester import requested_by
from kitlib.apiserver.http.dispatcher import Dispatcher
from kitlib.apiserver.http.request import Request, Target, parse_path
from kitlib.apiserver.http.spdy import SpdyError
from kitlib.apiserver.http.spdy_upgrade import LINGER, STREAMS, UPGRADE, Channels, Connection, negotiate, nothing
from kitlib.apiserver.http.status import StatusError, success
from kitlib.apiserver.http.users import User
from kitlib.apiserver.validation.warnings.kinds import warning_header

T = TypeVar("T")
CHANNELS, BASE64 = "channel.k8s.io", "base64.channel.k8s.io"
_WITH_STATUS = (f"v5.{CHANNELS}", f"v4.{CHANNELS}", f"v4.{BASE64}")
PROTOCOLS = (*_WITH_STATUS, CHANNELS, BASE64)
"""The subprotocols; the first version, also that of a client that offers none, ends with a text only after an error."""
STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
_CHANNELS = {"stdin": STDIN, "stdout": STDOUT, "stderr": STDERR, "error": ERROR, "resize": RESIZE}
PATH = r"^/api/v1/namespaces/[^/]+/pods/[^/]+/(?:exec|attach)$"
IDLE = 4 * 3600.0
"""The time in seconds after which an idle stream is closed. Source: kubelet streamingConnectionIdleTimeout."""
_GRANT = 32 * 1024
"""The number of sent bytes after which the same amount is requested from the node."""


class StreamServer(Protocol):
    """The part of the running API server that streams need.

    Attributes:
        lock: the lock that is held while the cluster is used.
        cluster: the served cluster.
        dispatcher: answers requests.
        watches: the number of open watches and streams.
        forwarded: the number of open connections to ports of pods.
    """

    lock: AbstractContextManager[Any]
    cluster: Any
    dispatcher: Dispatcher
    watches: int
    forwarded: int

    def user_of(self, request: HTTPServerRequest) -> User:
        """Return the user of a request.

        Raises:
            StatusError: the token is unknown.
        """
        ...

    async def attempt(self, act: Callable[[], T]) -> T:
        """Call a function with the lock held, and again with the responses of webhooks, which are called without it."""
        ...


class _Size(msgspec.Struct):
    """The terminal size in a client's message. Source: client-go remotecommand.TerminalSize (two uint16)."""

    Width: Annotated[int, msgspec.Meta(ge=0, lt=1 << 16)]
    Height: Annotated[int, msgspec.Meta(ge=0, lt=1 << 16)]


def terminal_size(text: bytes) -> tuple[int, int] | None:
    """Return (columns, rows) of a client's message; None if it is invalid."""
    try:
        size = decoder(_Size).decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return size.Width, size.Height


def exit_status(code: int, why: str = "") -> dict[str, Any]:
    """Return the Status that ends a stream. Source: client-go remotecommand errorDecoderV4."""
    if why:
        return StatusError(500, f"Internal error occurred: {why}", "InternalError").body()
    if code == 0:
        return success()
    details = {"causes": [{"reason": "ExitCode", "message": str(code)}]}
    message = f"command terminated with non-zero exit code: error executing command, exit code {code}"
    return {**StatusError(0, message, "NonZeroExitCode", details).body(), "code": 0}


class PodStream(WebSocketHandler, ABC):
    """The common base of exec, attach and port-forward: finds the user, the pod and the node.

    Attributes:
        spdy_protocol: the protocol over SPDY streams if the client uses SPDY instead of a WebSocket.
        subprotocols: the subprotocols of a WebSocket, in order of preference.
        connection_options: the options of the request as admission left them; the query is read for nothing else.
    """

    spdy_protocol: str
    subprotocols: tuple[str, ...]
    connection_options: KubeObject

    def initialize(self, service: StreamServer) -> None:
        self._service = service
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._used_at = self._loop.time()
        self._idle: asyncio.TimerHandle | None = None
        self._counting = ExitStack()
        self._connection: Connection | None = None  # with SPDY
        self._subprotocol = ""

    async def prepare(self) -> None:
        try:
            user = self._service.user_of(self.request)
            with self._service.lock:
                self._service.dispatcher.authorize_stream(user, self.request.path, self.request.method or "GET")
            query = parse_qs(self.request.query, keep_blank_values=True)
            if "dryRun" in query:
                raise StatusError(400, "dryRun is not supported")
            self.connection_options, warnings = await self._service.attempt(partial(self._admitted, user, query))
            for warning in dict.fromkeys(warnings):
                self.add_header("Warning", warning_header(warning))
            with self._service.lock:
                self.find()
                if self.upgrade not in ("websocket", UPGRADE.lower()):
                    raise StatusError(400, "Upgrade request required")
                if self.upgrade != "websocket":
                    negotiate(self.request.headers, self.spdy_protocol)
        except StatusError as error:
            self._refuse(error)
        except KitError as error:
            self._refuse(StatusError(400, str(error)))

    def _admitted(self, user: User, query: dict[str, list[str]]) -> tuple[KubeObject, list[str]]:
        """Return the options after admission, which precedes the search for the pod. Source: ConnectResource."""
        rest, target = self._service.dispatcher.rest, parse_path(self.request.path)
        served = rest.resources.find("", "v1", "pods")
        assert target is not None and served is not None
        options = connect_options(target.subresource, query)
        named = Pod(metadata=ObjectMeta(name=target.name, namespace=target.namespace))
        with requested_by(user.requester()), rest.errors(served, target.name):
            return admitted(self._service.cluster, options, named, target.subresource)

    @property
    def upgrade(self) -> str:
        """The requested upgrade: `websocket` or `spdy/3.1`."""
        return self.request.headers.get("Upgrade", "").lower()

    async def get(self, *arguments: Any, **named: Any) -> None:
        if self.upgrade == "websocket":
            await super().get(*arguments, **named)
        else:
            await self.post()

    async def post(self, *_: str) -> None:
        """Upgrade the connection to SPDY; a WebSocket starts with a GET."""
        if self.upgrade == "websocket":
            self._refuse(StatusError(405, "a WebSocket begins with a GET", "MethodNotAllowed"))
            return
        self._connection = Connection(self.detach())
        try:
            await self._connection.accept(self.spdy_protocol)
            await self.speak(self._connection)
        except StreamClosedError:
            pass
        finally:
            self._connection.close()
            self.on_close()

    async def speak(self, connection: Connection) -> None:
        """Process the bytes of an upgraded connection until it is closed."""
        await self.open()
        async for piece in connection.pieces():
            await self.on_message(piece)

    def close(self, code: int | None = None, reason: str | None = None) -> None:
        if self._connection is None:
            super().close(code, reason)
        else:
            self._connection.close()

    @abstractmethod
    async def on_message(self, message: str | bytes) -> None:
        """Process a message from the client."""

    @abstractmethod
    def find(self) -> None:
        """Find the requested pod or container, under the service's lock.

        Raises:
            StatusError: it does not exist or cannot be entered.
            KitError: the cluster's error.
        """

    def check_origin(self, origin: str) -> bool:
        """Accept every origin: the bearer token protects the server, and a web page does not have it."""
        return True

    def _refuse(self, error: StatusError) -> None:
        self.set_status(error.code)
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(error.body()))

    def pod(self) -> tuple[Target, dict[str, Any], StreamNode]:
        """Return the path's parts, the pod, and its node.

        Raises:
            StatusError: the pod does not exist, or is on no node that runs containers.
        """
        rest, target = self._service.dispatcher.rest, parse_path(self.request.path)
        served = rest.resources.find("", "v1", "pods")
        assert target is not None and served is not None
        pod = rest.get(served, target.namespace, target.name)
        if not pod["spec"].get("nodeName"):
            raise StatusError(400, f"pod {target.name} does not have a host assigned")
        node = self._service.cluster.node(pod["spec"]["nodeName"])
        if not hasattr(node, "exec"):
            raise StatusError(501, f"{target.subresource}: no containers run on a hollow node", "NotImplemented")
        return target, pod, node

    async def elsewhere(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function that may wait for a node in another thread, so that other requests continue."""
        return await self._loop.run_in_executor(None, partial(work, *arguments))

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the background."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def open(self, *_: str, **__: str) -> None:
        self._close_the_idle()
        dispatcher = self._service.dispatcher
        with self._service.lock:
            resources = dispatcher.rest.resources
        request = Request("GET", self.request.path)
        self._counting.enter_context(dispatcher.instruments.long_running(request, resources))

    def _close_the_idle(self) -> None:
        left = self._used_at + IDLE - self._loop.time()
        if left <= 0:
            self.close(1001, "idle")
        else:
            self._idle = self._loop.call_later(left, self._close_the_idle)

    def on_close(self) -> None:
        self._counting.close()
        if self._idle is not None:
            self._idle.cancel()

    def select_subprotocol(self, subprotocols: list[str]) -> str | None:
        self._subprotocol = next((one for one in self.subprotocols if one in subprotocols), "")
        return self._subprotocol or None

    @property
    def in_base64(self) -> bool:
        """Whether messages are texts: the digit of the channel, and the data in base64."""
        return self._subprotocol.endswith(BASE64)

    def received(self, message: str | bytes) -> bytes:
        """Return a client's message as bytes, the first one of which is the channel; b"" if it is not base64."""
        data = message.encode() if isinstance(message, str) else message
        if not data or not self.in_base64:
            return data
        try:
            return bytes([data[0] - ord("0")]) + base64.b64decode(data[1:], validate=True)
        except ValueError:
            return b""

    async def sent(self, data: bytes) -> None:
        """Send a binary message and wait until it is written, so that a peer that does not read is not read from."""
        with suppress(WebSocketClosedError, StreamClosedError):
            await self.send(data)

    def send(self, data: bytes) -> Any:
        """Send a binary message; the result can be awaited until it is written."""
        self._used_at = self._loop.time()
        if self._connection is not None:
            return self._connection.send(data)
        try:
            if self.in_base64:
                return self.write_message(chr(ord("0") + data[0]) + base64.b64encode(data[1:]).decode())
            return self.write_message(data, binary=True)
        except WebSocketClosedError:
            return nothing()


class StreamHandler(PodStream):
    """The handler of one exec or attach."""

    spdy_protocol = f"v4.{CHANNELS}"
    subprotocols = PROTOCOLS

    def initialize(self, service: StreamServer) -> None:
        super().initialize(service)
        self._opened: asyncio.Future[Stream | None] = self._loop.create_future()
        self._stream: Stream | None = None
        self._sent, self._used, self._counted = 0, 0, 0
        self._room = asyncio.Event()
        self._channels: Channels | None = None  # with SPDY

    async def speak(self, connection: Connection) -> None:
        """Map the SPDY streams to channels; the command starts when the client has opened all requested streams."""
        options = self._pod_options
        asked = {name for name in ("stdin", "stdout", "stderr") if getattr(options, name)} | {"error"}
        if options.tty:
            asked = asked - {"stderr"} | {"resize"}
        wanted = {name: channel for name, channel in _CHANNELS.items() if name in asked}
        streams = self._channels = Channels(connection, wanted, (STDIN, bytes([CLOSE, STDIN])), RESIZE, ERROR)
        timer = self._loop.call_later(STREAMS, lambda: None if streams.complete else connection.close())
        try:
            async for piece in connection.pieces():
                if not await streams.take(piece, self.on_message, self.open):
                    break
        except SpdyError:
            pass
        finally:
            timer.cancel()

    def send(self, data: bytes) -> Any:
        if self._channels is None:
            return super().send(data)
        self._used_at = self._loop.time()
        return self._channels.send(data)

    def close(self, code: int | None = None, reason: str | None = None) -> None:
        if self._channels is None or self._connection is None:
            super().close(code, reason)
            return
        self._channels.end(_CHANNELS.values())
        self._loop.call_later(LINGER, self._connection.close)

    @property
    def _pod_options(self) -> PodAttachOptions:
        assert isinstance(self.connection_options, PodAttachOptions), "admission does not change the kind"
        return self.connection_options

    @property
    def _command(self) -> list[str]:
        return self.connection_options.command if isinstance(self.connection_options, PodExecOptions) else []

    def find(self) -> None:
        """Find the container and check that it runs."""
        target, pod, self._node = self.pod()
        names = [
            c["name"]
            for field in ("containers", "initContainers", "ephemeralContainers")
            for c in pod["spec"].get(field) or ()
        ]
        container = self._pod_options.container or names[0]
        if container not in names:
            raise StatusError(400, f"container {container} is not valid for pod {target.name}")
        status = pod.get("status") or {}
        statuses = [
            one
            for field in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
            for one in status.get(field) or ()
        ]
        if not any(one["name"] == container and "running" in (one.get("state") or {}) for one in statuses):
            raise StatusError(404, f'container not found ("{container}")', "NotFound")
        if target.subresource == "exec" and not self._command:
            raise StatusError(400, "you must specify at least 1 command for the container")
        self._target, self._container = target, container

    async def open(self, *_: str, **__: str) -> None:
        await super().open()
        self._counted = 1
        self._service.watches += 1
        stdin, tty, command = self._pod_options.stdin, self._pod_options.tty, self._command
        where = self._target.namespace, self._target.name, self._container

        def begin() -> Stream:
            with self._service.lock:
                if self._target.subresource == "attach":
                    return self._node.attach(*where, self._heard, stdin=stdin, tty=tty)
                return self._node.exec(*where, command, self._heard, stdin=stdin, tty=tty)

        try:
            self._stream = await self.elsewhere(begin)
            if not self._counted:  # the client has gone meanwhile
                await self.elsewhere(self._stream.close)
        except KitError as error:
            self._end(0, str(error))
        self._opened.set_result(self._stream)

    async def on_message(self, message: str | bytes) -> None:
        data = self.received(message)
        self._used_at = self._loop.time()
        stream = await self._opened
        if not data or stream is None:
            return
        if data[0] == CLOSE and data[1:2] == bytes([STDIN]):
            await self._locked(stream.end_input)
        elif data[0] == RESIZE:
            size = terminal_size(data[1:])
            if size is not None:
                await self._locked(stream.resize, *size)
        elif data[0] == STDIN and len(data) > 1:
            while self._sent >= WINDOW:
                self._room.clear()
                await self._room.wait()
            self._sent += len(data) - 1
            await self._locked(stream.write, data[1:])

    async def _locked(self, work: Callable[..., None], *arguments: Any) -> None:
        def act() -> None:
            with self._service.lock:
                work(*arguments)

        await self.elsewhere(act)

    def on_close(self) -> None:
        super().on_close()
        self._service.watches -= self._counted
        self._counted = 0
        self._room.set()
        # Ends the wait in on_message, whose window will not be emptied by the closed stream.
        self._sent = -(1 << 60)
        if self._stream is not None:
            self._loop.run_in_executor(None, self._stream.close)

    def _heard(self, event: StreamEvent) -> None:
        """Pass an event of the node, from any thread, to the event loop."""
        with suppress(RuntimeError):  # the server ends
            self._loop.call_soon_threadsafe(self._take, event)

    def _take(self, event: StreamEvent) -> None:
        if event.taken:
            self._sent -= event.taken
            self._room.set()
        if event.data:
            gone = self.send(bytes([event.channel]) + event.data)
            self.later(self._grant(gone, len(event.data)))
        if event.ended:
            self._end(event.code, event.why)

    async def _grant(self, gone: Any, size: int) -> None:
        """Request more output from the node after some has been written."""
        with suppress(WebSocketClosedError):
            await gone
        self._used += size
        # Output is granted again only after the client's connection has taken it: a client that does not read stops the
        # command's output instead of filling the memory. One call covers many small messages.
        if self._used >= _GRANT and self._stream is not None:
            used, self._used = self._used, 0
            await self.elsewhere(self._stream.more, used)

    def _end(self, code: int, why: str) -> None:
        status = exit_status(code, why)
        if self._channels is not None or self._subprotocol in _WITH_STATUS:
            self.send(bytes([ERROR]) + json.dumps(status).encode())
        elif status["status"] != "Success":  # Source: cri-streaming remotecommand v1WriteStatusFunc
            self.send(bytes([ERROR]) + status["message"].encode())
        self.close(1000)
