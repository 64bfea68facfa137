"""A connection to a port of a pod as a socket, so that TLS and HTTP are spoken over a stream through the node's agent.

One thread passes what the socket sends to the stream, another what the pod sends to the socket; both windows of the
stream are kept. The threads end with the socket.
"""

from __future__ import annotations

import queue
import socket
import threading
from contextlib import suppress

from kitlib.api.streams import WINDOW, Stream, StreamEvent, StreamNode

_PIECE = 1 << 16


class _Relay:
    """The transport between a stream and one end of a pair of sockets.

    Args:
        end: the end that belongs to the relay.
    """

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._events: queue.SimpleQueue[StreamEvent] = queue.SimpleQueue()
        self._sent, self._ended = 0, False
        self._room = threading.Condition()

    def heard(self, event: StreamEvent) -> None:
        """Take an event of the stream, without waiting: the node's other streams use the same thread."""
        with self._room:
            self._sent -= event.taken
            self._ended = self._ended or event.ended
            self._room.notify_all()
        self._events.put(event)

    def start(self, stream: Stream) -> None:
        """Start the two threads."""
        for work in (self._send, self._receive):
            threading.Thread(target=work, args=(stream,), name="kitlib-pod-socket", daemon=True).start()

    def _send(self, stream: Stream) -> None:
        with suppress(OSError):  # the socket has been closed
            while data := self._end.recv(_PIECE):
                with self._room:
                    self._room.wait_for(lambda: self._ended or self._sent < WINDOW)
                    if self._ended:
                        break
                    self._sent += len(data)
                stream.write(data)
        stream.close()
        self._events.put(StreamEvent(ended=True))

    def _receive(self, stream: Stream) -> None:
        with self._end, suppress(OSError):
            while not (event := self._events.get()).ended:
                if event.data:
                    self._end.sendall(event.data)
                    stream.more(len(event.data))
            self._end.sendall(event.data)
            self._end.shutdown(socket.SHUT_RDWR)  # ends `_send`, too


def connect(node: StreamNode, namespace: str, pod: str, port: int, timeout: float) -> socket.socket:
    """Connect to a port of a pod.

    Args:
        node: the pod's node.
        namespace: the pod's namespace.
        pod: the pod's name.
        port: the port, 1 to 65535.
        timeout: the socket's timeout in seconds.

    Raises:
        KitError: no process of the pod listens on the port.
    """
    ours, theirs = socket.socketpair()
    relay = _Relay(theirs)
    try:
        stream = node.connect(namespace, pod, port, relay.heard)
    except BaseException:
        ours.close()
        theirs.close()
        raise
    relay.start(stream)
    ours.settimeout(timeout)
    return ours
