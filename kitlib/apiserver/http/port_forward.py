"""port-forward: a pod's port over SPDY, which kubectl tunnels through a WebSocket since 1.31.

For each connection the client opens two SPDY streams with the same request id: one for errors, one for data in both
directions. A failure is written to the error stream and ends that connection only. The buffers of both directions are
bounded; a peer that stops reading, or opens only one of the two streams, loses its connection.

Other clients (kr8s, the Python client) send the data of each port in the query in two channels of a WebSocket: 2n for
data, 2n+1 for errors. Both begin with the port, in two bytes.

Source: kubelet pkg/kubelet/cri/streaming/portforward httpstream.go (monitorStreamPair), constants.go, websocket.go
(handleWebSocketStreams); KEP-4006.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from kitlib.api.errors import KitError
from kitlib.api.pod_connect import PodPortForwardOptions
from kitlib.api.streams import WINDOW, Stream, StreamEvent
from kitlib.apiserver.http import spdy
from kitlib.apiserver.http.spdy_upgrade import nothing
from kitlib.apiserver.http.status import StatusError
from kitlib.apiserver.http.streams import BASE64, CHANNELS, PodStream

PATH = r"^/api/v1/namespaces/[^/]+/pods/[^/]+/portforward$"
PROTOCOL = "SPDY/3.1+portforward.k8s.io"
_BY_CHANNELS = (f"v4.{CHANNELS}", f"v4.{BASE64}")
_MAX_PORTS = 100
"""The maximum number of ports of one request by channels."""
MAX_CONNECTIONS = 256
"""The maximum number of connections of one port-forward."""
MAX_FORWARDED = 512
"""The maximum number of connections of all port-forwards; each may buffer a window of data in both directions."""
PAIR = 30.0
"""The timeout in seconds for opening both streams of a connection. Source: DefaultStreamCreationTimeout."""
STALLED = 60.0
"""The time in seconds after which a connection ends whose pod does not read."""


@dataclass
class _Connection:
    """One connection to a port.

    Attributes:
        request: the client's request id.
        port: the pod's port.
        errors: the number of the error stream; 0 = not opened yet.
        data: the number of the data stream; 0 = not opened yet.
        stream: the stream to the pod.
        sent: the number of bytes that the pod has not read yet.
        room: set when the pod has read some bytes.
    """

    request: str
    port: int
    errors: int = 0
    data: int = 0
    stream: Stream | None = None
    sent: int = 0
    room: asyncio.Event = field(default_factory=asyncio.Event)


class _ChannelFramer:
    """The framing of a WebSocket with channels, in the place of SPDY's: stream n is channel n - 1."""

    def feed(self, message: bytes) -> list[spdy.SPDYFrame]:
        return [spdy.SPDYFrame(0, message[0] + 1, message[1:])] if message else []

    def data(self, stream: int, data: bytes, *, last: bool = False) -> bytes:
        """Return the message; b"" without data, since a channel has no end of its own."""
        return bytes([stream - 1]) + data if data else b""

    def reply(self, stream: int) -> bytes:
        return b""

    def pong(self, number: int) -> bytes:
        return b""

    def reset(self, stream: int, status: int = 2) -> bytes:
        return b""


class PortForwardHandler(PodStream):
    """The handler of one `kubectl port-forward`."""

    spdy_protocol = "portforward.k8s.io"

    subprotocols = (PROTOCOL, *_BY_CHANNELS)

    @property
    def max_message_size(self) -> int:
        """The maximum size of a message in bytes: the largest frame and its framing."""
        return spdy.MAX_FRAME + 4096

    def find(self) -> None:
        """Find the pod and check that the client offers a supported protocol."""
        target, pod, self._node = self.pod()
        if (pod.get("status") or {}).get("phase") != "Running":
            raise StatusError(400, f"unable to forward port because pod is not running: {target.name}")
        self._target = target
        self._framer: spdy.Framer | _ChannelFramer = spdy.Framer()
        self._connections: dict[str, _Connection] = {}
        self._of_stream: dict[int, _Connection] = {}
        self._ports: list[int] = []
        offered = [one.strip() for one in self.request.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        if self.upgrade != "websocket" or PROTOCOL in offered:
            return
        if offered != [""] and not set(offered).intersection(_BY_CHANNELS):
            valid = ", ".join(self.subprotocols)
            raise StatusError(400, f"port-forward: subprotocols {', '.join(offered)}: valid values: {valid}")
        assert isinstance(self.connection_options, PodPortForwardOptions), "admission does not change the kind"
        self._framer, self._ports = _ChannelFramer(), self.connection_options.ports
        if not self._ports:
            raise StatusError(400, 'query parameter "ports" is required')
        if len(self._ports) > min(_MAX_PORTS, MAX_FORWARDED - self._service.forwarded):
            raise StatusError(429, f"port-forward: {len(self._ports)} ports are too many", "TooManyRequests")

    async def open(self, *arguments: str, **named: str) -> None:
        await super().open(*arguments, **named)
        for number, port in enumerate(self._ports):
            data, errors = 2 * number + 1, 2 * number + 2
            connection = self._connections[str(number)] = _Connection(str(number), port, errors, data)
            self._of_stream[data] = self._of_stream[errors] = connection
            self._service.forwarded += 1
            for stream in (data, errors):
                await self.sent(self._framer.data(stream, port.to_bytes(2, "little")))
            self.later(self._connect(connection))

    def send(self, data: bytes) -> Any:
        return super().send(data) if data else nothing()

    async def on_message(self, message: str | bytes) -> None:
        self._used_at = self._loop.time()
        try:
            frames = self._framer.feed(self.received(message))
        except spdy.SpdyError as error:
            self.close(1002, str(error)[:100])
            return
        for number, frame in enumerate(frames):
            if number % 100 == 99:
                await asyncio.sleep(0)  # others have their turn
            if frame.kind == spdy.SYN_STREAM:
                await self._open_stream(frame)
            elif frame.kind == 0:
                await self._data(frame)
            elif frame.kind == spdy.PING:
                await self.sent(self._framer.pong(frame.stream))
            elif frame.kind == spdy.RST_STREAM:
                connection = self._of_stream.get(frame.stream)
                if connection is not None and frame.stream == connection.data:
                    await self._forget(connection)
            elif frame.kind == spdy.GOAWAY:
                self.close(1000)

    async def _open_stream(self, frame: spdy.SPDYFrame) -> None:
        port, kind = spdy.port_of(frame.headers.get("port", "")), frame.headers.get("streamtype", "")
        request = frame.headers.get("requestid", "")
        connection = self._connections.get(request) or _Connection(request, port)
        twice = connection.errors if kind == "error" else connection.data
        new = request not in self._connections
        full = new and (len(self._connections) >= MAX_CONNECTIONS or self._service.forwarded >= MAX_FORWARDED)
        if kind not in ("error", "data") or not port or full or twice or frame.stream in self._of_stream:
            await self.sent(self._framer.reset(frame.stream, 3))
            return
        if new:
            self._connections[request] = connection
            self._service.forwarded += 1
            self._loop.call_later(PAIR, self._expect_pair, connection)
        self._of_stream[frame.stream] = connection
        await self.sent(self._framer.reply(frame.stream))
        if kind == "error":
            connection.errors = frame.stream
        else:
            connection.data = frame.stream
            self.later(self._connect(connection))

    def _expect_pair(self, connection: _Connection) -> None:
        """Reset a connection if only one of its streams has been opened in time."""
        if self._connections.get(connection.request) is connection and not (connection.errors and connection.data):
            self.send(self._framer.reset(connection.errors or connection.data, 3))
            self.later(self._forget(connection))

    async def _connect(self, connection: _Connection) -> None:
        def heard(event: StreamEvent) -> None:
            with suppress(RuntimeError):  # the server ends
                self._loop.call_soon_threadsafe(self._take, connection, event)

        where = self._target.namespace, self._target.name, connection.port
        try:
            stream: Stream = await self.elsewhere(self._node.connect, *where, heard, True)
            if self._connections.get(connection.request) is not connection:  # the client has gone meanwhile
                await self.elsewhere(stream.close)
                return
            connection.stream = stream
            connection.room.set()
        except KitError as error:
            text = f"error forwarding port {connection.port} to pod {self._target.name}: {error}"
            if connection.errors:
                self.send(self._framer.data(connection.errors, text.encode(), last=True))
            self.send(self._framer.data(connection.data, b"", last=True))
            await self._forget(connection)

    async def _data(self, frame: spdy.SPDYFrame) -> None:
        connection = self._of_stream.get(frame.stream)
        if connection is None or frame.stream != connection.data:
            return
        # Waiting here also delays the client's next messages: the back-pressure of a pod that does not read.
        if not await self._has_room(connection):
            self.send(self._framer.reset(connection.data, 5))
            await self._forget(connection)
            return
        if frame.data and connection.stream is not None:
            connection.sent += len(frame.data)
            await self.elsewhere(connection.stream.write, frame.data)
        if frame.last and connection.stream is not None:
            await self.elsewhere(connection.stream.end_input)

    async def _has_room(self, connection: _Connection) -> bool:
        """Wait until the pod is connected and its buffer has room; return False after the timeout or at the end."""
        with suppress(TimeoutError):
            while self._connections.get(connection.request) is connection:
                if connection.stream is not None and connection.sent < WINDOW:
                    return True
                # No await separates the check from clear(), and `_take` runs on this loop: no set() is lost.
                connection.room.clear()
                await asyncio.wait_for(connection.room.wait(), STALLED)
        return False

    def _take(self, connection: _Connection, event: StreamEvent) -> None:
        if self._connections.get(connection.request) is not connection:
            return
        if event.taken:
            connection.sent -= event.taken
            connection.room.set()
        if event.data:
            gone = self.send(self._framer.data(connection.data, event.data))
            self.later(self._grant(connection, gone, len(event.data)))
        if event.ended:
            self.send(self._framer.data(connection.data, b"", last=True))
            if connection.errors:
                self.send(self._framer.data(connection.errors, b"", last=True))
            self.later(self._forget(connection))

    async def _grant(self, connection: _Connection, gone: object, size: int) -> None:
        with suppress(Exception):  # the client has gone
            await gone  # type: ignore[misc]
        if connection.stream is not None:
            await self.elsewhere(connection.stream.more, size)

    async def _forget(self, connection: _Connection) -> None:
        if self._connections.get(connection.request) is connection:
            del self._connections[connection.request]
            self._service.forwarded -= 1
        connection.sent = 0
        connection.room.set()
        for number in (connection.errors, connection.data):
            self._of_stream.pop(number, None)
        if self._ports and not self._connections:
            self.close(1000)
        if connection.stream is not None:
            stream, connection.stream = connection.stream, None
            await self.elsewhere(stream.close)

    def on_close(self) -> None:
        super().on_close()
        for one in list(getattr(self, "_connections", {}).values()):
            self.later(self._forget(one))
