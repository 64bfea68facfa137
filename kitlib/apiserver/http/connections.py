"""Connections to the served API: their maximum number, the timeouts, and the limits of unauthenticated clients.

Source: apiserver pkg/server/secure_serving.go (IdleTimeout 90 s, ReadHeaderTimeout 32 s); net/http.Server.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream

IDLE = 90.0
"""The timeout in seconds of a TLS handshake, of a request's headers, and between two requests."""
BODY = 60.0
"""The timeout in seconds of a request's body."""
STRANGERS_BODY = 64 * 1024
"""The maximum size in bytes of a body that is read before the client is authenticated or where none is expected."""
MIN_CONNECTIONS, MAX_CONNECTIONS = 64, 4096


def most_connections() -> int:
    """Return half of the process's limit of open files; the other half is for the cluster and the notebook."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return MAX_CONNECTIONS
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else max(MIN_CONNECTIONS, min(MAX_CONNECTIONS, soft // 2))


class Server(HTTPServer):
    """An HTTP server with a limited number of connections; unauthenticated clients are disconnected first.

    If the limit is reached, a new connection replaces the oldest one that has not sent a valid token.

    Attributes:
        most: the maximum number of open connections.
    """

    def initialize(self, *arguments: Any, **options: Any) -> None:
        bounds = {"idle_connection_timeout": IDLE, "body_timeout": BODY, "max_body_size": STRANGERS_BODY}
        super().initialize(*arguments, **{**bounds, **options})
        self.most = most_connections()
        self._strangers: WeakKeyDictionary[IOStream, None] = WeakKeyDictionary()
        self._known: WeakSet[IOStream] = WeakSet()

    def handle_stream(self, stream: IOStream, address: Any) -> None:
        """Accept a connection, or close it if the limit is reached and all others are authenticated."""
        if len(self._strangers) + len(self._known) >= self.most:
            self._forget_the_closed()
        if len(self._strangers) + len(self._known) >= self.most:
            if not self._strangers:
                stream.close()
                return
            # The dictionary keeps the order of insertion, so its first stream is the oldest.
            longest = next(self._strangers.keys())
            del self._strangers[longest]
            longest.close()
        self._strangers[stream] = None
        super().handle_stream(stream, address)

    def know(self, stream: IOStream) -> None:
        """Mark a connection as authenticated."""
        if stream in self._strangers:
            del self._strangers[stream]
            self._known.add(stream)

    def _forget_the_closed(self) -> None:
        for one in [*self._strangers, *self._known]:
            if one.closed():
                self._strangers.pop(one, None)
                self._known.discard(one)
