"""exec, attach and port-forward for clients that speak SPDY over the upgraded connection itself, not a WebSocket.

Before 1.30 (port-forward: 1.31) kubectl knew nothing else. For exec and attach the client opens one SPDY stream for
each channel that it asked for; they become the channels of the WebSocket protocol here, so that what stands behind them
is the same. Windows are not kept, as in the library that client and kubelet share: who is not read is held back by TCP.

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
"""Seconds for the client to open the streams that it asked for. Source: DefaultStreamCreationTimeout."""
LINGER = 5.0
"""Seconds for the client to read the end of the streams and to close the connection."""
_RESIZE_LINE = 256
"""Bytes of a terminal's size."""
_REFUSED = 3
"""Source: SPDY draft 3.1, RST_STREAM status REFUSED_STREAM."""


def negotiate(headers: HTTPHeaders, accepted: str) -> None:
    """Whether the client speaks the protocol that is spoken over the streams.

    Raises:
        StatusError: 400 where it names none, 403 where it names others.
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
        stream: detached from its HTTP connection.
    """

    def __init__(self, stream: IOStream) -> None:
        self._stream = stream

    async def accept(self, protocol: str) -> None:
        """Answer the upgrade."""
        lines = ("HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", f"Upgrade: {UPGRADE}")
        await self._stream.write("\r\n".join([*lines, f"{_VERSION}: {protocol}", "", ""]).encode())

    async def pieces(self) -> AsyncIterator[bytes]:
        """What comes, until either side closes."""
        with suppress(StreamClosedError):
            while True:
                yield await self._stream.read_bytes(_PIECE, partial=True)

    def send(self, data: bytes) -> Awaitable[None]:
        """Send bytes; something to wait for until they have gone."""
        try:
            return self._stream.write(data)
        except StreamClosedError:
            return _nothing()

    def close(self) -> None:
        """Drop the connection."""
        self._stream.close()


def _nothing() -> Awaitable[None]:
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    done.set_result(None)
    return done


class Channels:
    """The streams of one exec or attach as channels: each message begins with the channel's number.

    Args:
        connection: over which they go.
        wanted: stream type -> channel.
        closes: channel whose end by the client is told as a message, and that message.
        lines: channel whose data are lines, one message each.
        last: channel after whose first message the stream ends.
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
        """Whether every stream that was asked for is open."""
        return len(self._numbers) == len(self._wanted)

    async def take(self, piece: bytes, hear: Hear, ready: Callable[[], Awaitable[None]]) -> bool:
        """Take what came; False where the connection is over.

        Args:
            hear: is given each message.
            ready: called once, when all streams are open.

        Raises:
            SpdyError: for what cannot be understood.
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
        """Send a message on its channel's stream; one for a channel that the client has not opened is dropped."""
        number = self._numbers.get(message[0])
        if number is None or number in self._ended:
            return _nothing()
        if message[0] == self._last:
            self._ended.add(number)
        return self._connection.send(self._framer.data(number, message[1:], last=message[0] == self._last))

    def end(self, channels: Collection[int]) -> None:
        """Nothing more comes on these channels, and no new stream is taken."""
        for number in [self._numbers[one] for one in channels if one in self._numbers]:
            if number not in self._ended:
                self._ended.add(number)
                self._connection.send(self._framer.data(number, b"", last=True))
        self._connection.send(self._framer.goaway(max(self._channels, default=0)))
