"""The two kinds of streams of a simulated container: its shell and its log."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kitlib.api.streams import STDERR, STDOUT, Heard, LogOptions, StreamEvent
from kitlib.cluster.nodes.simulated_exec import ContainerShell, ExecResult
from kitlib.cluster.nodes.terminal import LineDiscipline
from kitlib.node.common.log import Log, LogLine, shown

_LONGEST = 65536
"""The maximum length in bytes of a line that is not complete."""


class ShellStream:
    """A command in a simulated container, or its shell.

    Args:
        shell: the shell of the container.
        command: one command, which ends at once; None = the shell reads lines until its input ends.
        heard: called with each event of the stream.
        tty: whether there is a terminal, see `kitlib.cluster.nodes.terminal`; lines end in CR LF.
        exited: called with the exit code when the shell exits.
    """

    def __init__(
        self,
        shell: ContainerShell,
        command: Sequence[str] | None,
        heard: Heard,
        *,
        tty: bool,
        exited: Callable[[int], None] = lambda code: None,
    ) -> None:
        self._shell, self._heard, self._tty, self._exited = shell, heard, tty, exited
        self._input, self._open = b"", True
        self._terminal, self._size = LineDiscipline(), (0, 0)
        self._prompt = shell.prompt
        if command is not None:
            self._finish(shell.run(command))
        elif tty:
            self._say(STDOUT, self._prompt)

    def write(self, data: bytes) -> None:
        """Process input: keys on a terminal, else lines of commands."""
        self._heard(StreamEvent(taken=len(data)))
        if not self._open:
            return
        if self._tty:
            self._type(data)
            return
        self._input = (self._input + data)[-_LONGEST:]
        while self._open and b"\n" in self._input:
            line, _, self._input = self._input.partition(b"\n")
            self._line(line.decode("utf-8", "replace"))

    def _type(self, keys: bytes) -> None:
        for typed in self._terminal.feed(keys):
            if typed.kind == "echo":
                self._heard(StreamEvent(STDOUT, typed.data))
            elif typed.kind == "line":
                self._line(typed.data.decode("utf-8", "replace"))
            elif typed.kind == "interrupt":  # the shell survives; no other program runs in the foreground
                self._say(STDOUT, self._prompt)
            else:
                self._end(0)
            if not self._open:
                return

    def _line(self, line: str) -> None:
        if self._tty and line.split() == ["stty", "size"]:
            self._say(STDOUT, f"{self._size[1]} {self._size[0]}\n{self._prompt}")
            return
        if line.strip().split(" ")[0] == "exit":
            self._finish(self._shell.line(line))
            return
        result = self._shell.line(line)
        self._say(STDOUT, result.stdout)
        self._say(STDERR, result.stderr)
        if self._tty:
            self._say(STDOUT, self._prompt)

    def end_input(self) -> None:
        """Run the last line, if it has no line break, and end the shell with exit code 0."""
        if self._open:
            if self._input:
                self._line(self._input.decode("utf-8", "replace"))
            if self._open:
                self._end(0)

    def resize(self, width: int, height: int) -> None:
        """Store the size for `stty size`; no other output depends on it."""
        self._size = width, height

    def more(self, size: int) -> None:
        """Do nothing: the output is small and never waits."""

    def close(self) -> None:
        """Close the stream."""
        self._open = False

    def _say(self, channel: int, text: str) -> None:
        if text:
            plain = text.replace("\r\n", "\n").replace("\n", "\r\n") if self._tty else text
            self._heard(StreamEvent(STDOUT if self._tty else channel, plain.encode()))

    def _finish(self, result: ExecResult) -> None:
        self._say(STDOUT, result.stdout)
        self._say(STDERR, result.stderr)
        self._end(result.code)

    def _end(self, code: int) -> None:
        self._open = False
        self._heard(StreamEvent(ended=True, code=code))
        self._exited(code)

    @property
    def is_open(self) -> bool:
        """Whether the stream is open."""
        return self._open

    def tell(self) -> None:
        """Do nothing: a shell writes output only in response to input."""

    def container_ended(self, code: int) -> None:
        """End the stream, because the container has ended."""
        if self._open:
            self._end(code)


class LogStream:
    """The output of a container: existing lines, then new ones until the container ends.

    Args:
        heard: called with each event of the stream.
        log: returns the container's output so far.
        options: the selection of lines.
    """

    def __init__(self, heard: Heard, log: Callable[[], Log], options: LogOptions) -> None:
        self._heard, self._open, self._log, self._options = heard, True, log, options
        self._left = options.limit
        self._next = 0
        found = log()
        self._say(found.lines(tail=options.tail, since=options.since), found)

    def _say(self, lines: list[LogLine], log: Log) -> None:
        text = b"".join(shown(line, self._options.timestamps) for line in lines)
        text += log.unfinished(self._options.timestamps) if log.over and self._options.tail != 0 else b""
        if self._left is not None:
            text = text[: self._left]
            self._left -= len(text)
        self._next = log.count
        if text:
            self._heard(StreamEvent(STDOUT, text))

    def tell(self) -> None:
        """Send the new lines to the user."""
        log = self._log()
        if self._open and log.count > self._next:
            self._say(log.lines(self._next), log)

    def write(self, data: bytes) -> None:
        """Discard the input, because the program reads none."""
        self._heard(StreamEvent(taken=len(data)))

    def end_input(self) -> None:
        """Do nothing: the program reads no input."""

    def resize(self, width: int, height: int) -> None:
        """Do nothing: there is no terminal."""

    def more(self, size: int) -> None:
        """Do nothing: the output is small and never waits."""

    def close(self) -> None:
        """Close the stream."""
        self._open = False

    @property
    def is_open(self) -> bool:
        """Whether the stream is open."""
        return self._open

    def container_ended(self, code: int) -> None:
        """Send the remaining lines and end the stream, because the program has ended."""
        if self._open:
            self.tell()
            self._open = False
            self._heard(StreamEvent(ended=True))
