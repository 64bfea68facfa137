"""exec, attach and port-forward for clients that use SPDY over the upgraded connection, not a WebSocket.

kubectl before 1.30 (port-forward: 1.31) has only this. For exec and attach the client opens one SPDY stream for each
channel; the streams are mapped to the channels of the WebSocket protocol, so that both share one implementation.
Flow-control windows are not maintained, as in the library that client and kubelet share: TCP limits the sender.

Source: apimachinery util/httpstream (Handshake), httpstream/spdy upgrade.go; cri-streaming remotecommand httpstream.go
(createHTTPStreamStreams, waitForStreams, v4ProtocolHandler); moby/spdystream.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine
from contextlib import suppress
from typing import Any

from tornado.httputil import HTTPHeaders
from tornado.iostream import IOStream, StreamClosedError

from kitlib.apiserver.http import spdy
from kitlib.apiserver.http.status import StatusError

UPGRADE = "SPDY/3.1"
_VERSION = "X-Stream-Protocol-Version"
_PIECE = 64 * 1024  # bytes read at once
Hear = Callable[[bytes], Coroutine[Any, Any, None]]
STREAMS = 30.0
"""The timeout in seconds for opening the requested streams. Source: DefaultStreamCreationTimeout."""
LINGER = 5.0
"""The time in seconds for the client to read the end of the streams and to close the connection."""
_RESIZE_LINE = 256
"""The maximum size in bytes of a message with a terminal's size."""
_REFUSED = 3
"""Source: SPDY draft 3.1, RST_STREAM status REFUSED_STREAM."""


def negotiate(headers: HTTPHeaders, accepted: str) -> None:
    """Check that the client supports the protocol of the streams.

    Raises:
        StatusError: 400 if it offers none, 403 if it offers only others.
    """
    lines = headers.get_list(_VERSION)
    offered = [one.strip() for line in lines for one in line.split(",") if one.strip()]
    if not offered:
        raise StatusError(400, f"unable to upgrade: {_VERSION} is required")
    if accepted not in offered:
        shown = " ".join(offered)[:200]
        why = f"unable to negotiate protocol: client supports [{shown}], server accepts [{accepted}]"
        raise StatusError(403, f"unable to upgrade: {why}", "Forbidden")


class Connection:
    """An upgraded connection.

    Args:
        stream: the byte stream, detached from its HTTP connection.
    """

    def __init__(self, stream: IOStream) -> None:
        self._stream = stream

    async def accept(self, protocol: str) -> None:
        """Send the response that accepts the upgrade."""
        lines = ("HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", f"Upgrade: {UPGRADE}")
        await self._stream.write("\r\n".join([*lines, f"{_VERSION}: {protocol}", "", ""]).encode())

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the received bytes until either side closes the connection."""
        with suppress(StreamClosedError):
            while True:
                yield await self._stream.read_bytes(_PIECE, partial=True)

    def send(self, data: bytes) -> Awaitable[None]:
        """Send bytes; the result can be awaited until they are written."""
        try:
            return self._stream.write(data)
        except StreamClosedError:
            return nothing()

    def close(self) -> None:
        self._stream.close()


def nothing() -> Awaitable[None]:
    """Return what can be awaited in place of a write to a connection that has ended, and need not be."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    done.set_result(None)
    return done


class Channels:
    """The streams of one exec or attach as channels: each message begins with the channel's number.

    Args:
        connection: the upgraded connection.
        wanted: stream type -> channel.
        closes: the channel whose end by the client is reported as a message, and that message.
        lines: the channel whose data are split into lines, one message each.
        last: the channel after whose first message the stream ends.
    """

    def __init__(
        self, connection: Connection, wanted: dict[str, int], closes: tuple[int, bytes], lines: int, last: int
    ) -> None:
        self._connection, self._wanted, self._framer = connection, wanted, spdy.Framer()
        self._closes, self._lines, self._last = closes, lines, last
        self._numbers: dict[int, int] = {}
        self._channels: dict[int, int] = {}
        self._ended: set[int] = set()
        self._line = bytearray()

    @property
    def complete(self) -> bool:
        """Whether every requested stream is open."""
        return len(self._numbers) == len(self._wanted)

    async def take(self, piece: bytes, hear: Hear, ready: Callable[[], Awaitable[None]]) -> bool:
        """Process received bytes; return False if the connection has ended.

        Args:
            piece: the received bytes.
            hear: called with each message.
            ready: called once, when all streams are open.

        Raises:
            SpdyError: the bytes are not valid SPDY.
        """
        for count, frame in enumerate(self._framer.feed(piece)):
            if count % 100 == 99:
                await asyncio.sleep(0)  # others have their turn
            if frame.kind == spdy.SYN_STREAM:
                if await self._open(frame) and self.complete:
                    await ready()
            elif frame.kind == 0 and frame.stream in self._channels:
                await self._data(frame, hear)
            elif frame.kind == spdy.RST_STREAM and frame.stream in self._channels:
                self._ended.add(frame.stream)
            elif frame.kind == spdy.PING:
                await self._connection.send(self._framer.pong(frame.stream))
            elif frame.kind == spdy.GOAWAY:
                return False
        return True

    async def _open(self, frame: spdy.SPDYFrame) -> bool:
        channel = self._wanted.get(frame.headers.get("streamtype", "").lower())
        if channel is None or channel in self._numbers or frame.stream in self._channels:
            await self._connection.send(self._framer.reset(frame.stream, _REFUSED))
            return False
        self._numbers[channel], self._channels[frame.stream] = frame.stream, channel
        await self._connection.send(self._framer.reply(frame.stream))
        return True

    async def _data(self, frame: spdy.SPDYFrame, hear: Hear) -> None:
        channel = self._channels[frame.stream]
        if channel == self._lines:
            self._line += frame.data
            while b"\n" in self._line:
                line, _, rest = bytes(self._line).partition(b"\n")
                self._line = bytearray(rest)
                await hear(bytes([channel]) + line)
            if len(self._line) > _RESIZE_LINE:
                raise spdy.SpdyError(f"a terminal's size of more than {_RESIZE_LINE} bytes")
        elif frame.data and self.complete:
            await hear(bytes([channel]) + frame.data)
        if frame.last and channel == self._closes[0]:
            await hear(self._closes[1])

    def send(self, message: bytes) -> Awaitable[None]:
        """Send a message on its channel's stream; a message of a channel without an open stream is dropped."""
        number = self._numbers.get(message[0])
        if number is None or number in self._ended:
            return nothing()
        if message[0] == self._last:
            self._ended.add(number)
        return self._connection.send(self._framer.data(number, message[1:], last=message[0] == self._last))

    def end(self, channels: Collection[int]) -> None:
        """Close these channels and reject new streams."""
        for number in [self._numbers[channel] for channel in channels if channel in self._numbers]:
            if number not in self._ended:
                self._ended.add(number)
                self._connection.send(self._framer.data(number, b"", last=True))
        self._connection.send(self._framer.goaway(max(self._channels, default=0)))
