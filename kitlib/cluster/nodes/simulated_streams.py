"""Streams into containers of a simulated node: a small shell reads commands, and logs show what the program writes.

A stream that follows a container stays open while its process runs and ends with it, as on a real node.
Source: CRI Attach, ContainerStatus; kubelet logs.ReadLogs (follow until the container has ended).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kitlib.api.errors import KitError
from kitlib.api.streams import Heard, LogOptions

if TYPE_CHECKING:  # the shell is loaded with the first command
    from kitlib.cluster.nodes.simulated_exec import ExecNode
    from kitlib.cluster.nodes.simulated_stream_kinds import LogStream, ShellStream
    from kitlib.node.common.log import Log

SHELLS = ("sh", "bash", "ash", "dash")
KILLED = 137
"""Exit code of a command whose container has ended. Source: shells: 128 + SIGKILL."""


class FollowedProcess(NamedTuple):
    """A stream that ends with a process.

    Attributes:
        stream: which.
        pid: of the process, as long as it runs; compared with `current`.
        current: the process that its container has now; 0 = none.
    """

    stream: ShellStream | LogStream
    pid: int
    current: Callable[[], int]


class SimulatedStreams(ABC):
    """Implements `kitlib.api.streams.StreamNode` on a simulated node.

    Attributes:
        followed: streams that end with their container's process.
    """

    no_ports = "a simulated container runs no programs and listens on no port; nodes of --kind docker can be reached"
    followed: list[FollowedProcess]

    @abstractmethod
    def as_exec_node(self) -> ExecNode:
        """The node as the shell sees it."""

    @abstractmethod
    def log(self, namespace: str, pod: str, container: str, *, previous: bool = False) -> Callable[[], Log]:
        """Return a function that returns the output of a container's present run so far, or of the one before."""

    @abstractmethod
    def pid(self, namespace: str, pod: str, container: str) -> int:
        """The process of a container; 0 = it does not run."""

    @abstractmethod
    def program_exits(self, namespace: str, pod: str, container: str, code: int) -> None:
        """The program of a container with standard input ends; in others nothing happens."""

    def end_streams(self) -> None:
        """End the streams whose container's process has ended; called after every step of time."""
        for one in tuple(self.followed):
            one.stream.tell()
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
    ) -> ShellStream | LogStream:
        """With input a shell, whatever the program is; without, what the program writes from now on.

        Where the container has standard input, the shell is its program: when it exits, the container ends.

        Raises:
            KitError: where the container does not run.
        """
        if stdin:
            exited = partial(self.program_exits, namespace, pod, container)
            return self._shell(namespace, pod, container, None, heard, tty, exited)
        self.as_exec_node().proc(pod, container, namespace)
        return self._told(namespace, pod, container, heard, LogOptions(follow=True, tail=0))

    def follow(self, namespace: str, pod: str, container: str, heard: Heard, options: LogOptions) -> LogStream:
        """What the container's command has written; with `follow` what comes until it ends."""
        if options.follow and not options.previous and self.pid(namespace, pod, container):
            return self._told(namespace, pod, container, heard, options)
        from kitlib.cluster.nodes.simulated_stream_kinds import LogStream

        stream = LogStream(heard, self.log(namespace, pod, container, previous=options.previous), options)
        stream.container_ended(0)
        return stream

    def _told(self, namespace: str, pod: str, container: str, heard: Heard, options: LogOptions) -> LogStream:
        from kitlib.cluster.nodes.simulated_stream_kinds import LogStream

        stream = LogStream(heard, self.log(namespace, pod, container), options)
        self._follow(stream, namespace, pod, container)
        return stream

    def connect(self, namespace: str, pod: str, port: int, heard: Heard) -> LogStream:
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
        from kitlib.cluster.nodes.simulated_stream_kinds import ShellStream

        node = self.as_exec_node()
        node.proc(pod, container, namespace)
        stream = ShellStream(ContainerShell(node, namespace, pod, container), command, heard, tty=tty, exited=exited)
        if command is None:
            self._follow(stream, namespace, pod, container)
        return stream

    def _follow(self, stream: ShellStream | LogStream, namespace: str, pod: str, container: str) -> None:
        self.followed = [one for one in self.followed if one.stream.is_open]
        current = partial(self.pid, namespace, pod, container)
        self.followed.append(FollowedProcess(stream, current(), current))
