"""A node's connection in the control plane; the owner passes its lines on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kitlib.cluster.control_plane.container import wire
from kitlib.node.real.link import Conversation, Misbehaved

Write = Callable[[bytes], None]


class Channel(Conversation):
    """The lines to and from one node, over the control plane's own stream.

    Args:
        name: the name of the node.
        write: sends a line to the owner.
    """

    def __init__(self, name: str, write: Write) -> None:
        super().__init__(name, wire.FAR)
        self._write = write

    def write(self, line: bytes) -> None:
        """Send a line to the node through the owner; `over` reports a node that has ended."""
        self._write(wire.envelope("to", self.name, line.rstrip(b"\n")))

    def take(self, line: bytes) -> bool:
        """Process a line from the node; return whether it was a report."""
        before = len(self.reports)
        if not self.alive:
            return False
        try:
            self._take(line)
        except Misbehaved as error:  # ends this node only; lines of others are still read
            self.say(str(error))
            self._over()
        return len(self.reports) > before or not self.alive

    def over(self, said: Sequence[str]) -> None:
        """Process the end of the node.

        Args:
            said: the last lines of its error output.
        """
        for text in said:
            self.say(text)
        self._over()


class RemoteHandle:
    """The handle of a node whose container belongs to another process (`kitlib.cluster.nodes.handle.NodeHandle`).

    Args:
        link: the connection to the node.
        end: makes the owner end the node.
    """

    id = ""

    def __init__(self, link: Channel, end: Callable[[str], None]) -> None:
        self.link, self._end = link, end

    def check(self, facts: Mapping[str, Any]) -> None:
        """Accept the node: its owner checks it."""

    def close(self) -> None:
        """Make the owner end the node."""
        self._end(self.link.name)
