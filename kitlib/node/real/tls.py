"""A TLS stream that one thread reads while another writes to it.

A plain socket can be read and written at the same time. A TLS connection has one state for both, so it cannot, and a
thread that blocks in a read would keep the other one from writing. Therefore the waiting is done outside, on the
socket, and only non-blocking calls are made on the TLS connection, by one thread at a time.

Source: SSL_read(3) and SSL_write(3) on non-blocking sockets; Python's documentation of ssl, "Notes on non-blocking
sockets".
"""

from __future__ import annotations

import select
import socket
import ssl
import threading

_PIECE = 1 << 14
"""Maximum bytes of a TLS record."""


class TlsStream:
    """A connected `ssl.SSLSocket`, with the socket methods that `Link` calls.

    Args:
        connection: the connection to the engine.
    """

    def __init__(self, connection: ssl.SSLSocket) -> None:
        self._connection = connection
        self._connection.setblocking(False)
        self._one_at_a_time = threading.Lock()

    def recv(self, size: int) -> bytes:
        """Return received bytes; b"" at the end of the stream."""
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
        """Send all data; only one thread may call it at a time."""
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
        """Wait until the socket below can be read or written, or is closed."""
        place = self._connection.fileno()
        if place < 0:
            raise OSError("the stream is closed")
        waits = select.poll()
        waits.register(place, event)
        waits.poll()

    def shutdown(self, how: int) -> None:
        """Shut the connection down without TLS closing messages, which ends a waiting reader at once."""
        socket.socket.shutdown(self._connection, how)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
