"""port-forward: a pod's port through a WebSocket, as kubectl tunnels SPDY through it.

For each connection the client opens two SPDY streams with the same request id: one for errors, one for data in both
directions. A failure is written to the error stream and ends that connection only.

Source: kubelet pkg/kubelet/cri/streaming/portforward httpstream.go; KEP-4006.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from kitlib.api.errors import KitError
from kitlib.apiserver import spdy
from kitlib.apiserver.status import StatusError
from kitlib.apiserver.streams import PodStream
from kitlib.cluster.nodes.streams import Stream, StreamEvent

PATH = r"^/api/v1/namespaces/[^/]+/pods/[^/]+/portforward$"
PROTOCOL = "SPDY/3.1+portforward.k8s.io"
MAX_CONNECTIONS = 256


@dataclass
class _Connection:
    """One connection to a port.

    Attributes:
        request: its id.
        port: of the pod.
        errors, data: numbers of its SPDY streams; 0 = not opened yet.
        stream: to the pod.
        waiting: data that came before there was a stream.
        over: nothing more comes from the client.
    """

    request: str
    port: int
    errors: int = 0
    data: int = 0
    stream: Stream | None = None
    waiting: bytes = b""
    over: bool = False


class PortForwardHandler(PodStream):
    """One `kubectl port-forward`."""

    def select_subprotocol(self, subprotocols: list[str]) -> str | None:
        return PROTOCOL if PROTOCOL in subprotocols else None

    def find(self) -> None:
        """The pod, and whether the client speaks what is spoken here."""
        target, pod, self._node = self.pod()
        if self._node.no_ports:
            raise StatusError(501, f"port-forward: {self._node.no_ports}", "NotImplemented")
        offered = self.request.headers.get("Sec-WebSocket-Protocol", "")
        if PROTOCOL not in [one.strip() for one in offered.split(",")]:
            raise StatusError(400, f"port-forward: the subprotocol {PROTOCOL} is required, got {offered!r}")
        if (pod.get("status") or {}).get("phase") != "Running":
            raise StatusError(400, f"unable to forward port because pod is not running: {target.name}")
        self._target = target
        self._framer = spdy.Framer()
        self._connections: dict[str, _Connection] = {}
        self._of_stream: dict[int, _Connection] = {}

    async def on_message(self, message: str | bytes) -> None:
        try:
            frames = self._framer.feed(message.encode() if isinstance(message, str) else message)
        except spdy.SpdyError as error:
            self.close(1002, str(error)[:100])
            return
        for frame in frames:
            if frame.kind == spdy.SYN_STREAM:
                await self._open_stream(frame)
            elif frame.kind == 0:
                await self._data(frame)
            elif frame.kind == spdy.PING:
                self.send(self._framer.pong(frame.stream))
            elif frame.kind == spdy.RST_STREAM:
                one = self._of_stream.get(frame.stream)
                if one is not None and frame.stream == one.data:
                    await self._forget(one)
            elif frame.kind == spdy.GOAWAY:
                self.close(1000)

    async def _open_stream(self, frame: spdy.Frame) -> None:
        port, kind = spdy.port_of(frame.headers.get("port", "")), frame.headers.get("streamtype", "")
        request = frame.headers.get("requestid", "")
        one = self._connections.get(request) or _Connection(request, port)
        twice = one.errors if kind == "error" else one.data
        full = len(self._connections) >= MAX_CONNECTIONS and request not in self._connections
        if kind not in ("error", "data") or not port or full or twice or frame.stream in self._of_stream:
            self.send(self._framer.reset(frame.stream, 3))
            return
        self._connections[request] = one
        self._of_stream[frame.stream] = one
        self.send(self._framer.reply(frame.stream))
        if kind == "error":
            one.errors = frame.stream
        else:
            one.data = frame.stream
            await self._connect(one)

    async def _connect(self, one: _Connection) -> None:
        def heard(event: StreamEvent) -> None:
            with suppress(RuntimeError):  # the server ends
                self._loop.call_soon_threadsafe(self._take, one, event)

        where = self._target.namespace, self._target.name, one.port
        try:
            one.stream = await self.elsewhere(self._node.connect, *where, heard)
        except KitError as error:
            text = f"error forwarding port {one.port} to pod {self._target.name}: {error}"
            if one.errors:
                self.send(self._framer.data(one.errors, text.encode(), last=True))
            self.send(self._framer.data(one.data, b"", last=True))
            await self._forget(one)

    async def _data(self, frame: spdy.Frame) -> None:
        one = self._of_stream.get(frame.stream)
        if one is None or frame.stream != one.data or one.stream is None:
            return
        if frame.data:
            await self.elsewhere(one.stream.write, frame.data)
        if frame.last:
            await self.elsewhere(one.stream.end_input)

    def _take(self, one: _Connection, event: StreamEvent) -> None:
        if event.data:
            gone = self.send(self._framer.data(one.data, event.data))
            self.later(self._grant(one, gone, len(event.data)))
        if event.ended:
            self.send(self._framer.data(one.data, b"", last=True))
            if one.errors:
                self.send(self._framer.data(one.errors, b"", last=True))
            self.later(self._forget(one))

    async def _grant(self, one: _Connection, gone: object, size: int) -> None:
        with suppress(Exception):  # the client has gone
            await gone  # type: ignore[misc]
        if one.stream is not None:
            await self.elsewhere(one.stream.more, size)

    async def _forget(self, one: _Connection) -> None:
        self._connections.pop(one.request, None)
        for number in (one.errors, one.data):
            self._of_stream.pop(number, None)
        if one.stream is not None:
            stream, one.stream = one.stream, None
            await self.elsewhere(stream.close)

    def on_close(self) -> None:
        for one in list(getattr(self, "_connections", {}).values()):
            self.later(self._forget(one))
