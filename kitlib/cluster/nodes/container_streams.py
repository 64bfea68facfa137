"""Streams into containers of a real node, through its agent's stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping, Sequence

from kitlib.api.streams import Heard, LogOptions, StreamEvent
from kitlib.node.real.link import Conversation


class AgentStream:
    """One stream of a node's agent.

    Args:
        link: the connection to the node.
        heard: called with each event of the stream.
        do: the kind of stream to open.
        about: the arguments of the request.

    Raises:
        KitError: the node rejects the request.
    """

    def __init__(self, link: Conversation, heard: Heard, do: str, about: Mapping[str, object]) -> None:
        self._link, self._heard, self._open = link, heard, True
        self._number = link.open_stream(do, self._take, **about)

    def _take(self, message: Mapping[str, object] | None) -> None:
        if message is None:
            self._open = False
            self._heard(StreamEvent(ended=True, code=137, why="the node has ended"))
            return
        data = a2b_base64(str(message.get("data", "")))
        ended = bool(message.get("ended"))
        self._open &= not ended
        numbers = {name: int(str(message.get(name, 0))) for name in ("channel", "taken", "code")}
        why = str(message.get("why", ""))
        event = StreamEvent(numbers["channel"], data, numbers["taken"], ended, numbers["code"], why)
        self._heard(event)

    def write(self, data: bytes) -> None:
        """Send input."""
        self._link.tell("stream_write", number=self._number, data=b2a_base64(data, newline=False).decode())

    def end_input(self) -> None:
        """Close the input: no more of it follows."""
        self._link.tell("stream_write", number=self._number, data="", end=True)

    def resize(self, width: int, height: int) -> None:
        """Send the new size of the user's terminal, in characters."""
        self._link.tell("stream_resize", number=self._number, width=width, height=height)

    def more(self, size: int) -> None:
        """Allow `size` more bytes of output, because as many have been consumed."""
        if self._open:
            self._link.tell("stream_more", number=self._number, size=size)

    def close(self) -> None:
        """Close the stream."""
        if self._open:
            self._open = False
            self._link.close_stream(self._number)


class ContainerStreams(ABC):
    """Implements `kitlib.api.streams.StreamNode` over a node's connection."""

    @property
    @abstractmethod
    def link(self) -> Conversation:
        """The connection to the node."""

    def exec(
        self, namespace: str, pod: str, container: str, command: Sequence[str], heard: Heard, *, stdin: bool, tty: bool
    ) -> AgentStream:
        """Run a command in a container."""
        where = {"namespace": namespace, "pod": pod, "container": container}
        return AgentStream(self.link, heard, "exec", {**where, "command": list(command), "stdin": stdin, "tty": tty})

    def attach(self, namespace: str, pod: str, container: str, heard: Heard, *, stdin: bool, tty: bool) -> AgentStream:
        """Attach to the input and output of a container's main process."""
        where = {"namespace": namespace, "pod": pod, "container": container}
        return AgentStream(self.link, heard, "attach", {**where, "stdin": stdin, "tty": tty})

    def follow(self, namespace: str, pod: str, container: str, heard: Heard, options: LogOptions) -> AgentStream:
        """Read a container's log."""
        where = {"namespace": namespace, "pod": pod, "container": container}
        return AgentStream(self.link, heard, "follow", {**where, **options._asdict()})

    def connect(self, namespace: str, pod: str, port: int, heard: Heard, localhost: bool = False) -> AgentStream:
        """Connect to a port of a pod: at its address, or with `localhost` at the loopback address in the pod."""
        where = {"namespace": namespace, "pod": pod, "port": port, "localhost": localhost}
        return AgentStream(self.link, heard, "connect", where)
