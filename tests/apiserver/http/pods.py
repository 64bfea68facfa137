"""A stand-in for a node whose pods listen on ports of this machine; `tests/engine` has real nodes."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from kitlib.api.streams import WINDOW, Heard, StreamEvent

SECONDS = 60.0


class PodSide:
    """A stream to a port of this machine that keeps the windows of both directions, as a node's agent does."""

    def __init__(self, port: int, heard: Heard) -> None:
        self._heard, self._peer = heard, socket.create_connection(("127.0.0.1", port), SECONDS)
        self._granted, self._room, self.closed = WINDOW, threading.Condition(), threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while True:
                with self._room:
                    assert self._room.wait_for(lambda: self._granted > 0, SECONDS)
                    size = self._granted
                data = self._peer.recv(min(size, 5000))
                if not data:
                    break
                with self._room:
                    self._granted -= len(data)
                self._heard(StreamEvent(data=data))
        except OSError:
            pass
        self._heard(StreamEvent(ended=True))

    def write(self, data: bytes) -> None:
        self._peer.sendall(data)
        self._heard(StreamEvent(taken=len(data)))

    def end_input(self) -> None:
        self._peer.shutdown(socket.SHUT_WR)

    def more(self, size: int) -> None:
        with self._room:
            self._granted += size
            self._room.notify_all()

    def close(self) -> None:
        with suppress(OSError):  # the peer has ended the connection
            self._peer.shutdown(socket.SHUT_RDWR)  # ends `_read`, which a close alone would leave waiting
        self._peer.close()
        self.closed.set()


class Node:
    """A node whose pods all listen on one port of this machine."""

    def __init__(self, port: int) -> None:
        self.port, self.asked = port, list[tuple[str, str, int]]()
        self.sides: list[PodSide] = []

    def connect(self, namespace: str, pod: str, port: int, heard: Heard, localhost: bool = False) -> PodSide:
        self.asked.append((namespace, pod, port))
        self.sides.append(PodSide(self.port, heard))
        return self.sides[-1]
