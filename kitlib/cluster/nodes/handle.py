"""The owner's handle of a node that runs elsewhere."""

from __future__ import annotations

from typing import Protocol

from kitlib.node.real.link import Conversation


class NodeHandle(Protocol):
    """The owner of the node's connection: its container, or a relay."""

    @property
    def id(self) -> str:
        """The container's id; "" if it is unknown in this process."""
        ...

    @property
    def link(self) -> Conversation:
        """The connection to the node."""
        ...

    def close(self) -> None:
        """End the node."""
        ...
