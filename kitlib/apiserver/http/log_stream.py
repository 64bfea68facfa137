"""A container's log as it is sent to a client: as the body of a response, or as the messages of a WebSocket.

The WebSocket's subprotocol is `binary.k8s.io` (also without a subprotocol) or `base64.binary.k8s.io`. The first message
is empty, the others have the log's bytes, and the server ignores messages of the client.

Source: apiserver endpoints/handlers/responsewriters StreamObject; k8s.io/streaming wsstream Reader.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

from tornado.httputil import HTTPServerRequest
from tornado.routing import Matcher
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from kitlib.api.errors import KitError
from kitlib.api.streams import Stream, StreamEvent
from kitlib.apiserver.http.dispatcher import Dispatcher, Response
from kitlib.apiserver.http.logs import LogRequest
from kitlib.apiserver.http.request import Request, parse_path
from kitlib.apiserver.http.status import StatusError
from kitlib.apiserver.http.streams import StreamServer

_BINARY, _BASE64 = "binary.k8s.io", "base64.binary.k8s.io"
_LOOK = 1.0
"""The interval in seconds between two looks whether the client of a silent log is still connected."""


class LogReader:
    """The opened log of a container.

    Args:
        stream: the node's stream; None = the log is empty.
        events: receives the events of the stream.
    """

    def __init__(self, stream: Stream | None, events: asyncio.Queue[StreamEvent]) -> None:
        self._stream, self._events = stream, events

    @classmethod
    async def open(cls, asked: LogRequest) -> LogReader:
        """Open a log in another thread, so that other requests continue.

        Raises:
            StatusError: the node's error.
        """
        loop, events = asyncio.get_running_loop(), asyncio.Queue[StreamEvent]()

        def heard(event: StreamEvent) -> None:
            with suppress(RuntimeError):  # the server ends
                loop.call_soon_threadsafe(events.put_nowait, event)

        try:
            return cls(await loop.run_in_executor(None, asked.open, heard), events)
        except KitError as error:
            raise StatusError(400, str(error)) from None

    async def copy(self, write: Callable[[bytes], Awaitable[None]], gone: Callable[[], bool]) -> None:
        """Send the log until it ends or the client has gone, and close it.

        Args:
            write: sends bytes and returns after the client's connection has taken them.
            gone: returns whether the client has closed its connection.
        """
        if self._stream is None:
            return
        run = asyncio.get_running_loop().run_in_executor
        try:
            while not gone():
                try:
                    event = await asyncio.wait_for(self._events.get(), _LOOK)
                except TimeoutError:
                    continue
                if event.data:
                    await write(event.data)
                    # The node sends more only after the client's connection has taken this much.
                    await run(None, self._stream.more, len(event.data))
                if event.ended:
                    break
        finally:
            await self.close()

    async def close(self) -> None:
        """Close the log without reading it further."""
        if self._stream is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._stream.close)


class LogSocketMatcher(Matcher):
    """Matches requests for a log that upgrade the connection to a WebSocket."""

    def match(self, request: HTTPServerRequest) -> dict[str, Any] | None:
        if request.headers.get("Upgrade", "").lower() != "websocket":
            return None
        target = parse_path(request.path)
        wanted = target is not None and (target.plural, target.subresource) == ("pods", "log")
        return {} if wanted else None


class LogSocket(WebSocketHandler):
    """The handler of a log over a WebSocket."""

    def initialize(self, service: StreamServer) -> None:
        self._service = service
        self._closed = False
        self._copying: asyncio.Task[None] | None = None

    async def prepare(self) -> None:
        try:
            self._asked = Request.received(self.request, self._service.user_of(self.request))
            dispatcher: Dispatcher = self._service.dispatcher
            answer = await self._service.attempt(partial(dispatcher.handle, self._asked))
            if isinstance(answer, Response):
                self._refuse(answer.code, answer.body)
                return
            assert isinstance(answer, LogRequest)
            offered = self.request.headers.get("Sec-WebSocket-Protocol", "")
            if offered and not self.select_subprotocol([one.strip() for one in offered.split(",")]):
                raise StatusError(403, f"{offered}: the subprotocols of a log are {_BINARY} and {_BASE64}", "Forbidden")
            self._reader = await LogReader.open(answer)
        except StatusError as error:
            self._refuse(error.code, json.dumps(error.body()).encode())

    def _refuse(self, code: int, body: bytes) -> None:
        self.set_status(code)
        self.set_header("Content-Type", "application/json")
        self.finish(body)

    def select_subprotocol(self, subprotocols: list[str]) -> str | None:
        return next((one for one in subprotocols if one in (_BINARY, _BASE64)), None)

    def check_origin(self, origin: str) -> bool:
        """Accept every origin: the bearer token protects the server, and a web page does not have it."""
        return True

    async def get(self, *arguments: Any, **named: Any) -> None:
        await super().get(*arguments, **named)
        if self._copying is None:  # the handshake is invalid
            await self._reader.close()

    def open(self, *_: str, **__: str) -> None:
        # A task of its own: Tornado reads messages, and so notices the client's end, only after `open` has returned.
        self._copying = asyncio.get_running_loop().create_task(self._copy())

    async def _copy(self) -> None:
        with self._service.lock:
            resources = self._service.dispatcher.rest.resources
        self._service.watches += 1
        try:
            with self._service.dispatcher.instruments.long_running(self._asked, resources):
                await self._write(b"")
                await self._reader.copy(self._write, lambda: self._closed)
        except WebSocketClosedError:
            pass
        finally:
            self._service.watches -= 1
            self.close(1000)

    async def _write(self, data: bytes) -> None:
        if self.selected_subprotocol == _BASE64:
            await self.write_message(base64.b64encode(data).decode())
        else:
            await self.write_message(data, binary=True)

    def on_message(self, message: str | bytes) -> None:
        """Ignore the client's messages."""

    def on_close(self) -> None:
        self._closed = True
