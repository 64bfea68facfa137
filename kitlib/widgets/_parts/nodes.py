"""Which node a widget looks at, and how time passes there: by itself on a real node, by our hand on a simulated one."""

from __future__ import annotations

import time
from typing import Any

from kitlib.api.clock import VirtualClock
from kitlib.api.errors import KitError


def node_of(source: Any, name: str = "") -> Any:
    """The node that a widget was given, or the one of that name in a cluster (the first, without a name).

    Raises:
        KitError: for something that is neither, or a cluster without nodes.
    """
    if hasattr(source, "desired"):
        return source
    if not hasattr(source, "node"):
        raise KitError(f"a cluster or a node of one is expected, found {type(source).__name__}")
    if not name:
        nodes = list(source.nodes)
        if not nodes:
            raise KitError("this cluster has no nodes")
        name = nodes[0].name
    return source.node(name)


class Passing:
    """The time of what is watched.

    Args:
        source: a cluster, or a node; the clock of a node alone cannot be moved.
    """

    def __init__(self, source: Any) -> None:
        clock = getattr(source, "clock", None)
        self._clock = clock if isinstance(clock, VirtualClock) else None
        self._cluster = source if self._clock is not None else None
        self._began = time.monotonic()

    @property
    def virtual(self) -> bool:
        """Whether the clock is virtual and moves only when told."""
        return self._cluster is not None

    def on(self, seconds: float) -> None:
        """Let time pass, where it does not by itself."""
        if self._cluster is not None:
            self._cluster.advance(seconds)

    @property
    def seconds(self) -> float:
        """Now, in seconds."""
        return float(self._clock.seconds) if self._clock is not None else time.monotonic() - self._began
