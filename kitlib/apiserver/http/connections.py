"""Connections to the served API: their maximum number, TLS handshakes, timeouts, and limits of unauthenticated clients.

Source: apiserver pkg/server/secure_serving.go (IdleTimeout 90 s, ReadHeaderTimeout 32 s); net/http.Server.
"""

from __future__ import annotations

import asyncio
import math
import socket
import ssl
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream, SSLIOStream

IDLE = 90.0
"""The timeout in seconds of a request's headers, and between two requests."""
HANDSHAKE = 32.0
"""The timeout in seconds of a TLS handshake. Source: net/http Server.tlsHandshakeTimeout."""
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
    """An HTTPS server with a limited number of connections; unauthenticated clients are disconnected first.

    If the limit is reached, a new connection replaces the oldest one that has not sent a valid token. Connections are
    accepted, and TLS handshakes made, in a thread of their own: a client that gives up a handshake after ten seconds,
    as Go's clients do, waits for its response however long the requests before it take.

    Attributes:
        most: the maximum number of open connections.
    """

    def initialize(self, *arguments: Any, **options: Any) -> None:
        bounds = {"idle_connection_timeout": IDLE, "body_timeout": BODY, "max_body_size": STRANGERS_BODY}
        super().initialize(*arguments, **{**bounds, **options})
        self.most = most_connections()
        self._guard = threading.Lock()
        # Both with the time at which a connection was accepted.
        self._arriving: dict[ssl.SSLSocket, tuple[float, asyncio.Task[None]]] = {}
        self._strangers: WeakKeyDictionary[IOStream, float] = WeakKeyDictionary()
        self._known: WeakSet[IOStream] = WeakSet()

    def add_sockets(self, sockets: Iterable[socket.socket]) -> None:
        """Accept connections on these sockets; the requests are handled in the running event loop."""
        for one in sockets:
            self._sockets[one.fileno()] = one
            self._handlers[one.fileno()] = self._start_accepting(one)

    def _start_accepting(self, listening: socket.socket) -> Callable[[], None]:
        """Start the thread of a socket, and return the function that ends it."""
        runner, requests = asyncio.Runner(), asyncio.get_running_loop()
        loop = runner.get_loop()
        accepting = loop.create_task(self._accept(listening, requests))

        def run() -> None:
            with runner, suppress(asyncio.CancelledError):  # the end of a runner cancels the other tasks
                runner.run(_finished(accepting))

        thread = threading.Thread(target=run, name="kitlib-handshakes", daemon=True)
        thread.start()

        def end() -> None:
            loop.call_soon_threadsafe(accepting.cancel)
            thread.join(5)

        return end

    async def _accept(self, listening: socket.socket, requests: asyncio.AbstractEventLoop) -> None:
        loop, context = asyncio.get_running_loop(), self.ssl_options
        assert isinstance(context, ssl.SSLContext)
        while True:
            try:
                connection, address = await loop.sock_accept(listening)
            except OSError:  # no file descriptor is left, or the client has gone already
                await asyncio.sleep(0.1)
                continue
            try:
                arrived = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
            except OSError:  # the client has gone already
                connection.close()
                continue
            if not self._make_room(requests):
                arrived.close()
                continue
            with self._guard:
                task = loop.create_task(self._shake_hands(arrived, address, requests))
                self._arriving[arrived] = loop.time(), task

    def _make_room(self, requests: asyncio.AbstractEventLoop) -> bool:
        """Disconnect the oldest unauthenticated client if the limit is reached; return False if there is none."""
        with self._guard:
            if len(self._arriving) + len(self._strangers) + len(self._known) >= self.most:
                self._forget_the_closed()
            if len(self._arriving) + len(self._strangers) + len(self._known) < self.most:
                return True
            # Dictionaries keep the order of insertion, so the first one is the oldest.
            stranger, since = next(iter(self._strangers.items()), (None, math.inf))
            arriving, (begun, task) = next(iter(self._arriving.items()), (None, (math.inf, None)))
            if stranger is not None and since <= begun:
                del self._strangers[stranger]
                requests.call_soon_threadsafe(stranger.close)
            elif arriving is not None and task is not None:
                del self._arriving[arriving]
                if not task.cancel():  # the handshake is made: `_serve` will not find the connection
                    arriving.close()
            return stranger is not None or arriving is not None

    async def _shake_hands(self, arrived: ssl.SSLSocket, address: Any, requests: asyncio.AbstractEventLoop) -> None:
        """Make the handshake of a connection, and pass the connection to the event loop of the requests."""
        try:
            async with asyncio.timeout(HANDSHAKE):
                await _handshake(arrived)
            requests.call_soon_threadsafe(self._serve, arrived, address)
        except BaseException as error:
            with self._guard:
                self._arriving.pop(arrived, None)
            arrived.close()
            if not isinstance(error, OSError | RuntimeError):  # it has failed, or the other event loop has ended
                raise

    def _serve(self, arrived: ssl.SSLSocket, address: Any) -> None:
        """Serve a connection whose handshake is made; it may have been closed in the meantime to make room."""
        with self._guard:
            since, _ = self._arriving.pop(arrived, (None, None))
            if since is None:
                return
            stream = SSLIOStream(arrived, max_buffer_size=self.max_buffer_size, read_chunk_size=self.read_chunk_size)
            self._strangers[stream] = since
        self.handle_stream(stream, address)

    def know(self, stream: IOStream) -> None:
        """Mark a connection as authenticated."""
        with self._guard:
            if stream in self._strangers:
                del self._strangers[stream]
                self._known.add(stream)

    def _forget_the_closed(self) -> None:
        for one in [*self._strangers, *self._known]:
            if one.closed():
                self._strangers.pop(one, None)
                self._known.discard(one)


async def _finished(task: asyncio.Task[None]) -> None:
    await task


async def _handshake(connection: ssl.SSLSocket) -> None:
    """Make a TLS handshake as the server.

    Raises:
        OSError: the handshake has failed.
    """
    loop = asyncio.get_running_loop()
    while True:
        try:
            connection.do_handshake()
            return
        except ssl.SSLWantReadError:
            await _event(loop.add_reader, loop.remove_reader, connection)
        except ssl.SSLWantWriteError:
            await _event(loop.add_writer, loop.remove_writer, connection)


async def _event(add: Callable[..., object], remove: Callable[..., object], connection: ssl.SSLSocket) -> None:
    happened, number = asyncio.Event(), connection.fileno()
    add(number, happened.set)
    try:
        await happened.wait()
    finally:
        remove(number)
