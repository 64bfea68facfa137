"""Streams into containers of a simulated node: a small shell reads commands, and logs have the program's output.

A stream that follows a container is open while the container's process runs and ends with it, as on a real node.
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
"""The exit code of a command whose container has ended, 128 + SIGKILL as in shells."""


class FollowedProcess(NamedTuple):
    """A stream that ends with a process.

    Attributes:
        stream: the stream.
        pid: the process id at the stream's start; the stream ends when `current` returns another one.
        current: returns the container's current process id; 0 = none.
    """

    stream: ShellStream | LogStream
    pid: int
    current: Callable[[], int]


class SimulatedStreams(ABC):
    """An implementation of `kitlib.api.streams.StreamNode` on a simulated node.

    Attributes:
        followed: the streams that end with their container's process.
    """

    followed: list[FollowedProcess]

    @abstractmethod
    def as_exec_node(self) -> ExecNode:
        """Return the node as the interface that a container's shell uses."""

    @abstractmethod
    def log(self, namespace: str, pod: str, container: str, *, previous: bool = False) -> Callable[[], Log]:
        """Return a function that returns the output so far of a container's current run, or of the previous one."""

    @abstractmethod
    def pid(self, namespace: str, pod: str, container: str) -> int:
        """Return the process id of a container; 0 = it does not run."""

    @abstractmethod
    def program_exits(self, namespace: str, pod: str, container: str, code: int) -> None:
        """End the program of a container with standard input; other containers are not changed."""

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
        """Run a command in a container; a shell without arguments reads lines.

        Raises:
            KitError: the container does not run.
        """
        interactive = stdin and len(command) == 1 and command[0].rpartition("/")[2] in SHELLS
        return self._shell(namespace, pod, container, None if interactive else command, heard, tty)

    def attach(
        self, namespace: str, pod: str, container: str, heard: Heard, *, stdin: bool, tty: bool
    ) -> ShellStream | LogStream:
        """Attach to a container: a shell if the user sends input, else the program's new output.

        In a container with standard input the shell is the program: when it exits, the container ends.

        Raises:
            KitError: the container does not run.
        """
        if stdin:
            exited = partial(self.program_exits, namespace, pod, container)
            return self._shell(namespace, pod, container, None, heard, tty, exited)
        self.as_exec_node().proc(pod, container, namespace)
        return self._told(namespace, pod, container, heard, LogOptions(follow=True, tail=0))

    def follow(self, namespace: str, pod: str, container: str, heard: Heard, options: LogOptions) -> LogStream:
        """Return a stream of the container's output; with `follow` it continues until the container ends."""
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

    def connect(self, namespace: str, pod: str, port: int, heard: Heard, localhost: bool = False) -> LogStream:
        """Refuse the connection like a pod on whose port no process listens. Source: cri-streaming portForward.

        Raises:
            KitError: always.
        """
        why = "a simulated container runs no programs and listens on no port; nodes of --kind docker can be reached"
        raise KitError(f"failed to connect to localhost:{port}: connect: connection refused ({why})")

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
        # A restarted container has another process id, so the stream ends with the old process.
        current = partial(self.pid, namespace, pod, container)
        self.followed.append(FollowedProcess(stream, current(), current))
