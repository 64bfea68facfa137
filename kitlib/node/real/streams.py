"""Streams into containers of a real node: exec, attach, followed logs, connections to a pod's port.

An owner opens a stream under a number of its choice. Output is sent as `{"stream": 7, "channel": 1, "data": …}`, up to
the number of bytes that the owner has granted (`stream_more`). Input is written as fast as the process reads it, and
confirmed as `taken`. The last message of a stream tells how it ended. All of it runs in the agent's one loop: nothing
blocks.

Source: kubelet pkg/kubelet/cri/streaming; containerd internal/cri/server container_execsync.go, sandbox_portforward.go.
"""

from __future__ import annotations

import os
import signal
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kitlib.api.errors import KitError, NotFound
from kitlib.kubelet.loop.container_state import ContainerState
from kitlib.node.common.log import Log, shown
from kitlib.node.real import listening, terminal
from kitlib.node.real.running import Running
from kitlib.node.real.runtime import CrunRuntime

WINDOW = 256 * 1024
"""Bytes that a stream may send before its owner grants more."""
_CHUNK = 32 * 1024
STDOUT, STDERR = 1, 2
Send = Callable[[Mapping[str, Any]], None]


class NodeStream:
    """One stream.

    Args:
        number: the owner's number of the stream.
        send: function that sends a message to the owner.

    Attributes:
        outputs: channel by file descriptor to read from.
        input: file descriptor to write to; -1 = none.
        code: exit code of the command; None = it runs, or there is no command.
    """

    def __init__(self, number: int, send: Send) -> None:
        self.number, self._send = number, send
        self.outputs: dict[int, int] = {}
        self.input, self.pid, self.tty = -1, 0, False
        self.code: int | None = None
        self.credit = WINDOW
        self.finished = False
        self._pending = bytearray()
        self._input_ends = False
        self.close_input = True

    # Towards the owner.

    def push(self, channel: int, data: bytes) -> None:
        """Send output of a source that cannot be slowed down; output beyond the granted bytes is dropped."""
        data = data[: max(0, self.credit)]
        if data:
            self.credit -= len(data)
            self._send({"stream": self.number, "channel": channel, "data": b2a_base64(data, newline=False).decode()})

    def read(self, descriptor: int) -> bool:
        """Read and send output, at most the granted bytes; return False if there is none now or no more."""
        try:
            data = os.read(descriptor, min(_CHUNK, self.credit))
        except BlockingIOError:
            return False
        except OSError:  # the terminal's other end has been closed
            data = b""
        if not data:
            self.outputs.pop(descriptor, None)
            if descriptor != self.input:
                os.close(descriptor)
            return False
        self.push(self.outputs[descriptor], data)
        return True

    def end(self, why: str = "") -> None:
        """Send the last message of the stream."""
        if not self.finished:
            self.finished = True
            self._send({"stream": self.number, "ended": True, "code": self.code or 0, "why": why})

    # From the owner.

    def write(self, data: bytes, end: bool) -> None:
        """Queue input, which is confirmed after it was written."""
        self._pending += data
        self._input_ends |= end
        self.flush()

    @property
    def writes(self) -> bool:
        """Whether input is waiting to be written."""
        return bool(self._pending) and self.input >= 0

    def flush(self) -> None:
        """Write as much input as the process accepts without blocking."""
        taken = 0
        while self._pending and self.input >= 0:
            try:
                count = os.write(self.input, self._pending[:_CHUNK])
            except BlockingIOError:
                break
            except OSError:  # the reading end is closed: the input is dropped
                count = len(self._pending)
            del self._pending[:count]
            taken += count
        # A closed input: the waiting bytes are confirmed as taken, so that the owner does not wait for them.
        if self.input < 0:
            taken, self._pending = len(self._pending), bytearray()
        if taken:
            self._send({"stream": self.number, "taken": taken})
        if self._input_ends and not self._pending and self.input >= 0 and not self.tty:
            self.end_input()

    def end_input(self) -> None:
        """Close the input, so that the process reads an end of file.

        Of a connection only the sending direction is closed.
        """
        if self.close_input and self.input not in self.outputs:
            os.close(self.input)
        elif self.close_input:
            listening.shut(self.input)
        self.input = -1

    def close(self) -> None:
        """Close the file descriptors that belong to the stream."""
        own = set(self.outputs) | ({self.input} if self.input >= 0 and self.close_input else set())
        for descriptor in own:
            with suppress(OSError):
                os.close(descriptor)
        self.outputs.clear()
        self.input = -1


@dataclass
class _Follow:
    """A log that is being sent.

    Attributes:
        log: the container's log.
        next: number of the next line to send.
        follow: whether later lines are sent too.
        timestamps: whether each line starts with its time.
        limit: remaining bytes to send; None = unlimited.
        rest: bytes that wait to be sent.
    """

    log: Log
    next: int
    follow: bool
    timestamps: bool
    limit: int | None
    rest: bytes


class NodeStreams:
    """The streams of one node.

    Args:
        runtime: runtime of the node's containers.
        state: returns a container by namespace, pod and name.
        send: function that sends a message to the owner.
    """

    def __init__(self, runtime: CrunRuntime, state: Callable[[str, str, str], ContainerState], send: Send) -> None:
        self._runtime, self._state, self._send = runtime, state, send
        self._streams: dict[int, NodeStream] = {}
        self._follows: dict[int, _Follow] = {}
        self._detach: dict[int, tuple[Log, Callable[[bytes], None]]] = {}
        self._once: dict[int, Running] = {}

    def requests(self) -> dict[str, Callable[..., Any]]:
        """Return the methods that an owner may call, by name."""
        named = (self.exec, self.attach, self.follow, self.connect)
        more = (self.stream_write, self.stream_resize, self.stream_more, self.stream_close)
        return {method.__name__: method for method in (*named, *more)}

    # What is opened.

    def exec(
        self, number: int, namespace: str, pod: str, container: str, command: list[str], stdin: bool, tty: bool
    ) -> None:
        """Run a command in a container."""
        running = self._running(namespace, pod, container)
        stream = NodeStream(number, self._send)

        def ended(code: int) -> None:
            stream.code = code
            self._settle(stream)

        started = self._runtime.exec(running, command, stdin=stdin, tty=tty, ended=ended)
        stream.pid, stream.tty, stream.input = started.pid, tty, started.input
        both = (started.output, STDOUT), (started.errors, STDERR)
        stream.outputs = {descriptor: channel for descriptor, channel in both if descriptor >= 0}
        self._streams[number] = stream

    def attach(self, number: int, namespace: str, pod: str, container: str, stdin: bool, tty: bool) -> None:
        """Attach to a container's input and output."""
        running = self._running(namespace, pod, container)
        stream = NodeStream(number, self._send)
        if stdin and running.input < 0:
            raise KitError(f"container {running.name} does not read standard input (stdin: true is not set)")
        stream.input, stream.tty, stream.close_input = (running.input if stdin else -1), tty, False
        self._streams[number] = stream
        if stdin and running.input_once:
            self._once[number] = running

        def heard(piece: bytes) -> None:
            stream.push(STDOUT, piece)

        running.log.listeners.append(heard)
        self._detach[number] = running.log, heard
        if tty and running.terminal >= 0:  # so that a shell shows its prompt again
            terminal.nudge(running.terminal)

    def follow(
        self,
        number: int,
        namespace: str,
        pod: str,
        container: str,
        follow: bool,
        previous: bool,
        tail: int | None,
        since: float,
        timestamps: bool,
        limit: int | None,
    ) -> None:
        """Send a container's log, and with `follow` later lines until the container ends."""
        state = self._state(namespace, pod, container)
        log = self._runtime.log(state.id, previous)
        if log is None and previous:
            raise NotFound("logs", f'previous terminated container "{container}" in pod "{pod}"')
        stream = self._streams[number] = NodeStream(number, self._send)
        if log is None:
            stream.end()
            self._forget(stream)
            return
        text = b"".join(shown(line, timestamps) for line in log.lines(tail=tail, since=since))
        if not follow and not log.over and tail != 0:
            text += log.unfinished(timestamps)
        self._follows[number] = _Follow(log, log.count, follow, timestamps, limit, text)
        self._send_log(stream)
        self._settle(stream)

    def connect(self, number: int, namespace: str, pod: str, port: int, localhost: bool = False) -> None:
        """Connect to a port of a pod: at its address, or with `localhost` at the loopback address in its namespace.

        Raises:
            KitError: no process of the pod listens on the port.
        """
        running = [self._runtime.containers[s] for s in self._ids(namespace, pod) if s in self._runtime.containers]
        if not running:
            raise NotFound("processes", f"{namespace}/{pod}")
        place = running[0].place
        if place is not None:
            descriptor = listening.dial(place, port, localhost=localhost)
        else:
            pids = [pid for one in running for pid in self._runtime.cgroups.procs(one.cgroup)]
            descriptor = listening.connect(pids, port)
        stream = self._streams[number] = NodeStream(number, self._send)
        stream.outputs, stream.input = {descriptor: STDOUT}, descriptor

    def _ids(self, namespace: str, pod: str) -> list[str]:
        return self._runtime.ids_of(namespace, pod)

    def _running(self, namespace: str, pod: str, container: str) -> Running:
        running = self._runtime.containers.get(self._state(namespace, pod, container).id)
        if running is None:
            raise NotFound("processes", f"{namespace}/{pod}/{container}")
        return running

    # What an owner sends.

    def stream_write(self, number: int, data: str, end: bool = False) -> None:
        """Accept input in base64; `end` = it is the last."""
        stream = self._streams.get(number)
        if stream is not None:
            stream.write(a2b_base64(data), end)

    def stream_resize(self, number: int, width: int, height: int) -> None:
        """Change the size of a stream's terminal."""
        stream = self._streams.get(number)
        if stream is not None and stream.tty and stream.input >= 0:
            terminal.resize(stream.input, width, height)

    def stream_more(self, number: int, size: int) -> None:
        """Grant a stream `size` more bytes of output."""
        stream = self._streams.get(number)
        if stream is not None:
            stream.credit += max(0, size)
            self._send_log(stream)
            self._settle(stream)

    def stream_close(self, number: int) -> None:
        """Close a stream; a running command is killed, as after a broken connection."""
        stream = self._streams.get(number)
        if stream is None:
            return
        if stream.pid and stream.code is None:
            with suppress(ProcessLookupError):
                os.kill(stream.pid, signal.SIGKILL)
        self._forget(stream)

    # What the agent's loop needs.

    def reads(self) -> dict[int, NodeStream]:
        """Return the file descriptors to read from, of streams with granted bytes."""
        return {fd: stream for stream in self._streams.values() if stream.credit > 0 for fd in stream.outputs}

    def writes(self) -> dict[int, NodeStream]:
        """Return the file descriptors for which input is waiting."""
        return {stream.input: stream for stream in self._streams.values() if stream.writes}

    def happened(self, descriptor: int, stream: NodeStream) -> None:
        """Handle a file descriptor that is ready."""
        if stream.writes and stream.input == descriptor:
            stream.flush()
        if descriptor in stream.outputs:
            stream.read(descriptor)
        self._settle(stream)

    def look(self) -> None:
        """Send new lines of followed logs, and end finished streams."""
        for stream in list(self._streams.values()):
            self._send_log(stream)
            held = self._detach.get(stream.number)
            if held is not None and held[0].over:
                stream.end()
            self._settle(stream)

    def _settle(self, stream: NodeStream) -> None:
        """End a stream whose process has exited and whose output was sent."""
        if stream.code is not None:
            for descriptor in list(stream.outputs):
                while stream.credit > 0 and descriptor in stream.outputs and stream.read(descriptor):
                    pass
            # Without granted bytes the rest of the output waits for the owner's next grant.
            if stream.credit > 0 or not stream.outputs:
                stream.end()
        elif not stream.pid and not stream.outputs and not self._is_log(stream):
            stream.end()
        if stream.finished:
            self._forget(stream)

    def _is_log(self, stream: NodeStream) -> bool:
        return stream.number in self._follows or stream.number in self._detach

    def _send_log(self, stream: NodeStream) -> None:
        follow = self._follows.get(stream.number)
        if follow is None or stream.finished:
            return
        while stream.credit > 0:
            if not follow.rest:
                lines = follow.log.lines(follow.next) if follow.follow else []
                if not lines:
                    break
                follow.next = lines[-1].number + 1
                follow.rest = b"".join(shown(line, follow.timestamps) for line in lines)
            piece, follow.rest = follow.rest[: stream.credit], follow.rest[stream.credit :]
            if follow.limit is not None:
                piece = piece[: follow.limit]
                follow.limit -= len(piece)
            stream.push(STDOUT, piece)
            if follow.limit == 0:
                follow.rest, follow.follow = b"", False
        if not follow.rest and (not follow.follow or (follow.log.over and follow.next >= follow.log.count)):
            stream.end()

    def _forget(self, stream: NodeStream) -> None:
        self._follows.pop(stream.number, None)
        held = self._detach.pop(stream.number, None)
        if held is not None:
            with suppress(ValueError):
                held[0].listeners.remove(held[1])
        once = self._once.pop(stream.number, None)
        if once is not None and once.input >= 0:  # Source: containerd attach with StdinOnce
            os.close(once.input)
            once.input = -1
        stream.close()
        self._streams.pop(stream.number, None)
