"""The node that a widget shows, and its time: real nodes' clocks run, simulated ones are advanced by the widget."""

from __future__ import annotations

import time
from typing import Any

from kitlib.api.clock import VirtualClock
from kitlib.api.errors import KitError


def node_of(source: Any, name: str = "") -> Any:
    """Return the given node, or the node of that name in a cluster (default: the first).

    Raises:
        KitError: the source is neither, or a cluster without nodes.
    """
    if hasattr(source, "desired"):
        return source
    if not hasattr(source, "node"):
        raise KitError(f"must be a cluster or a node of a cluster, got {type(source).__name__}")
    if not name:
        nodes = list(source.nodes)
        if not nodes:
            raise KitError("this cluster has no nodes")
        name = nodes[0].name
    return source.node(name)


class Passing:
    """The time of the observed node or cluster.

    Args:
        source: a cluster, or a node; the clock of a single node cannot be advanced.
    """

    def __init__(self, source: Any) -> None:
        clock = getattr(source, "clock", None)
        self._clock = clock if isinstance(clock, VirtualClock) else None
        self._cluster = source if self._clock is not None else None
        self._began = time.monotonic()

    @property
    def virtual(self) -> bool:
        """Whether the clock is virtual and moves only when it is advanced."""
        return self._cluster is not None

    def on(self, seconds: float) -> None:
        """Advance a virtual clock; a real one runs by itself."""
        if self._cluster is not None:
            self._cluster.advance(seconds)

    @property
    def seconds(self) -> float:
        """The current time in seconds."""
        return float(self._clock.seconds) if self._clock is not None else time.monotonic() - self._began
