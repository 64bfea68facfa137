"""The owner's end of a node's streams: requests with answers, and reports as they arrive.

A thread reads continuously, so that a node never waits for its owner; it only sorts the messages. Reports wait in a
queue until the owner's own thread takes them, so only that thread touches the cluster's state.

Every line is checked before it is used. An invalid line is recorded and dropped. A node that keeps sending invalid
lines, sends a line without end, or reports faster than its reports can be read loses its connection; other nodes keep
theirs.
"""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any

from kitlib.api.clock import steady_now
from kitlib.api.errors import KitError
from kitlib.node.real import protocol

TIMEOUT = 60.0
"""Seconds without a message after which a node counts as stuck."""
BEGINS = 150.0
"""The same for a starting node: systemd is slow in an emulated machine."""
_STDOUT, _STDERR = 1, 2
_HEADER = 8
_CHUNK = 1 << 16
_SAID_LAST = 40
_SAID_LENGTH = 2000
MAX_BAD = 100
"""Number of invalid lines after which the connection is closed."""
MAX_REPORTS = 200_000
"""Maximum number of waiting reports: a burst of OOM kills in 25 pods produces 2,000."""


class NodeGone(KitError):
    """The node's container has ended, or does not answer."""


class Misbehaved(KitError):
    """The peer violated the protocol; its connection is closed."""


class Conversation:
    """A conversation between an owner and a node, over any transport of lines.

    Args:
        name: name of the node, for messages.
        first: number of the first request.

    Attributes:
        reports: waiting reports of the node.
        errors: the last lines of its standard error.
        heard: number of received lines.
        renewed: the time of the last renewal of the Lease by the node's kubelet; None = not yet.
        patience: default timeout of requests in seconds without any message.
        whom: the peer's description in messages.
        look: returns the state of the peer's container, for the error of a missing answer; "" = unknown.
        ended: class of the error for a closed connection.
        remedy: the way out after the end of the peer, for that error.
    """

    ended: type[NodeGone] = NodeGone
    remedy = "cluster.add_nodes(1) starts another node"
    max_line = protocol.MAX_LINE

    def __init__(self, name: str, first: int = 1) -> None:
        self.name, self.whom = name, f"node {name}"
        self.reports: deque[dict[str, Any]] = deque()
        self.errors: deque[str] = deque(maxlen=_SAID_LAST)
        self._numbers = itertools.count(first)
        self._waiting: dict[int, queue.SimpleQueue[dict[str, Any] | None]] = {}
        self._asked: dict[int, str] = {}
        self._bad = 0
        self._watches: dict[int, Callable[[float, list[Any]], None]] = {}
        self._streams: dict[int, Callable[[dict[str, Any] | None], None]] = {}
        self._ended = threading.Event()
        self.heard, self._heard_at, self.patience = 0, 0.0, TIMEOUT
        self.renewed: datetime | None = None
        self.look: Callable[[], str] = str
        self._closed = False

    def write(self, line: bytes) -> None:
        """Send a line unchanged.

        Raises:
            OSError: the connection is closed.
        """
        raise OSError("not connected")

    @property
    def alive(self) -> bool:
        """Whether the connection is open."""
        return not self._ended.is_set()

    def ask(self, do: str, *, timeout: float | None = None, **about: Any) -> Any:
        """Send a request and wait for its answer.

        Raises:
            NodeGone: the node has ended or does not answer.
            KitError: the node's error.
        """
        return self.answer(self.send(do, **about), timeout)

    def send(self, do: str, **about: Any) -> int:
        """Send a request and return its number, for `answer`."""
        number = next(self._numbers)
        # Registered before the write: the reader's thread may receive the answer before `write` returns.
        self._waiting[number], self._asked[number] = queue.SimpleQueue(), do
        line = protocol.encode({"id": number, "do": do, **about})
        try:
            self.write(line)
        except OSError as error:
            self._waiting.pop(number, None)
            self._asked.pop(number, None)
            raise self._gone() from error
        # `_over` has not woken this request if the connection ended before the registration above.
        if self._ended.is_set():
            self._waiting[number].put(None)
        return number

    def answer(self, number: int, timeout: float | None = None) -> Any:
        """Wait for the answer to a sent request.

        Raises:
            NodeGone: the node has ended or does not answer.
            KitError: the node's error, or an answer of the wrong type.
        """
        do = self._asked.get(number, "")
        found = self.message(number, timeout)
        if found.get("error") is not None:
            raise protocol.error_from_data(found["error"], self.name)
        try:
            protocol.check_answer(do, found.get("ok"))
        except KitError as error:
            raise KitError(f"{self.whom}: {error}") from None
        return found.get("ok")

    def message(self, number: int, timeout: float | None = None) -> dict[str, Any]:
        """Wait for the whole message that answers a request; it may be an error.

        A node answers requests one after another, and during a long one reports every few seconds that it is working.

        Args:
            number: number of the request.
            timeout: maximum seconds without any message; None = `patience`.

        Raises:
            NodeGone: the node has ended or does not answer.
        """
        asked_at = time.monotonic()
        timeout = self.patience if timeout is None else timeout
        try:
            while True:
                left = max(asked_at, self._heard_at) + timeout - time.monotonic()
                if left <= 0:
                    raise self._late(timeout)
                with suppress(queue.Empty):
                    found = self._waiting[number].get(timeout=left)
                    break
        finally:
            self._waiting.pop(number, None)
            self._asked.pop(number, None)
        if found is None:
            raise self._gone()
        return found

    def watch(self, files: list[tuple[str, str]], hz: float, heard: Callable[[float, list[Any]], None]) -> int:
        """Have files sampled, and return the watch's number.

        Args:
            files: (cgroup, file) of each.
            hz: samples a second.
            heard: function that the reader's thread calls with the node's seconds and the values.
        """
        number = next(self._numbers)
        # Registered first: samples may arrive before the answer.
        self._watches[number] = heard
        try:
            self.ask("watch", number=number, files=[list(file) for file in files], hz=hz)
        except KitError:
            self._watches.pop(number, None)
            raise
        return number

    def unwatch(self, number: int) -> None:
        """Stop a watch."""
        if self._watches.pop(number, None) is not None and self.alive:
            self.ask("unwatch", number=number)

    def open_stream(self, do: str, heard: Callable[[dict[str, Any] | None], None], **about: Any) -> int:
        """Open a stream and return its number, for `tell`.

        Args:
            do: `exec`, `attach`, `follow` or `connect`.
            heard: function that the reader's thread calls with every message; None = the connection is closed.
            **about: fields of the request.

        Raises:
            KitError: the node's error.
        """
        number = next(self._numbers)
        # Registered first: output may arrive before the answer.
        self._streams[number] = heard
        try:
            self.ask(do, number=number, **about)
        except KitError:
            self._streams.pop(number, None)
            raise
        return number

    def close_stream(self, number: int) -> None:
        """Close a stream."""
        if self._streams.pop(number, None) is not None:
            self.tell("stream_close", number=number)

    def tell(self, do: str, **about: Any) -> None:
        """Send a request without waiting for its answer; nothing happens if the connection is closed."""
        with suppress(OSError):
            self.write(protocol.encode({"id": 0, "do": do, **about}))

    def _gone(self) -> NodeGone:
        """Return the error of a closed connection, with the end of the node's standard error."""
        said = " / ".join(self.errors)[-600:]
        text = f"{self.whom} has ended{f': {said}' if said else ''}"
        return self.ended(text if self._closed else f"{text}; {self.remedy}")

    def _late(self, timeout: float) -> NodeGone:
        """Return the error of a node that is connected but does not answer."""
        return self.ended("; ".join(filter(None, [f"{self.whom}: no answer within {timeout:g} s", self.look()])))

    def _over(self) -> None:
        """Note the end of the connection, and wake all waiting requests and streams."""
        # Set before the requests are woken: `send` checks it after its registration.
        self._ended.set()
        for waiting in list(self._waiting.values()):
            waiting.put(None)
        for heard in list(self._streams.values()):
            heard(None)

    def say(self, text: str) -> None:
        """Record a text of the node, or about it, for messages."""
        self.errors.extend(line[:_SAID_LENGTH] for line in text.splitlines()[-_SAID_LAST:])

    def _take(self, line: bytes) -> None:
        """Process a received line; an invalid one is recorded and dropped.

        Raises:
            Misbehaved: it was invalid line number `MAX_BAD`.
        """
        self.heard, self._heard_at = self.heard + 1, time.monotonic()
        try:
            self._sort(line)
        except Misbehaved:
            raise
        except Exception as error:  # no line may end the reader's thread
            self.say(str(error) if isinstance(error, KitError) else f"{type(error).__name__}: {error}")
            self._bad += 1
            if self._bad >= MAX_BAD:
                raise Misbehaved(f"{self.whom}: {MAX_BAD} messages were wrong, the last: {error}") from None

    def _sort(self, line: bytes) -> None:
        message = protocol.decode(line)
        protocol.check_message(message)
        self._hear(message, line)

    def _hear(self, message: dict[str, Any], line: bytes) -> None:
        """Deliver a message to its recipient: the reports, a watch, a stream or a waiting request.

        Args:
            message: the decoded message.
            line: the line as received.
        """
        if "report" in message:
            if message["report"] == "lease":  # by a monotonic clock, at its arrival: a slow owner must not delay it
                self.renewed = steady_now()
            elif message["report"] != "busy":
                if len(self.reports) >= MAX_REPORTS:
                    raise Misbehaved(f"{self.whom}: {MAX_REPORTS} reports wait for the owner")
                self.reports.append(message)
        elif "watch" in message:
            heard = self._watches.get(message["watch"])
            if heard is not None:
                heard(message["at"], message["values"])
        elif "stream" in message:
            taker = self._streams.get(message["stream"])
            if message.get("ended"):
                self._streams.pop(message["stream"], None)
            if taker is not None:
                taker(message)
        else:
            waiting = self._waiting.get(message.get("id", 0))
            if waiting is not None:
                waiting.put(message)


class Link(Conversation):
    """A stream to one node.

    Args:
        name: name of the node, for messages.
        stream: stream of `attach_socket`, with standard output and error in frames.
    """

    def __init__(self, name: str, stream: Any) -> None:
        super().__init__(name)
        self._stream, self._socket = stream, _socket_of(stream)
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, name=f"kitlib-{name}", daemon=True)
        self._reader.start()

    def write(self, line: bytes) -> None:
        """Send a line unchanged.

        Raises:
            OSError: the connection is closed.
        """
        with self._lock:
            self._socket.sendall(line)

    def close(self) -> None:
        """Close the connection, at which the node ends."""
        import socket

        self._closed = True
        with suppress(OSError, AttributeError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with suppress(OSError):
            self._stream.close()
        with suppress(OSError):
            self._socket.close()

    def _taken(self) -> None:
        """Handle the end of one read, whose messages are all processed; a hook for subclasses."""

    # The reader's thread.

    def _read(self) -> None:
        raw, lines = bytearray(), Lines(self.max_line)
        try:
            while piece := self._socket.recv(_CHUNK):
                raw += piece
                while len(raw) >= _HEADER:
                    size = int.from_bytes(raw[4:_HEADER], "big")
                    # Checked before the frame is buffered: the size is sent by a node that may be compromised.
                    if size > self.max_line:
                        raise Misbehaved(f"{self.whom}: a frame of {size} bytes")
                    if len(raw) < _HEADER + size:
                        break
                    kind, body = raw[0], bytes(raw[_HEADER : _HEADER + size])
                    del raw[: _HEADER + size]
                    if kind == _STDERR:
                        self.say(body.decode(errors="replace"))
                    elif kind == _STDOUT:
                        for line in lines.feed(body):
                            self._take(line)
                        self._taken()
        except (OSError, ValueError):
            pass  # closed
        except Exception as error:  # recorded, so that the next request's error shows it
            self.say(str(error) if isinstance(error, KitError) else f"reader: {type(error).__name__}: {error}")
            self.close()
        finally:
            self._over()


class Lines:
    """A splitter of a stream into lines of at most `most` bytes."""

    def __init__(self, most: int) -> None:
        self._most, self._rest = most, bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        """Add received bytes and return the complete lines.

        Raises:
            Misbehaved: a line is too long.
        """
        *whole, rest = piece.split(b"\n")
        if whole:
            whole[0] = bytes(self._rest) + whole[0]
            self._rest = bytearray(rest)
        else:
            self._rest += rest
        if len(self._rest) > self._most:
            raise Misbehaved(f"a line of more than {self._most} bytes")
        return whole


def _socket_of(stream: Any) -> Any:
    """Return the socket of the SDK's stream: a socket, a named pipe of Windows, or a wrapped TLS connection."""
    found = getattr(stream, "_sock", stream)
    if type(found).__name__ == "SSLSocket":  # by name: the module ssl is not imported without need
        from kitlib.node.real.tls import TlsStream

        return TlsStream(found)
    with suppress(AttributeError, OSError):
        found.settimeout(None)
    return found
