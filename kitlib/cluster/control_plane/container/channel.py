"""A node as the control plane sees it: the same conversation as over a stream, its lines carried by the owner."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kitlib.cluster.control_plane.container import wire
from kitlib.node.real.link import Conversation, Misbehaved

Write = Callable[[bytes], None]


class Channel(Conversation):
    """Lines to and from one node, over the control plane's own stream.

    Args:
        name: of the node.
        write: sends a line to the owner.
    """

    def __init__(self, name: str, write: Write) -> None:
        super().__init__(name, wire.FAR)
        self._write = write

    def write(self, line: bytes) -> None:
        """Have the owner pass a line on; a node that has gone is told by `over`."""
        self._write(wire.envelope("to", self.name, line.rstrip(b"\n")))

    def take(self, line: bytes) -> bool:
        """Take a line of the node's; whether it was a report."""
        before = len(self.reports)
        if not self.alive:
            return False
        try:
            self._take(line)
        except Misbehaved as error:  # this node is given up; the others' lines are read on
            self.say(str(error))
            self._over()
        return len(self.reports) > before or not self.alive

    def over(self, said: Sequence[str]) -> None:
        """The node has ended."""
        for text in said:
            self.say(text)
        self._over()


class RemoteHandle:
    """The handle of a node whose container another process holds (`kitlib.cluster.nodes.handle.NodeHandle`).

    Args:
        link: to the node.
        end: tells the owner to end it.
    """

    id = ""

    def __init__(self, link: Channel, end: Callable[[str], None]) -> None:
        self.link, self._end = link, end

    def close(self) -> None:
        """Have the owner end the node."""
        self._end(self.link.name)
