"""Connections to the served API: how many there may be, how long each may say nothing, what a stranger may send.

Source: apiserver pkg/server/secure_serving.go (IdleTimeout 90 s, ReadHeaderTimeout 32 s); net/http.Server.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream

IDLE = 90.0
"""Seconds for a connection's TLS handshake, for the headers of a request, and between two requests."""
BODY = 60.0
"""Seconds for a request's body."""
STRANGERS_BODY = 64 * 1024
"""Bytes of a body that are read before it is known who sends it, and where none is needed."""
MIN_CONNECTIONS, MAX_CONNECTIONS = 64, 4096


def most_connections() -> int:
    """Half of the files that the process may open: the rest is the cluster's, and the notebook's."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return MAX_CONNECTIONS
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else max(MIN_CONNECTIONS, min(MAX_CONNECTIONS, soft // 2))


class Server(HTTPServer):
    """An HTTP server whose connections are bounded: a stranger gives way to who comes, a known client does not.

    A stranger is who has not sent a valid token yet; the one who has waited longest is let go first.

    Attributes:
        most: connections at once.
    """

    def initialize(self, *arguments: Any, **options: Any) -> None:
        bounds = {"idle_connection_timeout": IDLE, "body_timeout": BODY, "max_body_size": STRANGERS_BODY}
        super().initialize(*arguments, **{**bounds, **options})
        self.most = most_connections()
        self._strangers: WeakKeyDictionary[IOStream, None] = WeakKeyDictionary()
        self._known: WeakSet[IOStream] = WeakSet()

    def handle_stream(self, stream: IOStream, address: Any) -> None:
        """Take a connection, or let it go where all others are known clients'."""
        if len(self._strangers) + len(self._known) >= self.most:
            self._forget_the_closed()
        if len(self._strangers) + len(self._known) >= self.most:
            if not self._strangers:
                stream.close()
                return
            longest = next(self._strangers.keys())
            del self._strangers[longest]
            longest.close()
        self._strangers[stream] = None
        super().handle_stream(stream, address)

    def know(self, stream: IOStream) -> None:
        """A valid token came over a connection."""
        if stream in self._strangers:
            del self._strangers[stream]
            self._known.add(stream)

    def _forget_the_closed(self) -> None:
        for one in [*self._strangers, *self._known]:
            if one.closed():
                self._strangers.pop(one, None)
                self._known.discard(one)
