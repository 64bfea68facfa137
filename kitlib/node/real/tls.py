"""A TLS stream that one thread reads while another writes to it.

A plain socket may be read and written at once; a TLS connection has one state for both, so it must not, and a thread
that waits for bytes inside of it would keep the other from writing. Here the waiting is done outside, on the socket,
and only what is possible at once is done inside, by one thread at a time.

Source: SSL_read(3) and SSL_write(3) on non-blocking sockets; Python's documentation of ssl, "Notes on non-blocking
sockets".
"""

from __future__ import annotations

import select
import socket
import ssl
import threading

_PIECE = 1 << 14
"""Bytes of one TLS record at most."""


class TlsStream:
    """A connected `ssl.SSLSocket`, with the methods of a socket that `Link` uses.

    Args:
        connection: to which the engine streams.
    """

    def __init__(self, connection: ssl.SSLSocket) -> None:
        self._connection = connection
        self._connection.setblocking(False)
        self._one_at_a_time = threading.Lock()

    def recv(self, size: int) -> bytes:
        """The next bytes; b"" at the end."""
        while True:
            with self._one_at_a_time:
                try:
                    return self._connection.recv(size)
                except ssl.SSLWantReadError:
                    waits_for = select.POLLIN
                except ssl.SSLWantWriteError:
                    waits_for = select.POLLOUT
                except ssl.SSLEOFError:
                    return b""
            self._wait(waits_for)

    def sendall(self, data: bytes) -> None:
        """Send everything; called by one thread at a time."""
        left = memoryview(data)
        while left:
            waits_for = 0
            with self._one_at_a_time:
                try:
                    left = left[self._connection.send(left[:_PIECE]) :]
                except ssl.SSLWantReadError:
                    waits_for = select.POLLIN
                except ssl.SSLWantWriteError:
                    waits_for = select.POLLOUT
            if waits_for:
                self._wait(waits_for)

    def _wait(self, event: int) -> None:
        """Until the socket below can be read or written, or has been closed."""
        place = self._connection.fileno()
        if place < 0:
            raise OSError("the stream is closed")
        waits = select.poll()
        waits.register(place, event)
        waits.poll()

    def shutdown(self, how: int) -> None:
        """End the connection without the closing messages of TLS, so that a waiting reader ends at once."""
        socket.socket.shutdown(self._connection, how)

    def close(self) -> None:
        """Let go."""
        self._connection.close()
