"""Streams into containers, from their user's side: the same for simulated and real nodes.

The side that opens one hears of output, of input that was taken, and of its end; it may send input, resize the
terminal, and close. Callbacks may come on another thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

STDOUT, STDERR = 1, 2
WINDOW = 256 * 1024
"""Bytes that may be on their way in each direction."""


class StreamEvent(NamedTuple):
    """What happens to a stream.

    Attributes:
        channel: of the output: STDOUT or STDERR.
        data: output.
        taken: bytes of input that the process has got.
        ended: whether this was the last.
        code: exit code, at the end.
        why: what went wrong, at the end; "" = nothing.
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
        """No more input comes."""
        ...

    def resize(self, width: int, height: int) -> None:
        """The user's terminal has another size."""
        ...

    def more(self, size: int) -> None:
        """So many bytes of output have been used: as many more may come."""
        ...

    def close(self) -> None:
        """The user has gone; a command that still runs is killed."""
        ...


class LogOptions(NamedTuple):
    """Of `kubectl logs`.

    Attributes:
        follow: what comes is shown too, until the container ends.
        previous: of the container that ran before.
        tail: how many of the last lines; None = all.
        since: seconds since the epoch, of the first line.
        timestamps: each line begins with its time.
        limit: bytes; None = all.
    """

    follow: bool = False
    previous: bool = False
    tail: int | None = None
    since: float = 0.0
    timestamps: bool = False
    limit: int | None = None


class StreamNode(Protocol):
    """A node whose containers can be entered.

    Attributes:
        no_ports: why no port of a pod can be connected to; "" = one can.
    """

    no_ports: str

    def exec(
        self, namespace: str, pod: str, container: str, command: Sequence[str], heard: Heard, *, stdin: bool, tty: bool
    ) -> Stream:
        """Run a command in a container."""
        ...

    def attach(self, namespace: str, pod: str, container: str, heard: Heard, *, stdin: bool, tty: bool) -> Stream:
        """Take part in a container's own input and output."""
        ...

    def follow(self, namespace: str, pod: str, container: str, heard: Heard, options: LogOptions) -> Stream:
        """Read a container's log."""
        ...

    def connect(self, namespace: str, pod: str, port: int, heard: Heard) -> Stream:
        """Connect to a port of a pod."""
        ...
