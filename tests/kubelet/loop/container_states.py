"""States of containers for tests of the kubelet's loop."""

from __future__ import annotations

from datetime import UTC, datetime

from kitlib.api.core import Container
from kitlib.kubelet.loop.container_state import ContainerState

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def state(name: str, did: str = "") -> ContainerState:
    """Return a container that waits (""), runs, or has ended with this exit code."""
    made = ContainerState(Container(name=name), name)
    if did:
        made.started(1.0, NOW)
    if did not in ("", "runs"):
        made.stopped(NOW, int(did))
    return made
