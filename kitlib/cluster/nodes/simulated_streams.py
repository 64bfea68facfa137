"""Streams into containers of a simulated node: a small shell reads the commands; programs print nothing.

A stream that follows a container stays open while its process runs and ends with it, as on a real node.
Source: CRI Attach, ContainerStatus; kubelet logs.ReadLogs (follow until the container has ended).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kitlib.api.errors import KitError
from kitlib.api.streams import STDERR, STDOUT, Heard, LogOptions, StreamEvent

if TYPE_CHECKING:  # the shell is loaded with the first command
    from kitlib.cluster.nodes.simulated_exec import ContainerShell, ExecNode, Result

SHELLS = ("sh", "bash", "ash", "dash")
KILLED = 137
"""Exit code of a command whose container has ended. Source: shells: 128 + SIGKILL."""
_LONGEST = 65536
"""Bytes of a line that are kept while its end has not come."""


class ShellStream:
    """A command in a simulated container, or its shell.

    Args:
        shell: of the container.
        command: one command, which ends at once; None = the shell reads lines until its input ends.
        heard: the user.
        tty: whether there is a terminal, see `kitlib.cluster.nodes.terminal`; lines end in CR LF.
        exited: called with the exit code when the shell reads no more.
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
        from kitlib.cluster.nodes.terminal import LineDiscipline

        self._shell, self._heard, self._tty, self._exited = shell, heard, tty, exited
        self._input, self._open = b"", True
        self._terminal, self._size = LineDiscipline(), (0, 0)
        self._prompt = shell.prompt
        if command is not None:
            self._finish(shell.run(command))
        elif tty:
            self._say(STDOUT, self._prompt)

    def write(self, data: bytes) -> None:
        """Take what is typed."""
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
            elif typed.kind == "interrupt":  # the shell lives on, and so does nothing else in the foreground
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
        """The shell has read everything."""
        if self._open:
            if self._input:
                self._line(self._input.decode("utf-8", "replace"))
            if self._open:
                self._end(0)

    def resize(self, width: int, height: int) -> None:
        """Keep the size for `stty size`; nothing else here is as wide as the terminal."""
        self._size = width, height

    def more(self, size: int) -> None:
        """Output is small."""

    def close(self) -> None:
        """The user has gone."""
        self._open = False

    def _say(self, channel: int, text: str) -> None:
        if text:
            plain = text.replace("\r\n", "\n").replace("\n", "\r\n") if self._tty else text
            self._heard(StreamEvent(STDOUT if self._tty else channel, plain.encode()))

    def _finish(self, result: Result) -> None:
        self._say(STDOUT, result.stdout)
        self._say(STDERR, result.stderr)
        self._end(result.code)

    def _end(self, code: int) -> None:
        self._open = False
        self._heard(StreamEvent(ended=True, code=code))
        self._exited(code)

    @property
    def is_open(self) -> bool:
        """Whether neither side has ended it."""
        return self._open

    def container_ended(self, code: int) -> None:
        """The container has ended, and what ran in it."""
        if self._open:
            self._end(code)


class SilentStream:
    """The output of a program that prints nothing: it ends when the program does."""

    def __init__(self, heard: Heard) -> None:
        self._heard, self._open = heard, True

    def write(self, data: bytes) -> None:
        """The program reads nothing: what is typed is gone."""
        self._heard(StreamEvent(taken=len(data)))

    def end_input(self) -> None:
        """The program reads nothing."""

    def resize(self, width: int, height: int) -> None:
        """There is no terminal."""

    def more(self, size: int) -> None:
        """Nothing comes."""

    def close(self) -> None:
        """The user has gone."""
        self._open = False

    @property
    def is_open(self) -> bool:
        """Whether neither side has ended it."""
        return self._open

    def container_ended(self, code: int) -> None:
        """The program has ended."""
        if self._open:
            self._open = False
            self._heard(StreamEvent(ended=True))


class Followed(NamedTuple):
    """A stream that ends with a process.

    Attributes:
        stream: which.
        pid: of the process, as long as it runs; compared with `current`.
        current: the process that its container has now; 0 = none.
    """

    stream: ShellStream | SilentStream
    pid: int
    current: Callable[[], int]


class SimulatedStreams(ABC):
    """Implements `kitlib.api.streams.StreamNode` on a simulated node.

    Attributes:
        followed: streams that end with their container's process.
    """

    no_ports = "a simulated container runs no programs and listens on no port; nodes of --kind docker can be reached"
    followed: list[Followed]

    @abstractmethod
    def as_exec_node(self) -> ExecNode:
        """The node as the shell sees it."""

    @abstractmethod
    def pid(self, namespace: str, pod: str, container: str) -> int:
        """The process of a container; 0 = it does not run."""

    @abstractmethod
    def program_exits(self, namespace: str, pod: str, container: str, code: int) -> None:
        """The program of a container with standard input ends; in others nothing happens."""

    def end_streams(self) -> None:
        """End the streams whose container's process has ended; called after every step of time."""
        for one in tuple(self.followed):
            if one.current() != one.pid:
                self.followed.remove(one)
                one.stream.container_ended(KILLED)

    def exec(
        self, namespace: str, pod: str, container: str, command: Sequence[str], heard: Heard, *, stdin: bool, tty: bool
    ) -> ShellStream:
        """Run a command in a container; a shell that is alone reads lines.

        Raises:
            KitError: where the container does not run.
        """
        interactive = stdin and len(command) == 1 and command[0].rpartition("/")[2] in SHELLS
        return self._shell(namespace, pod, container, None if interactive else command, heard, tty)

    def attach(
        self, namespace: str, pod: str, container: str, heard: Heard, *, stdin: bool, tty: bool
    ) -> ShellStream | SilentStream:
        """With input a shell, whatever the program is; without, silence until the program ends.

        Where the container has standard input, the shell is its program: when it exits, the container ends.

        Raises:
            KitError: where the container does not run.
        """
        if stdin:
            exited = partial(self.program_exits, namespace, pod, container)
            return self._shell(namespace, pod, container, None, heard, tty, exited)
        self.as_exec_node().proc(pod, container, namespace)
        return self._silent(namespace, pod, container, heard)

    def follow(self, namespace: str, pod: str, container: str, heard: Heard, options: LogOptions) -> SilentStream:
        """A simulated program prints nothing; who follows it hears of its end."""
        if options.follow and not options.previous and self.pid(namespace, pod, container):
            return self._silent(namespace, pod, container, heard)
        stream = SilentStream(heard)
        stream.container_ended(0)
        return stream

    def connect(self, namespace: str, pod: str, port: int, heard: Heard) -> SilentStream:
        """A simulated program listens on no port.

        Raises:
            KitError: always.
        """
        raise KitError(f"failed to connect to localhost:{port}: a simulated container runs no programs")

    def _shell(
        self,
        namespace: str,
        pod: str,
        container: str,
        command: Sequence[str] | None,
        heard: Heard,
        tty: bool,
        exited: Callable[[int], None] = lambda code: None,
    ) -> ShellStream:
        from kitlib.cluster.nodes.simulated_exec import ContainerShell

        node = self.as_exec_node()
        node.proc(pod, container, namespace)
        stream = ShellStream(ContainerShell(node, namespace, pod, container), command, heard, tty=tty, exited=exited)
        if command is None:
            self._follow(stream, namespace, pod, container)
        return stream

    def _silent(self, namespace: str, pod: str, container: str, heard: Heard) -> SilentStream:
        stream = SilentStream(heard)
        self._follow(stream, namespace, pod, container)
        return stream

    def _follow(self, stream: ShellStream | SilentStream, namespace: str, pod: str, container: str) -> None:
        self.followed = [one for one in self.followed if one.stream.is_open]
        current = partial(self.pid, namespace, pod, container)
        self.followed.append(Followed(stream, current(), current))
