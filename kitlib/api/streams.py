"""Streams into containers from the user's side: one interface for simulated and real nodes.

The side that opens a stream receives its output, acknowledgements of input, and its end. It may send input, resize the
terminal, and close the stream. Callbacks may run on another thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

STDOUT, STDERR = 1, 2
WINDOW = 256 * 1024
"""The maximum number of unacknowledged bytes in each direction."""


class StreamEvent(NamedTuple):
    """An event of a stream.

    Attributes:
        channel: the channel of the output: STDOUT or STDERR.
        data: the output.
        taken: the number of input bytes that the process has received.
        ended: whether this is the last event.
        code: the exit code, in the last event.
        why: the error, in the last event; "" = none.
    """

    channel: int = STDOUT
    data: bytes = b""
    taken: int = 0
    ended: bool = False
    code: int = 0
    why: str = ""


Heard = Callable[[StreamEvent], None]


class Stream(Protocol):
    """An open stream."""

    def write(self, data: bytes) -> None:
        """Send input."""
        ...

    def end_input(self) -> None:
        """Close the input: no more of it follows."""
        ...

    def resize(self, width: int, height: int) -> None:
        """Report the new size of the user's terminal, in characters."""
        ...

    def more(self, size: int) -> None:
        """Allow `size` more bytes of output, because as many have been consumed."""
        ...

    def close(self) -> None:
        """Close the stream; a command that is still running is killed."""
        ...


class LogOptions(NamedTuple):
    """The options of `kubectl logs`.

    Attributes:
        follow: whether to continue with new lines until the container ends.
        previous: whether to read the log of the previous container.
        tail: the number of last lines to show; None = all.
        since: the earliest time of a line, in seconds since the epoch.
        timestamps: whether each line begins with its time.
        limit: the maximum size in bytes; None = unlimited.
    """

    follow: bool = False
    previous: bool = False
    tail: int | None = None
    since: float = 0.0
    timestamps: bool = False
    limit: int | None = None


class StreamNode(Protocol):
    """A node that opens streams into its containers."""

    def exec(
        self, namespace: str, pod: str, container: str, command: Sequence[str], heard: Heard, *, stdin: bool, tty: bool
    ) -> Stream:
        """Run a command in a container."""
        ...

    def attach(self, namespace: str, pod: str, container: str, heard: Heard, *, stdin: bool, tty: bool) -> Stream:
        """Attach to the input and output of a container's main process."""
        ...

    def follow(self, namespace: str, pod: str, container: str, heard: Heard, options: LogOptions) -> Stream:
        """Read a container's log."""
        ...

    def connect(self, namespace: str, pod: str, port: int, heard: Heard, localhost: bool = False) -> Stream:
        """Connect to a port of a pod: at its address, or with `localhost` at the loopback address in the pod.

        Raises:
            KitError: no process of the pod listens on the port.
        """
        ...
