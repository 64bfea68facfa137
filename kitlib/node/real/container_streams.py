"""The standard streams of a container, or of a command in a container: pipes or a terminal."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple


class Started(NamedTuple):
    """A started command.

    Attributes:
        pid: id of its process.
        output, errors: file descriptors to read from; -1 = none.
        input: file descriptor to write to; -1 = none. With a terminal, the same as the output.
    """

    pid: int
    output: int
    errors: int
    input: int


class ContainerPipes:
    """The streams of one start: created before the runtime starts, kept or closed after it.

    Args:
        console: path of the socket over which the runtime sends a terminal.
        tty: whether all three streams are a terminal.
        stdin: whether there is a standard input.
        errors: whether standard error has its own pipe.

    Attributes:
        given: file descriptors of output, input and errors for the runtime; -1 = the runtime's default.
        errors: read end of standard error; -1 = it is written to the output.
        options: options of the runtime's command line.
    """

    def __init__(self, console: str, *, tty: bool = False, stdin: bool = False, errors: bool = False) -> None:
        self._theirs: list[int] = []
        self._ours: list[int] = []
        self._console = None
        self._output = self._input = self.errors = -1
        self.given, self.options = (-1, -1, -1), list[str]()
        if tty:
            from kitlib.node.real.terminal import ConsoleSocket  # imported here: other containers need no sockets

            with suppress(OSError):
                os.unlink(console)
            self._console = ConsoleSocket(console)
            self.options = [f"--console-socket={console}"]
            return
        self._output, output = self._pipe()
        inputs = written = -1
        if stdin:
            inputs, self._input = self._pipe(reads=True)
        if errors:
            self.errors, written = self._pipe()
        self.given = output, inputs, written

    def _pipe(self, *, reads: bool = False) -> tuple[int, int]:
        """Create a pipe and return its read end and its write end.

        The runtime gets the write end, or with `reads` the read end; this process's end does not block.
        """
        ends = os.pipe()
        theirs, ours = (ends[0], ends[1]) if reads else (ends[1], ends[0])
        self._theirs.append(theirs)
        self._ours.append(ours)
        os.set_blocking(ours, False)
        return ends

    def keep(self) -> tuple[int, int, int]:
        """Return output, input and terminal, which from now on belong to the caller, as `errors` does.

        Raises:
            OSError: the runtime has sent no terminal.
        """
        terminal = -1
        if self._console is not None:
            terminal = self._console.receive()
            self._output = self._input = terminal
        self._ours.clear()
        return self._output, self._input, terminal

    def close(self) -> None:
        """Close the runtime's ends, and this process's ends unless they were kept."""
        for descriptor in (*self._theirs, *self._ours):
            os.close(descriptor)
        self._theirs.clear()
        self._ours.clear()
        if self._console is not None:
            self._console.close()
            self._console = None
