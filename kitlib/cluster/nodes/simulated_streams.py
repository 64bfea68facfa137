"""Streams into containers of a simulated node: a small shell reads the commands; programs print nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from kitlib.api.errors import KitError
from kitlib.cluster.nodes.simulated_exec import PROMPT, ContainerShell, ExecNode, Result
from kitlib.cluster.nodes.streams import STDERR, STDOUT, Heard, LogOptions, StreamEvent

SHELLS = ("sh", "bash", "ash", "dash")
_LONGEST = 65536
"""Bytes of a line that are kept while its end has not come."""


class ShellStream:
    """A command in a simulated container, or its shell.

    Args:
        shell: of the container.
        command: one command, which ends at once; None = the shell reads lines until its input ends.
        heard: the user.
        tty: whether there is a terminal: what is typed is echoed, lines end in CR LF.
    """

    def __init__(self, shell: ContainerShell, command: Sequence[str] | None, heard: Heard, *, tty: bool) -> None:
        self._shell, self._heard, self._tty = shell, heard, tty
        self._input, self._open = b"", True
        if command is not None:
            self._end(shell.run(command))
        elif tty:
            self._say(STDOUT, PROMPT)

    def write(self, data: bytes) -> None:
        """Take what is typed."""
        self._heard(StreamEvent(taken=len(data)))
        if not self._open:
            return
        if self._tty and b"\x04" in data:
            self._end(Result("", "", 0))
            return
        if self._tty:
            self._heard(StreamEvent(STDOUT, data.replace(b"\r", b"\r\n")))
            data = data.replace(b"\r", b"\n")
        self._input = (self._input + data)[-_LONGEST:]
        while self._open and b"\n" in self._input:
            line, _, self._input = self._input.partition(b"\n")
            self._line(line.decode("utf-8", "replace"))

    def _line(self, line: str) -> None:
        if line.strip().split(" ")[0] == "exit":
            self._end(self._shell.line(line))
            return
        result = self._shell.line(line)
        self._say(STDOUT, result.stdout)
        self._say(STDERR, result.stderr)
        if self._tty:
            self._say(STDOUT, PROMPT)

    def end_input(self) -> None:
        """The shell has read everything."""
        if self._open:
            if self._input:
                self._line(self._input.decode("utf-8", "replace"))
            if self._open:
                self._end(Result("", "", 0))

    def resize(self, width: int, height: int) -> None:
        """Nothing here is as wide as the terminal."""

    def more(self, size: int) -> None:
        """Output is small."""

    def close(self) -> None:
        """The user has gone."""
        self._open = False

    def _say(self, channel: int, text: str) -> None:
        if text:
            plain = text.replace("\r\n", "\n").replace("\n", "\r\n") if self._tty else text
            self._heard(StreamEvent(STDOUT if self._tty else channel, plain.encode()))

    def _end(self, result: Result) -> None:
        self._say(STDOUT, result.stdout)
        self._say(STDERR, result.stderr)
        self._open = False
        self._heard(StreamEvent(ended=True, code=result.code))


class SilentStream:
    """A stream out of which nothing comes: it has ended at once."""

    def __init__(self, heard: Heard) -> None:
        heard(StreamEvent(ended=True))

    def write(self, data: bytes) -> None:
        """Nobody reads."""

    def end_input(self) -> None:
        """Nobody reads."""

    def resize(self, width: int, height: int) -> None:
        """There is no terminal."""

    def more(self, size: int) -> None:
        """Nothing comes."""

    def close(self) -> None:
        """It is closed."""


class SimulatedStreams(ABC):
    """Implements `kitlib.cluster.nodes.streams.StreamNode` on a simulated node."""

    no_ports = "a simulated container runs no programs and listens on no port; nodes of --kind docker can be reached"

    @abstractmethod
    def as_exec_node(self) -> ExecNode:
        """The node as the shell sees it."""

    def exec(
        self, namespace: str, pod: str, container: str, command: Sequence[str], heard: Heard, *, stdin: bool, tty: bool
    ) -> ShellStream:
        """Run a command in a container; a shell that is alone reads lines.

        Raises:
            KitError: where the container does not run.
        """
        node = self.as_exec_node()
        node.proc(pod, container, namespace)
        interactive = stdin and len(command) == 1 and command[0].rpartition("/")[2] in SHELLS
        shell = ContainerShell(node, namespace, pod, container)
        return ShellStream(shell, None if interactive else command, heard, tty=tty)

    def attach(self, namespace: str, pod: str, container: str, heard: Heard, *, stdin: bool, tty: bool) -> ShellStream:
        """A shell in the container, whatever its program is."""
        node = self.as_exec_node()
        node.proc(pod, container, namespace)
        shell = ContainerShell(node, namespace, pod, container)
        return ShellStream(shell, None if stdin else [], heard, tty=tty)

    def follow(self, namespace: str, pod: str, container: str, heard: Heard, options: LogOptions) -> SilentStream:
        """A simulated program prints nothing."""
        return SilentStream(heard)

    def connect(self, namespace: str, pod: str, port: int, heard: Heard) -> SilentStream:
        """A simulated program listens on no port.

        Raises:
            KitError: always.
        """
        raise KitError(f"failed to connect to localhost:{port}: a simulated container runs no programs")
