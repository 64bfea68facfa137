"""The standard streams that a container or a command in one starts with: pipes, or a terminal."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple


class Started(NamedTuple):
    """A command that was started.

    Attributes:
        pid: of its process.
        output, errors: descriptors to read from; -1 = none.
        input: descriptor to write to; -1 = none. Of a terminal, the same as the output.
    """

    pid: int
    output: int
    errors: int
    input: int


class ContainerPipes:
    """Made before the runtime starts, kept or closed after it.

    Args:
        console: path for the socket over which a terminal comes.
        tty: whether there is a terminal; then it is all three streams.
        stdin: whether there is a standard input.
        errors: whether standard error has a pipe of its own.

    Attributes:
        given: output, input and errors as the runtime gets them; -1 = as it likes.
        errors: read end of standard error; -1 = it goes with the output.
        options: of the runtime's command line.
    """

    def __init__(self, console: str, *, tty: bool = False, stdin: bool = False, errors: bool = False) -> None:
        self._theirs: list[int] = []
        self._ours: list[int] = []
        self._console = None
        self._output = self._input = self.errors = -1
        self.given, self.options = (-1, -1, -1), list[str]()
        if tty:
            from kitlib.node.real.terminal import ConsoleSocket  # other containers do without sockets

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
        """Read end and write end; the runtime's is the write end, or with `reads` the read end."""
        ends = os.pipe()
        theirs, ours = (ends[0], ends[1]) if reads else (ends[1], ends[0])
        self._theirs.append(theirs)
        self._ours.append(ours)
        os.set_blocking(ours, False)
        return ends

    def keep(self) -> tuple[int, int, int]:
        """The process runs: output, input and terminal belong to the caller from now on, errors too.

        Raises:
            OSError: where no terminal has come.
        """
        terminal = -1
        if self._console is not None:
            terminal = self._console.receive()
            self._output = self._input = terminal
        self._ours.clear()
        return self._output, self._input, terminal

    def close(self) -> None:
        """Close the runtime's ends, and what was not kept."""
        for descriptor in (*self._theirs, *self._ours):
            os.close(descriptor)
        self._theirs.clear()
        self._ours.clear()
        if self._console is not None:
            self._console.close()
            self._console = None
