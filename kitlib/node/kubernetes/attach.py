"""A container's streams over a WebSocket, in the frames of the Docker engine, so that `Link` reads both alike.

Source: apimachinery pkg/util/remotecommand (channels 0 to 4), Docker Engine API ContainerAttach "Stream format".
"""

from __future__ import annotations

import json
import socket
import ssl
from contextlib import suppress
from typing import Any

from kitlib.node.real.tls import TlsStream

STDIN, STDOUT, STDERR, ERROR = 0, 1, 2, 3
_PIECE = 32 * 1024
"""Maximum bytes of a message: servers limit the size of a read."""


MAX_FRAME = 4 << 20
"""Maximum bytes of a received WebSocket frame; an API server sends frames of about 32 KiB."""
_MAX_STATUS = 64 * 1024
"""Maximum bytes that are kept of the Status object that ends a stream."""


class _Tls(TlsStream):
    """A TLS stream with the socket methods that websocket-client calls."""

    def gettimeout(self) -> None:
        """Return None: `TlsStream` waits by itself."""
        return None

    def settimeout(self, seconds: float | None) -> None:
        """Ignore the timeout: `TlsStream` waits by itself."""

    def send(self, data: bytes) -> int:
        self.sendall(data)
        return len(data)


class AttachStream:
    """A WebSocket with the socket methods that `Link` calls.

    Args:
        connection: a connected `websocket.WebSocket`.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        if isinstance(connection.sock, ssl.SSLSocket):
            connection.sock = _Tls(connection.sock)
        else:
            connection.sock.settimeout(None)
        self._socket = connection.sock
        self._channel, self._status = STDIN, bytearray()
        _bound(connection)

    def settimeout(self, seconds: float | None) -> None:
        """Ignore the timeout: a read waits without limit."""

    def recv(self, size: int) -> bytes:
        """Return the next frame of the container's output; b"" at the end of the stream."""
        from websocket import ABNF, WebSocketException

        while True:
            try:
                frame = self._connection.recv_frame()
            except (WebSocketException, ValueError, AttributeError, OSError):  # closed, also by this side meanwhile
                return b""
            if frame.opcode == ABNF.OPCODE_CLOSE:
                return b""
            if frame.opcode == ABNF.OPCODE_PING:
                with suppress(WebSocketException, OSError):  # the peer is gone; received frames are still to be read
                    self._connection.pong(frame.data)
            if frame.opcode not in (ABNF.OPCODE_TEXT, ABNF.OPCODE_BINARY, ABNF.OPCODE_CONT) or not frame.data:
                continue
            body = bytes(frame.data)
            if frame.opcode != ABNF.OPCODE_CONT:  # only a message's first frame starts with the channel's number
                self._channel, body = body[0], body[1:]
            found = self._part(body, last=bool(frame.fin))
            if found:
                return found

    def _part(self, body: bytes, *, last: bool) -> bytes:
        """Return a part of a message as an engine frame; b"" if there is nothing to pass on yet."""
        channel = self._channel
        if channel == ERROR:
            self._status += body[: _MAX_STATUS - len(self._status)]
            if not last:
                return b""
            body, channel = _reason(bytes(self._status)), STDERR
            self._status.clear()
        if channel in (STDOUT, STDERR) and body:
            return bytes([channel, 0, 0, 0]) + len(body).to_bytes(4, "big") + body
        return b""

    def sendall(self, data: bytes) -> None:
        """Send data to the container's standard input.

        Raises:
            OSError: the connection has ended.
        """
        from websocket import WebSocketException

        try:
            for at in range(0, len(data), _PIECE):
                self._connection.send_binary(bytes([STDIN]) + data[at : at + _PIECE])
        except (WebSocketException, ValueError, AttributeError) as error:
            raise BrokenPipeError(f"the stream has ended: {error}") from error

    def shutdown(self, how: int) -> None:
        """Shut the connection down, which ends a waiting reader and the container's standard input."""
        self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the socket."""
        with suppress(OSError):
            self._socket.close()


def _bound(connection: Any) -> None:
    """Limit received frames to `MAX_FRAME` bytes; a longer one ends the connection before it is read into memory.

    websocket-client has no setting for it, so its frame buffer is replaced.
    """
    from websocket import WebSocketProtocolException

    standing = connection.frame_buffer
    kind: Any = type(standing)  # a subclass of the buffer's own class, whose methods differ between releases

    class Bounded(kind):
        def recv_length(self) -> None:
            super().recv_length()
            if (self.length or 0) > MAX_FRAME:
                raise WebSocketProtocolException(f"a frame of {self.length} bytes: at most {MAX_FRAME} are taken")

    connection.frame_buffer = Bounded(standing.recv, standing.skip_utf8_validation)


def _reason(body: bytes) -> bytes:
    """Return the message of the Status object that ends a stream; b"" for success."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if not isinstance(told, dict) or told.get("status") == "Success":
        return b""
    return str(told.get("message") or told.get("reason") or "").encode("utf-8", "replace")
