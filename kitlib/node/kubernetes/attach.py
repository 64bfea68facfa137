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

    def settimeout(self, seconds: float | None) -> None:
        """It waits as long as it takes."""

    def recv(self, size: int) -> bytes:
        """The next frame; b"" at the end."""
        from websocket import ABNF, WebSocketException

        while True:
            try:
                kind, data = self._connection.recv_data()
            except (WebSocketException, ValueError, AttributeError):  # closed, also by this side while it is read
                return b""
            if kind == ABNF.OPCODE_CLOSE:
                return b""
            if len(data) < 2:
                continue  # a channel that opens
            channel, body = data[0], bytes(data[1:])
            if channel == ERROR:
                body = _reason(body)
                channel = STDERR
            if channel in (STDOUT, STDERR) and body:
                return bytes([channel, 0, 0, 0]) + len(body).to_bytes(4, "big") + body

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


def _reason(body: bytes) -> bytes:
    """What the Status that ends a stream says; b"" for success."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if not isinstance(told, dict) or told.get("status") == "Success":
        return b""
    return str(told.get("message") or told.get("reason") or "").encode("utf-8", "replace")
