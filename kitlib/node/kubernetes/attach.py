"""A container's streams over a WebSocket, as the engine's frames: what `Link` reads is the same on Docker and here.

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
"""Bytes of one message at most: servers bound what they read at once."""


MAX_FRAME = 4 << 20
"""Bytes of a WebSocket frame that are taken; an API server sends what it has read of a stream, some 32 KiB."""
_MAX_STATUS = 64 * 1024
"""Bytes that are kept of the Status that ends a stream."""


class _Tls(TlsStream):
    """As websocket-client uses a socket."""

    def gettimeout(self) -> None:
        """It waits by itself."""
        return None

    def settimeout(self, seconds: float | None) -> None:
        """It waits by itself."""

    def send(self, data: bytes) -> int:
        """Send everything."""
        self.sendall(data)
        return len(data)


class AttachStream:
    """The methods of a socket that `Link` uses, over a WebSocket.

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
        """It waits as long as it takes."""

    def recv(self, size: int) -> bytes:
        """The next frame; b"" at the end."""
        from websocket import ABNF, WebSocketException

        while True:
            try:
                frame = self._connection.recv_frame()
            except (WebSocketException, ValueError, AttributeError, OSError):  # closed, also by this side meanwhile
                return b""
            if frame.opcode == ABNF.OPCODE_CLOSE:
                return b""
            if frame.opcode == ABNF.OPCODE_PING:
                with suppress(WebSocketException, OSError):  # nobody listens; what was sent is still to be read
                    self._connection.pong(frame.data)
            if frame.opcode not in (ABNF.OPCODE_TEXT, ABNF.OPCODE_BINARY, ABNF.OPCODE_CONT) or not frame.data:
                continue
            body = bytes(frame.data)
            if frame.opcode != ABNF.OPCODE_CONT:  # what continues a message is of its channel, and handed on at once
                self._channel, body = body[0], body[1:]
            found = self._part(body, last=bool(frame.fin))
            if found:
                return found

    def _part(self, body: bytes, *, last: bool) -> bytes:
        """A piece of a message as the engine's frame; b"" where there is nothing to tell, or not yet."""
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
        """Send to the container's standard input.

        Raises:
            OSError: where the connection has ended.
        """
        from websocket import WebSocketException

        try:
            for at in range(0, len(data), _PIECE):
                self._connection.send_binary(bytes([STDIN]) + data[at : at + _PIECE])
        except (WebSocketException, ValueError, AttributeError) as error:
            raise BrokenPipeError(f"the stream has ended: {error}") from error

    def shutdown(self, how: int) -> None:
        """End the connection, so that a waiting reader ends at once; the container's standard input ends with it."""
        self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let go."""
        with suppress(OSError):
            self._socket.close()


def _bound(connection: Any) -> None:
    """No frame longer than `MAX_FRAME` is read into memory: the connection ends."""
    from websocket import WebSocketProtocolException

    standing = connection.frame_buffer
    kind: Any = type(standing)  # where a frame's length stands once it is read; there is no setting for it

    class Bounded(kind):
        def recv_length(self) -> None:
            super().recv_length()
            if (self.length or 0) > MAX_FRAME:
                raise WebSocketProtocolException(f"a frame of {self.length} bytes: at most {MAX_FRAME} are taken")

    connection.frame_buffer = Bounded(standing.recv, standing.skip_utf8_validation)


def _reason(body: bytes) -> bytes:
    """What the Status that ends a stream says; b"" for success."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if not isinstance(told, dict) or told.get("status") == "Success":
        return b""
    return str(told.get("message") or told.get("reason") or "").encode("utf-8", "replace")
